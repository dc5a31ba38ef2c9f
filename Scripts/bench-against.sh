#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Compares the times of this work tree with those of another commit, or of the library without
# liburcu: each measured in turn, in a process of its own, so that a drift of the machine favours
# neither.
#
#   Scripts/bench-against.sh COMMIT|--without-liburcu [--rounds N] [CASE…]
#
# Without a CASE it measures the rows of Benchmarks/Figures/performance.txt. It prints a table: for
# each case the medians of N processes (9) in its own unit, and the median, the least and the
# greatest of the N ratios, this work tree over the other form.
#
# Exit codes: 0 measured, 1 wrong usage, 3 anything else went wrong. It judges no time: the reader
# compares a ratio with its spread.
set -Eeuo pipefail
cd "$(dirname "$0")/.."

usage() {
    echo "usage: Scripts/bench-against.sh COMMIT|--without-liburcu [--rounds N] [CASE...]" >&2
    exit 1
}
other=${1:-} rounds=9
[ -n "$other" ] || usage
shift
if [ "${1:-}" = --rounds ]; then
    [[ "${2:-}" =~ ^[1-9][0-9]*$ ]] || usage
    rounds=$2
    shift 2
fi
trap 'exit 3' ERR
Scripts/install.sh

build() { # folder, option…
    local folder=$1
    shift
    swift build --package-path "$folder" -c release --product bench "$@" >&2
}

build Benchmarks
ours=Benchmarks/.build/release/bench
if [ "$other" = --without-liburcu ]; then
    build Benchmarks --disable-default-traits --scratch-path .build/bench-against/without-liburcu
    theirs=.build/bench-against/without-liburcu/release/bench
else
    commit=$(git rev-parse --verify --quiet "$other^{commit}") || usage
    folder=.build/bench-against/$commit
    if [ ! -d "$folder" ]; then
        mkdir -p "$folder"
        git archive "$commit" | tar -x -C "$folder"
    fi
    build "$folder/Benchmarks"
    theirs=$folder/Benchmarks/.build/release/bench
fi

# cases: a line for each: its name, a tab, what the table calls it.
cases() {
    if [ $# -gt 0 ]; then
        printf '%s\n' "$@" | awk '{ print $0 "\t`" $0 "`" }'
    else
        awk -F ' [|] ' '!/^#/ { split($2, of, / = |; /); print of[1] "\t" $1 }' Benchmarks/Figures/performance.txt
    fi
}

# figure BENCH CASE: the best round of one process.
figure() { "$1" rounds "$2" | sort -g | awk 'NR == 1 { print $1 }'; }

echo "| operation | this work tree | $other | ratio |"
echo "| --- | ---: | ---: | ---: |"
cases "$@" | while IFS=$'\t' read -r name title; do
    for ((round = 0; round < rounds; round++)); do
        # Each goes first in every other round.
        if ((round % 2)); then b=$(figure "$theirs" "$name") a=$(figure "$ours" "$name"); else
            a=$(figure "$ours" "$name") b=$(figure "$theirs" "$name")
        fi
        echo "$a $b"
    done </dev/null | awk -v title="$title" '
        function sorted(of, count, i, j, kept) {
            for (i = 2; i <= count; i++) for (j = i; j > 1 && of[j - 1] > of[j]; j--) {
                kept = of[j]; of[j] = of[j - 1]; of[j - 1] = kept
            }
        }
        function median(of, count) { return (of[int((count + 1) / 2)] + of[int(count / 2) + 1]) / 2 }
        NF == 2 { a[++n] = $1 + 0; b[n] = $2 + 0; ratio[n] = $1 / $2 }
        END {
            if (n == 0) exit 1
            sorted(a, n); sorted(b, n); sorted(ratio, n)
            printf "| %s | %.4g | %.4g | %.2f (%.2f to %.2f) |\n", title, median(a, n), median(b, n), median(ratio, n), ratio[1], ratio[n]
        }'
done
