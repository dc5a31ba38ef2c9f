#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Checks that mirrors of PostgreSQL keep the six properties: starts a server of its own in a
# temporary folder, as an unprivileged user, kills, stops and cuts it while others write, and
# compares what three mirrors have shown with PostgreSQL's own log. Installs PostgreSQL and libpq
# where they are missing. Called from any directory.
#
#   ./check.sh [TRANSACTIONS]    10000 unless said: a minute once built. The first build, gRPC above
#                                all, takes several
#
# Exit codes: 0 all holds, 1 something does not, 2 usage or a missing tool.
set -euo pipefail
case "$#${1:-}" in
0 | 1[1-9]*) ;;
*) echo "usage: $0 [TRANSACTIONS]" >&2; exit 2 ;;
esac
cd "$(dirname "${BASH_SOURCE[0]}")"

# Debian keeps the server's programs outside the PATH.
server() {
    local folder
    for folder in /usr/lib/postgresql/*/bin; do PATH=$folder:$PATH; done
    command -v initdb >/dev/null && command -v postgres >/dev/null && command -v psql >/dev/null
}
server && pkg-config --exists libpq 2>/dev/null || ../../Scripts/install.sh pkg-config postgresql libpq-dev
server || { echo "check.sh: no initdb, postgres or psql, although postgresql is installed" >&2; exit 2; }
export PATH

work=$(mktemp -d /tmp/six-properties.XXXXXX)
chmod 755 "$work"
log=$work/build.log
# However the check has ended.
clean() {
    local pid
    if pid=$(head -1 "$work/server/data/postmaster.pid" 2>/dev/null); then
        kill -INT "$pid" 2>/dev/null || true
        while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
    fi
    rm -rf "$work"
}
trap clean EXIT
# In FlagServer's folder, which has most of it, if there is one.
options=()
[ ! -d ../../.build-etcd ] || options=(--scratch-path ../../.build-etcd)
if ! swift build ${options[@]+"${options[@]}"} --product six-properties >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
fi
if grep -E "$PWD/Sources/.*: warning:" "$log" | sort -u >&2; then
    echo "check.sh: the warnings above are errors" >&2
    exit 1
fi
timeout --kill-after=10 1200 "$(swift build ${options[@]+"${options[@]}"} --show-bin-path)/six-properties" "$work/server" "${1:-10000}"
