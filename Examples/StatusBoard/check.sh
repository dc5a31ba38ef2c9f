#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the service without a warning, runs its tests, and asks it over HTTP: a report, a wait, a
# stream of events, settings that change, and an end while a stream is open. Called from any
# directory. Its build shares a folder with those of the other examples that use swift-nio.
#
# Exit codes: 0 all holds, 1 something does not.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
options=(--scratch-path ../../.build-etcd)
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill -9 "$server" 2>/dev/null || true; rm -rf "$work"' EXIT

fail() {
    cat "$work/log" >&2
    echo "$0: $*" >&2
    exit 1
}

swift build "${options[@]}" --build-tests 2>&1 | tee "$work/log"
if grep -E "^$PWD/.*: warning:" "$work/log"; then fail "the warnings above are errors"; fi
swift test "${options[@]}" --skip-build

echo '{"port": 0, "maintenance": false}' >"$work/settings.json"
"$(swift build "${options[@]}" --show-bin-path)/StatusBoard" "$work/settings.json" >"$work/log" 2>&1 &
server=$!
port=
for _ in $(seq 300); do
    port=$(sed -n 's/.*listening on 127.0.0.1:\([0-9]*\).*/\1/p' "$work/log")
    [ -z "$port" ] || break
    sleep 0.1
done
[ -n "$port" ] || fail "the service does not listen"

# request PATH [OPTION…]: prints the answer, with its code where that is no success.
request() { curl --silent --show-error --max-time 60 --write-out '%{errormsg}' "http://127.0.0.1:$port$1" "${@:2}"; }

curl --silent --no-buffer "http://127.0.0.1:$port/events" >"$work/events" &
events=$!
until grep -q data "$work/events"; do sleep 0.1; done
request /services/search -X PUT -d '{"health": "down"}'
[ "$(request /health)" = down ] || fail "a report is not the board's health"
request "/services/search/until/up?seconds=30" >"$work/answer" &
request /services/search -X PUT -d '{"health": "up"}'
wait $!
grep -q '"up"' "$work/answer" || fail "the wait for a report does not answer with it"
request /services -X PATCH -d '{"search": {"health": "down"}, "mail": {"health": "down"}}'
until grep -q mail "$work/events"; do sleep 0.1; done
grep mail "$work/events" | grep -q search || fail "two reports as one are not one event"
echo '{"port": 0, "maintenance": true}' >"$work/settings.json"
for _ in $(seq 60); do
    [ "$(request /health)" = up ] && break
    sleep 1
done
[ "$(request /health)" = up ] || fail "the board does not follow its settings"
kill "$server"
wait "$server" || fail "the service exits with $?"
server=
wait "$events" || fail "a stream does not end with the service"
echo "StatusBoard: ok"
