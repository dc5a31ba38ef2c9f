#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the programs without a warning, and compares what they print with expected/NAME.txt.
# Called from any directory.
#
#   ./check.sh          the programs whose packages build in a minute
#   ./check.sh --all    all, in the folder of the other builds with swift-nio
#
# Exit codes: 0 all holds, 1 something does not, 2 usage.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

programs=(CombinePublisher DebounceAndThrottle MillionKeys)
options=(-c release --scratch-path ../../.build/examples)
case "$#${1:-}" in
0) ;;
1--all)
    [ -e /usr/include/sqlite3.h ] || ../../Scripts/install.sh libsqlite3-dev
    programs+=(ConfigReload DatabaseRow HTTPPolling RequestSpans)
    options=(--scratch-path ../../.build-etcd --traits Configuration,Database,HTTPClient,Tracing)
    ;;
*) echo "usage: $0 [--all]" >&2; exit 2 ;;
esac

log=$(mktemp) output=$(mktemp)
trap 'rm -f "$log" "$output"' EXIT
for program in "${programs[@]}"; do
    swift build "${options[@]}" --product "$program" 2>&1 | tee "$log"
    if grep -E "^$PWD/.*: warning:" "$log"; then
        echo "$0: the warnings above are errors" >&2
        exit 1
    fi
done
binaries=$(swift build "${options[@]}" --show-bin-path)
for program in "${programs[@]}"; do
    timeout 120 "$binaries/$program" >"$output"
    diff "expected/$program.txt" "$output" || { echo "$0: $program prints something else: > what it prints" >&2; exit 1; }
    echo "$program: ok"
done
