#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the documentation of the library and of its optional parts with the toolchain's DocC. A warning is an error, and so is a public
# symbol without documentation.
#
#   Scripts/docs.sh [OUTPUT]      writes the archives to OUTPUT; to none if it is not given
#   Scripts/docs.sh --self-test   plants an undocumented symbol and a broken link, and expects both to be found
#
# Exit codes: 0 complete and without a warning, 1 not (what was found follows), 2 wrong usage or, with --self-test, a check that cannot fail.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly catalog=Sources/ConcurrentObserve/ConcurrentObserve.docc

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source Scripts/public-symbols.sh

# undocumented FILE…: the public symbols that have no comment, one a line. Members that come with a conformance are left out.
undocumented() {
    python3 - "$@" <<'PYTHON'
import json, sys

for path in sys.argv[1:]:
    graph = json.load(open(path))
    for symbol in graph["symbols"]:
        if "::SYNTHESIZED::" in symbol["identifier"]["precise"]:
            continue
        if not any(line["text"].strip() for line in symbol.get("docComment", {}).get("lines", [])):
            print(graph["module"]["name"], symbol["kind"]["identifier"], ".".join(symbol["pathComponents"]))
PYTHON
}

# complete: every public symbol has documentation.
complete() {
    local found
    found=$(undocumented "$work"/*/*.symbols.json)
    if [ -n "$found" ]; then
        echo "$found" >&2
        echo "docs: $(wc -l <<<"$found") public symbols above have no documentation" >&2
        return 1
    fi
}

# convert OUTPUT [CATALOG]: builds the archives; warnings are errors.
convert() {
    local output=$1 module arguments
    mkdir -p "$output"
    for module in $modules; do
        arguments=(--additional-symbol-graph-dir "$work/$module" --output-dir "$output/$module.doccarchive")
        arguments+=(--fallback-display-name "$module" --fallback-bundle-identifier "$module")
        if [ "$module" = ConcurrentObserve ]; then arguments=("${2:-$catalog}" "${arguments[@]}"); fi
        if ! docc convert "${arguments[@]}" --warnings-as-errors >"$work/convert.log" 2>&1; then
            cat "$work/convert.log" >&2
            echo "docs: the warnings above, of $module, are errors" >&2
            return 1
        fi
    done
}

self_test() {
    extract
    cp -r "$catalog" "$work/planted.docc"
    echo 'A link to ``Observed/nowhere``.' >>"$work/planted.docc/Hazards.md"
    if convert "$work/archives" "$work/planted.docc" >"$work/report" 2>&1 || ! grep -q nowhere "$work/report"; then
        echo "docs: a broken link is not found" >&2
        exit 2
    fi
    python3 - "$work/ConcurrentObserve/ConcurrentObserve.symbols.json" <<'PYTHON'
import json, sys

graph = json.load(open(sys.argv[1]))
next(symbol for symbol in graph["symbols"] if symbol["pathComponents"] == ["Observed", "version"]).pop("docComment")
json.dump(graph, open(sys.argv[1], "w"))
PYTHON
    if complete >"$work/report" 2>&1 || ! grep -q 'Observed.version$' "$work/report"; then
        echo "docs: an undocumented symbol is not found" >&2
        exit 2
    fi
    echo "docs: both checks can fail"
}

case "${1:-}" in
--self-test)
    self_test
    ;;
-*)
    echo "usage: Scripts/docs.sh [OUTPUT | --self-test]" >&2
    exit 2
    ;;
*)
    extract
    complete
    convert "${1:-$work/archives}"
    if [ -n "${1:-}" ]; then
        cat <<TEXT
docs: the archives are in $1. To read them in a browser:
  docc process-archive transform-for-static-hosting $1/ConcurrentObserve.doccarchive --output-path $1/html
  python3 -m http.server --directory $1/html 8000
  and open http://localhost:8000/documentation/concurrentobserve
TEXT
    fi
    echo "docs: ok, $(python3 -c 'import json, sys; print(sum(len(json.load(open(path))["symbols"]) for path in sys.argv[1:]))' "$work"/*/*.symbols.json) public symbols documented"
    ;;
esac
