#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Starts the server, checks its answers with curl, loads it, and stops it:
#
#   ./load.sh                                     1,000 streams, 200 changes a second for 30 s
#   ./load.sh --clients 50 --rate 50 --seconds 5  a short form
#
# All arguments: python3 Checks/load.py --help. Needs python3, curl and wrk. Called from any
# directory.
#
# Exit codes: 0 all holds, 1 something does not, 2 usage or a missing tool.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

for tool in python3 curl wrk; do
    command -v "$tool" >/dev/null || { echo "load.sh: no $tool: apt-get install $tool" >&2; exit 2; }
done
# Before anything is built: the arguments, and that the checks can fail.
python3 Checks/load.py --port 1 --pid 1 --check-usage "$@"
python3 Checks/test_streams.py --quiet
# Each client takes a descriptor here, and one in the server.
ulimit -n "$(ulimit -Hn)"
source Checks/server.sh

# answers STATUS TEXT ARGUMENTS: what curl gets has this status and this text in it.
answers() {
    local status=$1 text=$2
    shift 2
    local got
    got=$(curl --silent --max-time 60 --write-out ' %{http_code} %{content_type}' "$@")
    case "$got" in
    *"$text"*" $status "*) ;;
    *) fail "curl $* got '$got' instead of $status with '$text'" ;;
    esac
}

answers 200 '<title>Feature flags</title>' "$url/"
answers 200 '"flags":[{' "$url/flags"
answers 200 '"version":1' -X PUT -d '{"enabled": true, "rollout": 25}' "$url/flags/dark-mode"
answers 200 '"rollout":25' "$url/flags/dark-mode"
answers 404 '"message":"no flag has the name' -X PUT -d '{"enabled": true}' "$url/flags/unknown"
answers 200 '"version":2' -X PATCH -d '{"new-checkout": {"enabled": true}, "dark-mode": {"enabled": false}}' "$url/flags"
answers 404 '"message":"no flag has the name' -X PATCH -d '{"new-checkout": {"enabled": false}, "unknown": {"enabled": true}}' "$url/flags"
answers 400 "\"message\":\"'dark-mode.enabled' is missing" -X PATCH -d '{"new-checkout": {"enabled": false}, "dark-mode": {}}' "$url/flags"
answers 200 '"name":"checkout-open"' "$url/flags"
answers 404 '"message":"nothing is at GET' "$url/nowhere"
answers 400 '"message":"the body is not JSON' -X PUT -d '{"enabled": tru' "$url/flags/dark-mode"
answers 400 "\"message\":\"'enabled' is missing" -X PUT -d '{}' "$url/flags/dark-mode"
answers 413 '"message":"a body has 1024 bytes at most' -X PUT -d "$(printf '%2000s')" "$url/flags/dark-mode"
answers 405 'flags has GET, HEAD, PATCH, and not POST' -X POST -d '{}' "$url/flags"
answers 412 '"message":"nothing was changed' -X PUT -H 'If-Match: "another:1"' -d '{"enabled": true}' "$url/flags/dark-mode"
answers 421 '"message":"this server is not' -H 'Host: elsewhere.test' "$url/flags"
answers 200 'ok' "$url/livez"
answers 200 '"state":"ready"' "$url/readyz"
answers 200 'flag_changes_total 3.0' "$url/metrics"
answers 200 '# TYPE http_server_request_duration histogram' "$url/metrics"
echo "answers: as they should be"

python3 Checks/load.py --port "$port" --pid "$server" "$@" || fail "does not hold"
must_stop
echo "load.sh: ok"
