#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Several servers show the same flags: starts etcd and two servers, changes flags through either, kills etcd and starts it again. Installs etcd
# where it is missing.
#
#   ./fleet.sh
#
# Exit codes: 0 all holds, 1 something does not.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
command -v etcd >/dev/null && command -v etcdctl >/dev/null && command -v curl >/dev/null ||
    ../../Scripts/install.sh etcd-server etcd-client curl

configuration=${CONFIGURATION:-debug}
build=(swift build -c "$configuration" --scratch-path .build-etcd --traits Etcd --product FlagServer)
"${build[@]}" >&2
server="$("${build[@]}" --show-bin-path)/FlagServer"

work=$(mktemp -d)
pids=()
trap 'kill -9 "${pids[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT

fail() {
    echo "fleet: $*" >&2
    tail -n 20 "$work"/*.log >&2
    exit 1
}

# eventually TEXT COMMAND…: repeats the command until it succeeds, for 15 s.
eventually() {
    local text=$1 end=$((SECONDS + 15))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || fail "not within 15 s: $text"
        sleep 0.05
    done
}

read -r client peer < <(python3 -c 'import socket
s = [socket.socket() for _ in range(2)]
for x in s: x.bind(("127.0.0.1", 0))
print(*[x.getsockname()[1] for x in s])')
etcd_url=http://127.0.0.1:$client
start_etcd() {
    etcd --data-dir "$work/etcd" --listen-client-urls "$etcd_url" --advertise-client-urls "$etcd_url" \
        --listen-peer-urls "http://127.0.0.1:$peer" --initial-advertise-peer-urls "http://127.0.0.1:$peer" \
        --initial-cluster "default=http://127.0.0.1:$peer" --log-level error >>"$work/etcd.log" 2>&1 &
    etcd=$!
    pids+=("$etcd")
}

start_etcd
urls=()
for number in 1 2; do
    "$server" --port 0 --etcd "$etcd_url" >"$work/$number.log" 2>&1 &
    pids+=($!)
done
for number in 1 2; do
    eventually "server $number listens" grep -q 'listening on' "$work/$number.log"
    urls+=("http://127.0.0.1:$(sed -n 's/.*listening on 127.0.0.1:\([0-9]*\).*/\1/p' "$work/$number.log")")
done

is() { curl -fsS "$1" | grep -q "$2"; }
put() { curl -fsS -X PUT -d "$3" "$1/flags/$2"; }
for url in "${urls[@]}"; do eventually "$url is ready" is "$url/source" '"state":"ready"'; done

put "${urls[0]}" dark-mode '{"enabled": true, "rollout": 25}' | grep -q '"rollout":25' || fail "the answer to a PUT has not its change"
eventually "the second server shows the first's change" is "${urls[1]}/flags/dark-mode" '"rollout":25'
ETCDCTL_API=3 etcdctl --endpoints "$etcd_url" put /flags/maintenance '{"enabled": true}' >/dev/null
for url in "${urls[@]}"; do eventually "$url shows what etcdctl has put" is "$url/flags/maintenance" '"enabled":true'; done
ETCDCTL_API=3 etcdctl --endpoints "$etcd_url" put /flags/maintenance 'nonsense' >/dev/null
ETCDCTL_API=3 etcdctl --endpoints "$etcd_url" put /flags/bulk-export '{"enabled": true}' >/dev/null
for url in "${urls[@]}"; do
    eventually "$url goes on after a malformed value" is "$url/flags/bulk-export" '"enabled":true'
    is "$url/flags/maintenance" '"enabled":true' || fail "$url has lost the last good value"
done

kill -9 "$etcd"
for url in "${urls[@]}"; do
    eventually "$url is stale" is "$url/source" '"state":"stale"'
    is "$url/flags/dark-mode" '"rollout":25' || fail "$url has lost its flags"
    status=$(curl -s -o /dev/null -w '%{http_code}' -X PUT -d '{"enabled": false}' "$url/flags/dark-mode")
    [ "$status" = 503 ] || fail "a PUT without etcd is answered with $status"
done
start_etcd
for url in "${urls[@]}"; do eventually "$url is ready again" is "$url/source" '"state":"ready"'; done
put "${urls[1]}" dark-mode '{"enabled": true, "rollout": 50}' >/dev/null
eventually "the first server shows the second's change" is "${urls[0]}/flags/dark-mode" '"rollout":50'

for pid in "${pids[@]:1:2}"; do kill -TERM "$pid"; done
for pid in "${pids[@]:1:2}"; do wait "$pid" || fail "a server exits with $?"; done
echo "fleet: two servers on one etcd: ok"
