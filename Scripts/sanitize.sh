#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds `stress` with a sanitizer, runs every scenario, then the seeded bugs that only it can see.
#   Scripts/sanitize.sh thread|address [--duration 60s] [--threads 8] …   arguments go to `stress run`
# Release builds: a debug build of ThreadSanitizer misses races on loads through raw pointers.
set -euo pipefail
cd "$(dirname "$0")/.."
sanitizer=${1:-}
case "$sanitizer" in
    thread | address) ;;
    *)
        echo "sanitize.sh: thread or address, not '$sanitizer'" >&2
        exit 1
        ;;
esac
shift
[ $# -gt 0 ] || set -- --duration 60s --threads 8
Scripts/install.sh
scratch=.build/$sanitizer-sanitizer
swift build -c release --product stress --sanitize="$sanitizer" --scratch-path "$scratch" -Xcc -DCURCU_OUT_OF_LINE
# A report ends the process with a code of its own; leaks are counted by the scenarios, not by LeakSanitizer, which takes
# Swift's tagged pointers for leaks.
export TSAN_OPTIONS="exitcode=66 history_size=4" ASAN_OPTIONS="exitcode=67 detect_leaks=0"
"$scratch/release/stress" run "$@"
"$scratch/release/stress" mutants
