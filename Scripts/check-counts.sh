#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Counts the instructions and the allocations of the operations that must be fast, one by one, and
# holds them against bounds: a gate that a busy machine does not disturb, as times would.
# Instructions are callgrind's, as the release build of Benchmarks executes them; allocations are
# the calls of the C library's allocator; both of the thread that runs the operation. The bounds are
# in Benchmarks/Sources/bench/CountedOperation.swift.
#
# usage: Scripts/check-counts.sh [--without-liburcu] [--self-test]
#   --without-liburcu   counts the library with its trait LibURCU off
#   --self-test         shows that the check can fail: with a hundred instructions more, and one
#                       allocation, every operation must break both of its bounds
# Installs valgrind and binutils where they are missing.
# Exit codes: 0 all within bounds, 1 one is not, 2 wrong usage, or the check itself is broken, 4 it
# cannot judge on this machine.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

traits=()
if [ "${1:-}" = --without-liburcu ]; then
    traits=(--disable-default-traits)
    shift
fi
case "$*" in
"" | --self-test) ;;
*)
    echo "usage: $0 [--without-liburcu] [--self-test]" >&2
    exit 2
    ;;
esac

if [ "$(uname -m)" != x86_64 ]; then
    echo "check-counts: the bounds are x86-64's; this machine is $(uname -m)" >&2
    exit 4
fi

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

broken() {
    echo "check-counts: $1" >&2
    exit 2
}

prepare() {
    local missing=()
    command -v valgrind >/dev/null || missing+=(valgrind)
    command -v objcopy >/dev/null || missing+=(binutils)
    [ ${#missing[@]} -eq 0 ] || Scripts/install.sh "${missing[@]}" || broken "cannot install ${missing[*]}"
    swift build --package-path Benchmarks -c release "${traits[@]}" --product bench >"$work/build.log" 2>&1 ||
        { cat "$work/build.log" >&2; broken "Benchmarks does not build"; }
    # Without the debugger's tables, which valgrind may be too old to read; names stay.
    objcopy --strip-debug Benchmarks/.build/release/bench "$work/bench"
}

# count FILE [ARGUMENT…]: runs the operations under callgrind; a line of FILE for each: what `bench
# count` prints, and the instructions.
count() {
    local file="$1" code=0 dump
    shift
    mkdir "$file.dumps"
    timeout 600 valgrind --tool=callgrind --callgrind-out-file="$file.dumps/dump" \
        --toggle-collect=creference_counted --dump-after=creference_counted \
        "$work/bench" count "$@" >"$file.lines" 2>"$file.log" || code=$?
    if [ "$code" -eq 4 ]; then
        grep '^bench: ' "$file.log" >&2
        exit 4
    fi
    [ "$code" -eq 0 ] || { cat "$file.log" >&2; broken "bench count under callgrind ended with $code"; }
    # A dump for each operation, numbered in order, and one of the whole program's end.
    for dump in $(find "$file.dumps" -name 'dump.*' | sort -V); do
        if grep -q '^desc: Trigger: --dump-after=' "$dump"; then awk '$1 == "summary:" { print $2 }' "$dump"; fi
    done >"$file.instructions"
    [ -s "$file.lines" ] && [ "$(wc -l <"$file.lines")" = "$(wc -l <"$file.instructions")" ] ||
        { cat "$file.log" >&2; broken "callgrind has not counted each operation once"; }
    paste "$file.lines" "$file.instructions" >"$file"
}

# judge FILE: prints the table. Fails if an operation is beyond a bound, or has not been counted.
judge() {
    awk -F '\t' '
        BEGIN { printf "%-26s %12s %6s %12s %6s  %s\n", "operation", "instructions", "bound", "allocations", "bound", "verdict" }
        {
            times = $2; allocations = $3 / times; instructions = $6 / times
            verdict = "-"
            if ($4 != "-") {
                # An operation is an instruction at least: less has not been counted.
                verdict = instructions < 1 ? "not counted" : instructions > $4 ? "too many instructions" : ""
                if (allocations > $5) verdict = (verdict == "" ? "" : verdict ", ") "too many allocations"
                if (verdict == "") verdict = "holds"; else bad++
                judged++
            }
            printf "%-26s %12.1f %6s %12.2f %6s  %s\n", $1, instructions, $4, allocations, $5, verdict
        }
        END { exit bad > 0 || judged == 0 }
    ' "$1"
}

# must_break: with work planted, every operation that has bounds must break both.
must_break() {
    count "$work/planted" --plant
    judge "$work/planted" >"$work/table" && broken "with planted work no operation breaks its bounds"
    local bounded found
    bounded="$(awk -F '\t' '$4 != "-"' "$work/planted" | wc -l)"
    found="$(grep -c 'too many instructions, too many allocations' "$work/table" || true)"
    [ "$found" = "$bounded" ] || { cat "$work/table" >&2; broken "with planted work $found of $bounded operations break their bounds"; }
    echo "with planted work all $bounded operations break their bounds"
}

prepare
if [ "${1:-}" = --self-test ]; then
    must_break
    echo "check-counts: every bound can be broken"
    exit 0
fi

count "$work/counts"
if judge "$work/counts"; then
    echo "check-counts: holds"
else
    echo "check-counts: beyond the bounds, which are in Benchmarks/Sources/bench/CountedOperation.swift" >&2
    exit 1
fi
