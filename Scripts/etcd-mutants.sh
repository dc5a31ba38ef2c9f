#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the tests of the mirror of etcd with each of its seeded bugs (Instrumented/EtcdEdits), which
# the named tests must find. What the mirror depends on is built in the folder that
# `Scripts/traits.sh --only Etcd` uses.
#
#   Scripts/etcd-mutants.sh [PATTERN]    only bugs whose name has the pattern
#
# Exit codes: 0 every bug was found, and without one the same tests pass; 1 not so; 2 an edit has no
# place, or the copy does not build.
set -euo pipefail
cd "$(dirname "$0")/.."
swift build --product mutants >&2
CONCURRENT_OBSERVE_TESTS=etcd exec .build/debug/mutants --edits Instrumented/EtcdEdits ${1:+--only "$1"} --limit 600 -- \
    swift test --scratch-path "$PWD/.build-etcd" --traits default,Etcd,Metrics,Logging,ServiceLifecycle --no-parallel
