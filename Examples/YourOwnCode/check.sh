#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the package without a warning, runs its tests, and expects them to find each bug of `Bugs`.
# Called from any directory.
#
# Exit codes: 0 all holds, 1 something does not.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
swift build --build-tests 2>&1 | tee "$log"
if grep -E "^$PWD/.*: warning:" "$log"; then
    echo "$0: the warnings above are errors" >&2
    exit 1
fi
swift test --skip-build
swift run mutants --edits Bugs -- swift test
