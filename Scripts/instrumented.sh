#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes the instrumented copy of the library, builds `stress` over it (the package `Instrumented`),
# and runs that:
#   Scripts/instrumented.sh [--portable] [--without-liburcu] mutants --list
#   Scripts/instrumented.sh [--portable] [--without-liburcu] build [ARGUMENT…]
#         only builds .build/instrumented/release/stress; arguments go to `swift build`
# --portable: in the form for systems without futex and membarrier, in .build/instrumented-portable.
# --without-liburcu: with the trait LibURCU off, in .build/instrumented…-without-liburcu.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=.build/instrumented
traits=()
while [[ "${1:-}" == --* ]]; do
    case "$1" in
    --portable)
        export CONCURRENT_OBSERVE_PLATFORM=portable
        folder+=-portable
        ;;
    --without-liburcu)
        traits=(--disable-default-traits)
        folder+=-without-liburcu
        ;;
    *)
        echo "instrumented.sh: no option '$1'" >&2
        exit 1
        ;;
    esac
    shift
done
build=(swift build -c release --package-path Instrumented --scratch-path "$folder" --product stress "${traits[@]}")
if [ "${1:-}" = build ]; then
    Scripts/check.sh instrument
    exec "${build[@]}" "${@:2}"
fi
Scripts/check.sh instrument >&2
"${build[@]}" >&2
exec "$folder/release/stress" "$@"
