#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Measures everything in one run, prints every bar with its ratio, bound and verdict, and draws the
# plots.
#
#   Scripts/bench.sh [--quick] [--publish]
#
# Writes report.json, report.md and the plots to Benchmarks/results. With --publish the figures of
# README, of the article Performance and its plots, and the tables of the article Measurements
# become those of this run. Benchmarks/Figures lists what the first two show.
#
# Exit codes: 0 every bar holds, 1 wrong usage, 2 a bar falls short, 4 a bar could not be judged, 3
# anything else went wrong.
set -Eeuo pipefail
cd "$(dirname "$0")/.."

arguments=()
publish=no
for argument in "$@"; do
    case "$argument" in
    --quick) arguments+=(--quick) ;;
    --publish) publish=yes ;;
    *)
        echo "bench.sh: unknown argument '$argument': Scripts/bench.sh [--quick] [--publish]" >&2
        exit 1
        ;;
    esac
done
trap 'exit 3' ERR

Scripts/install.sh
command -v gnuplot >/dev/null || Scripts/install.sh gnuplot-nox
swift build --package-path Benchmarks -c release

results=Benchmarks/results
mkdir -p "$results"
code=0
Benchmarks/.build/release/bench "${arguments[@]}" \
    --json "$results/report.json" --markdown "$results/report.md" --plots "$results" || code=$?
case $code in 0 | 2 | 4) ;; *) exit 3 ;; esac

draw() {
    if ! tail -n +2 "$results/$1.tsv" | cut -f 2- | grep -q '[0-9]'; then
        echo "bench.sh: nothing to draw in $1: its cases were disturbed in every round" >&2
        return
    fi
    local dark suffix
    for dark in 0 1; do
        suffix="$1" && [ "$dark" = 0 ] || suffix="$1~dark"
        gnuplot -e "data = '$results/$1.tsv'; out = '$results/$suffix.svg'; dark = $dark" "Benchmarks/Plots/$1.gnuplot"
    done
}
for plot in cost latency threads; do draw "$plot"; done

# The processor of a table: what its first line says before the first comma.
processor() { grep -m 1 . "$1" | cut -d , -f 1; }
name() { processor "$1" | awk '{ print tolower($1) }' | grep -o '^[a-z]*'; }

# Moves the published table to the page of other processors, if the new one was measured on another
# kind of processor.
keep_last() { # article, page, new table
    local last=$results/last.md kept=$results/kept.md
    awk '$0 == "<!-- :table -->" { shown = 0 } shown; $0 == "<!-- table: -->" { shown = 1 }' "$1" >"$last"
    [ "$(name "$last")" != "$(name "$3")" ] || return 0
    # The new processor's own table is not another's any more.
    sed -i "/^<!-- $(name "$3"): -->$/,/^<!-- :$(name "$3") -->$/d" "$2"
    grep -q "^<!-- $(name "$last"): -->$" "$2" ||
        printf '\n<!-- %s: -->\n<!-- :%s -->\n' "$(name "$last")" "$(name "$last")" >>"$2"
    { printf '## %s\n\n' "$(processor "$last")"; cat "$last"; } >"$kept"
    Scripts/splice.sh "$2" "$(name "$last")" "$kept"
}

if [ "$publish" = yes ]; then
    articles=Sources/ConcurrentObserve/ConcurrentObserve.docc
    for page in readme performance; do
        awk -f Scripts/figures.awk "$results/report.md" "Benchmarks/Figures/$page.txt" >"$results/$page.md"
    done
    keep_last "$articles/Measurements.md" "$articles/PerformanceElsewhere.md" "$results/report.md"
    mkdir -p "$articles/Resources"
    cp "$results"/{cost,latency,threads}{,~dark}.svg "$articles/Resources/"
    Scripts/splice.sh README.md figures "$results/readme.md"
    Scripts/splice.sh "$articles/Performance.md" figures "$results/performance.md"
    Scripts/splice.sh "$articles/Measurements.md" table "$results/report.md"
fi
echo "bench.sh: report.json, report.md and the plots are in $results"
exit "$code"
