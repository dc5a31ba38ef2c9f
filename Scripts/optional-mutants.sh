#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the tests of the parts Collections, Tracing and Inspection with each of their seeded bugs
# (Instrumented/OptionalEdits), which the named tests must find.
#
#   Scripts/optional-mutants.sh [PATTERN]    only bugs whose name has the pattern
#
# Exit codes: 0 every bug was found, and without one the same tests pass; 1 not so; 2 an edit has no
# place, or the copy does not build.
set -euo pipefail
cd "$(dirname "$0")/.."
swift build --product mutants >&2
CONCURRENT_OBSERVE_TESTS=mutants exec .build/debug/mutants --edits Instrumented/OptionalEdits ${1:+--only "$1"} -- \
    swift test --traits default,Collections,Tracing --no-parallel
