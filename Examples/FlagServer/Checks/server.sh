# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Sourced by the scripts beside the manifest: builds the server, as build.sh says, and runs it on a
# free port, with the options that the array `options` has. Leaves its process in `server`, its log
# in `log`, where it listens in `port` and `url`; the server is killed when the script ends.

source Checks/build.sh
work=$(mktemp -d)
log=$work/log
: >"$log"
"$program" --port 0 ${options[@]+"${options[@]}"} 2>"$log" &
server=$!
trap 'kill -9 $server 2>/dev/null || true; rm -rf "$work"' EXIT

# fail TEXT: the script ends, with the last of the server's log.
fail() {
    echo "${0##*/}: $*" >&2
    tail -n 20 "$log" >&2
    exit 1
}

# must_stop: waits for the server, which has been asked to stop.
must_stop() {
    local status=0
    wait "$server" || status=$?
    [ "$status" = 0 ] || fail "the server exits with $status"
    if grep -E ' (error|critical) ' "$log"; then fail "the server has logged the errors above"; fi
}

port=
for _ in $(seq 600); do
    port=$(sed -n 's/.*listening on 127.0.0.1:\([0-9]*\).*/\1/p' "$log")
    [ -n "$port" ] && break
    kill -0 "$server" 2>/dev/null || fail "the server has not started"
    sleep 0.1
done
[ -n "$port" ] || fail "the server does not listen"
url=http://127.0.0.1:$port
