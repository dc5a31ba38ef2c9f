#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the seeded bugs with every engine and merges who has caught which, where and how fast into
# one matrix: on the terminal, and in .build/kill-matrix as matrix.json, matrix.xml (JUnit),
# matrix.html and matrix.md. Below it the known defects: which engine has found each, unaided, and
# how fast.
#
# usage: Scripts/kill-matrix.sh [--publish] [ENGINE…]
# Engines: plain, explorer, plain-without-liburcu, explorer-without-liburcu, histories, thread,
# address, realtime, model, litmus, tests, calibration; without names, all. The results of engines
# that are not named are kept from the last run, and from `.ci/run`, which leaves those of all but
# tests, calibration, and the two without liburcu.
#   plain         real threads; has the column `faults`, too
#   …-without-liburcu   the library with its trait LibURCU off
#   tests         the unit tests that take the repair of a known defect back
#   calibration   known defects, unaided: `stress calibrate`. About half an hour; CALIBRATION has
#                 arguments for it, as --budget 30s.
# An engine is whatever writes .build/kill-matrix/NAME.json with its kills; `engine` there is the
# column: see Kill.Engine.
# --publish: the article HowItIsVerified gets the figures; without engines, those of the last runs.
# Exit code: the worst engine's, as `stress` has them.
set -euo pipefail
cd "$(dirname "$0")/.."
results=.build/kill-matrix
publish=no
if [ "${1:-}" = --publish ]; then
    publish=yes
    shift
fi
all=(plain explorer plain-without-liburcu explorer-without-liburcu histories thread address realtime model litmus tests
    calibration)
engines=("$@")
[ $# -gt 0 ] || [ "$publish" = yes ] || engines=("${all[@]}")
for engine in "${engines[@]}"; do
    [[ " ${all[*]} " == *" $engine "* ]] || { echo "kill-matrix.sh: one of ${all[*]}, not '$engine'" >&2; exit 1; }
done

# The tests that take a repair back, one at a time: `killed` says that the test has seen what the
# repair prevents.
run_tests() { # file
    swift build --build-tests
    local rows="" name seconds verdict catcher worst=0
    while IFS= read -r name; do
        seconds=0
        verdict=survived
        catcher=""
        # A filter that matches no test must not count.
        if swift test --skip-build --filter "$(filter_of "$name")" >"$results/tests.log" 2>&1 &&
            grep -F "Test \"$name\" passed" "$results/tests.log" >/dev/null; then
            verdict=killed
            seconds=$(grep -F "Test \"$name\" passed" "$results/tests.log" | sed -nE 's/.* after ([0-9.]+) seconds.*/\1/p')
            catcher='"catcher": "exit test", '
        else
            cat "$results/tests.log" >&2
            worst=6
        fi
        rows+="${rows:+, }{\"mutant\": \"$name\", \"engine\": \"tests\", \"scenario\": \"ConcurrentObserveTests\", \"seed\": 0, $catcher"
        rows+="\"verdict\": \"$verdict\", \"seconds\": $seconds}"
    done < <("$stress" calibrate --list-tests)
    printf '{"schemaVersion": 3, "command": "tests", "exitCode": %d, "seconds": 0, "kills": [%s]}\n' "$worst" "$rows" >"$1"
}

# Tests are filtered by suite and function, not by display name.
filter_of() { # display name
    local file function
    file=$(grep -rlF "@Test(\"$1\")" Tests/ConcurrentObserveTests) || { echo "kill-matrix.sh: no test '$1'" >&2; exit 3; }
    function=$(grep -FA 1 "@Test(\"$1\")" "$file" | sed -nE 's/.*func ([A-Za-z]+)\(.*/\1/p')
    echo "$(basename "$file" .swift).$function"
}

Scripts/install.sh
mkdir -p "$results"
Scripts/instrumented.sh build
stress=.build/instrumented/release/stress
for engine in "${engines[@]}"; do
    echo "=== $engine"
    rm -f "$results/$engine.json"
    # A survivor is in the file: the matrix shows it, and ends as it must.
    case "$engine" in
    plain) "$stress" mutants --json "$results/plain.json" || true ;;
    *-without-liburcu)
        kind=${engine%-without-liburcu}
        Scripts/instrumented.sh --without-liburcu mutants --engine "${kind/plain/run}" --json "$results/$engine.json" || true
        ;;
    explorer | histories) "$stress" mutants --engine "$engine" --json "$results/$engine.json" || true ;;
    model) Scripts/check-models.sh --json "$results/model.json" || true ;;
    litmus) Scripts/check-litmus.sh --json "$results/litmus.json" || true ;;
    tests) run_tests "$results/tests.json" ;;
    # shellcheck disable=SC2086 # Several arguments.
    calibration) "$stress" calibrate ${CALIBRATION:-} --json "$results/calibration.json" || true ;;
    *) Scripts/sanitize.sh "$engine" mutants --json "$results/$engine.json" || true ;;
    esac
    if [ ! -s "$results/$engine.json" ]; then
        echo "kill-matrix.sh: $engine has left no results" >&2
        exit 3
    fi
done
files=()
for engine in "${all[@]}"; do
    [ ! -s "$results/$engine.json" ] || files+=("$results/$engine.json")
done
code=0
"$stress" report "${files[@]}" --json "$results/matrix.json" --junit "$results/matrix.xml" --html "$results/matrix.html" \
    --markdown "$results/matrix.md" || code=$?

# Puts the figures between the markers of the article.
if [ "$publish" = yes ]; then
    Scripts/splice.sh Sources/ConcurrentObserve/ConcurrentObserve.docc/HowItIsVerified.md figures "$results/matrix.md"
fi
exit "$code"
