#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the repository's own checks (the package `Checks`) and runs one: Scripts/check.sh structure
# Without arguments: lists them. Scripts/check.sh --test [ARGUMENT…]: their tests, which plant
# violations, with `swift test`; those of the models need Spin.
# Exit codes: 0 holds, 1 does not (what was found follows), 2 wrong usage.
set -euo pipefail
cd "$(dirname "$0")/.."
package=(--package-path Checks --scratch-path .build/checks)
if [ "${1:-}" = --test ]; then
    command -v spin >/dev/null && command -v gcc >/dev/null || Scripts/install.sh spin gcc
    exec swift test "${package[@]}" "${@:2}"
fi
log=$(swift build "${package[@]}" --product checks 2>&1) || {
    echo "$log" >&2
    exit 1
}
exec .build/checks/debug/checks "$@"
