# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Sourced by the scripts beside the manifest: builds the server, in the configuration that CONFIGURATION names (release), and runs it on a
# free port. Leaves its process in `server`, its log in `log`, where it listens in `port` and `url`; the server is killed when the script ends.

configuration=${CONFIGURATION:-release}
swift build -c "$configuration" --product FlagServer >&2
work=$(mktemp -d)
log=$work/log
: >"$log"
"$(swift build -c "$configuration" --show-bin-path)/FlagServer" --port 0 2>"$log" &
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
