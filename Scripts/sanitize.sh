#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds `stress` over the instrumented copy with a sanitizer, runs every scenario, then the seeded
# bugs that only it can see.
#   Scripts/sanitize.sh thread|address|realtime [--duration 60s] [--threads 8] …
#       arguments go to `stress run`; what the seeded bugs show is left for Scripts/kill-matrix.sh
#   Scripts/sanitize.sh thread|address|realtime build
#       builds it, and runs nothing
#   Scripts/sanitize.sh thread|address|realtime mutants [--json FILE] …
#       only the seeded bugs; arguments go to `stress mutants`
# Release builds: a debug build of ThreadSanitizer misses races on loads through raw pointers.
set -euo pipefail
cd "$(dirname "$0")/.."
sanitizer=${1:-}
case "$sanitizer" in
    thread | address | realtime) ;;
    *)
        echo "sanitize.sh: thread, address or realtime, not '$sanitizer'" >&2
        exit 1
        ;;
esac
shift
[ $# -gt 0 ] || set -- --duration 60s --threads 8
Scripts/install.sh
scratch=.build/$sanitizer-sanitizer
case "$sanitizer" in
    realtime)
        # The compiler does not know it: its runtime is linked in whole, and `stress` brackets what
        # is to be watched.
        runtime=$(find "$(dirname "$(readlink -f "$(command -v swiftc)")")/.." -name 'libclang_rt.rtsan-*.a' -path "*$(uname -m)*" | head -1)
        if [ -z "$runtime" ]; then
            echo "sanitize.sh: this toolchain has no runtime of RealtimeSanitizer" >&2
            exit 1
        fi
        build=(-Xlinker --whole-archive -Xlinker "$runtime" -Xlinker --no-whole-archive -Xlinker --export-dynamic)
        ;;
    *) build=(--sanitize="$sanitizer" -Xcc -DCURCU_OUT_OF_LINE) ;;
esac
stress=(swift build -c release --package-path Instrumented --product stress)
Scripts/check.sh instrument
if [ "$sanitizer" = realtime ]; then
    stress+=(--scratch-path .build/instrumented)
    # Only what is linked differs from the release build: it is linked where that is, and put aside.
    "${stress[@]}" "${build[@]}"
    mkdir -p "$scratch/release"
    cp .build/instrumented/release/stress "$scratch/release/stress"
    "${stress[@]}"
else
    "${stress[@]}" --scratch-path "$scratch" "${build[@]}"
fi
if [ "${1:-}" = build ]; then exit; fi
# A report ends the process with a code of its own; leaks are counted by the scenarios, not by
# LeakSanitizer, which takes Swift's tagged pointers for leaks.
export TSAN_OPTIONS="exitcode=66 history_size=4 suppressions=$PWD/Scripts/thread-sanitizer.supp" ASAN_OPTIONS="exitcode=67 detect_leaks=0" RTSAN_OPTIONS="exitcode=68"
if [ "$1" = mutants ]; then exec "$scratch/release/stress" "$@"; fi
scenarios=()
# The others do in their callbacks what a bracket forbids, and are not bracketed.
[ "$sanitizer" != realtime ] || scenarios=(realtime-path)
"$scratch/release/stress" run "${scenarios[@]}" "$@"
mkdir -p .build/kill-matrix
"$scratch/release/stress" mutants --json ".build/kill-matrix/$sanitizer.json"
