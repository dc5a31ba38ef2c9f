#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the seeded bugs with every engine and merges who has caught which, where and how fast into one matrix: on the terminal, and in
# .build/kill-matrix as matrix.json, matrix.xml (JUnit) and matrix.html.
#
# usage: Scripts/kill-matrix.sh [ENGINE…]
# Engines: plain, explorer, histories, thread, address, realtime, model; without names, all. The results of engines that are not named are kept from the last run.
# An engine is whatever writes .build/kill-matrix/NAME.json with its kills; `engine` there is the column: see Kill.Engine.
# Exit code: that of the worst engine, as `stress` has them.
set -euo pipefail
cd "$(dirname "$0")/.."
results=.build/kill-matrix
engines=("$@")
[ $# -gt 0 ] || engines=(plain explorer histories thread address realtime model)
for engine in "${engines[@]}"; do
    case "$engine" in
    plain | explorer | histories | thread | address | realtime | model) ;;
    *)
        echo "kill-matrix.sh: plain, explorer, histories, thread, address, realtime or model, not '$engine'" >&2
        exit 1
        ;;
    esac
done
Scripts/install.sh
mkdir -p "$results"
swift build -c release --product stress
for engine in "${engines[@]}"; do
    echo "=== $engine"
    rm -f "$results/$engine.json"
    # A survivor is in the file: the matrix shows it, and ends as it must.
    case "$engine" in
    plain) .build/release/stress mutants --json "$results/plain.json" || true ;;
    explorer | histories) .build/release/stress mutants --engine "$engine" --json "$results/$engine.json" || true ;;
    model) Scripts/check-models.sh --json "$results/model.json" || true ;;
    *) Scripts/sanitize.sh "$engine" mutants --json "$results/$engine.json" || true ;;
    esac
    if [ ! -s "$results/$engine.json" ]; then
        echo "kill-matrix.sh: $engine has left no results" >&2
        exit 3
    fi
done
files=()
for engine in plain thread address realtime explorer histories model; do
    [ ! -s "$results/$engine.json" ] || files+=("$results/$engine.json")
done
exec .build/release/stress report "${files[@]}" \
    --json "$results/matrix.json" --junit "$results/matrix.xml" --html "$results/matrix.html"
