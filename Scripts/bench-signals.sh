#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Measures one change that passes through a hundred chains of a hundred derived values beside
# alien-signals on Node, in turn.
#
#   Scripts/bench-signals.sh PATH
#
# PATH is a checkout of alien-signals (https://github.com/stackblitz/alien-signals), which is no
# part of this repository. Needs node and esbuild. Prints nanoseconds for each value, the least of
# five runs of each, and their ratio: three at most.
#
# Exit codes: 0 at most three times as long, 1 wrong usage, 2 longer, 3 anything else went wrong.
set -Eeuo pipefail
[ $# = 1 ] && [ -f "$1/src/index.ts" ] || {
    echo "bench-signals.sh: PATH is not a checkout of alien-signals: Scripts/bench-signals.sh PATH" >&2
    exit 1
}
checkout=$(realpath "$1")
cd "$(dirname "$0")/.."
trap 'exit 3' ERR

for tool in node esbuild; do
    command -v "$tool" >/dev/null || { echo "bench-signals.sh: $tool is missing" >&2; exit 3; }
done
swift build --package-path Benchmarks -c release --product bench

results=Benchmarks/results
mkdir -p "$results"
module=$results/alien-signals.mjs
esbuild "$checkout/src/index.ts" --bundle --format=esm --log-level=warning --outfile="$module"

ours=() theirs=()
for _ in 1 2 3 4 5; do
    # Exit code 2 or 4: a bar, which this case does not have.
    Benchmarks/.build/release/bench --quick --only 100-chains-of-100 --json "$results/signals.json" >/dev/null
    ours+=("$(node -p 'JSON.parse(fs.readFileSync(process.argv[1])).outcomes[0].ours' "$results/signals.json")")
    theirs+=("$(node Benchmarks/Signals/propagate.mjs "$module")")
done

node -e '
const least = text => Math.min(...text.split(" ").map(Number));
const [ours, theirs, version] = [least(process.argv[1]), least(process.argv[2]), process.argv[3]];
const ratio = ours / theirs;
console.log(`${ours.toFixed(1)} ns beside ${theirs.toFixed(1)} ns of alien-signals ${version} on Node ${process.version}: ${ratio.toFixed(2)} (at most 3)`);
process.exit(ratio <= 3 ? 0 : 2);
' "${ours[*]}" "${theirs[*]}" "$(node -p 'JSON.parse(fs.readFileSync(process.argv[1])).version' "$checkout/package.json")" || exit 2
