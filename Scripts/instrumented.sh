#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes the instrumented copy of the library, builds `stress` over it (the package `Instrumented`),
# and runs that:
#   Scripts/instrumented.sh mutants --list
#   Scripts/instrumented.sh build [ARGUMENT…]     only builds .build/instrumented/release/stress;
#                                                 arguments go to `swift build`
set -euo pipefail
cd "$(dirname "$0")/.."
build=(swift build -c release --package-path Instrumented --scratch-path .build/instrumented --product stress)
if [ "${1:-}" = build ]; then
    Scripts/check.sh instrument
    exec "${build[@]}" "${@:2}"
fi
Scripts/check.sh instrument >&2
"${build[@]}" >&2
exec .build/instrumented/release/stress "$@"
