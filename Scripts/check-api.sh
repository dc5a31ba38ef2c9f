#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Compares the public API with that of the last release, which Documentation/public-api.txt has: every clone can do it, with or without tags.
# What is gone or declared otherwise breaks programs, and so do a new case of an enum and a new requirement of a protocol.
#
#   Scripts/check-api.sh                   compares
#   Scripts/check-api.sh --record VERSION  writes the API of a release into the file, before its tag is set
#   Scripts/check-api.sh --self-test       takes a function away, adds a case, and expects both to be found
#
# A break that is meant stands in Documentation/accepted-breaks.txt, as this script prints it, until the release that has it.
#
# Exit codes: 0 compatible, 1 not (what was found follows), or the file is not that of the last tag, 2 wrong usage or, with --self-test, a check
# that cannot fail.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly record=Documentation/public-api.txt
readonly accepted=Documentation/accepted-breaks.txt

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source Scripts/public-symbols.sh

# declarations FILE…: what the symbol graphs declare, one a line: module, kind, name, declaration.
declarations() {
    python3 - "$@" <<'PYTHON'
import json, sys

def conditions(constraints):
    signs = {"conformance": ":", "superclass": ":", "sameType": "=="}
    return ", ".join(sorted(f"{c['lhs']} {signs[c['kind']]} {c['rhs']}" for c in constraints))

# What the compiler adds to nearly every type, and versions of it do differently.
implied = {"Swift.Copyable", "Swift.Escapable", "Swift.SendableMetatype"}

lines = set()
for path in sys.argv[1:]:
    graph = json.load(open(path))
    module, symbols = graph["module"]["name"], {}
    for symbol in graph["symbols"]:
        if "::SYNTHESIZED::" not in symbol["identifier"]["precise"]:
            symbols[symbol["identifier"]["precise"]] = symbol
    requirements = {r["source"] for r in graph["relationships"] if r["kind"] == "requirementOf"}
    requirements -= {r["target"] for r in graph["relationships"] if r["kind"] == "defaultImplementationOf"}
    for identifier, symbol in symbols.items():
        kind = "requirement" if identifier in requirements else symbol["kind"]["identifier"].removeprefix("swift.")
        declaration = " ".join("".join(part["spelling"] for part in symbol["declarationFragments"]).split())
        extended = conditions(symbol.get("swiftExtension", {}).get("constraints", []))
        if extended:
            declaration += f" [where {extended}]"
        lines.add(f"{module} {kind} {'.'.join(symbol['pathComponents'])} | {declaration}")
    for relation in graph["relationships"]:
        if relation["kind"] in ("conformsTo", "inheritsFrom") and relation["source"] in symbols:
            target = symbols.get(relation["target"], {}).get("names", {}).get("title") or relation.get("targetFallback", relation["target"])
            if target in implied:
                continue
            line = f"{module} conformance {'.'.join(symbols[relation['source']]['pathComponents'])} | : {target}"
            extended = conditions(relation.get("swiftConstraints", []))
            lines.add(line + (f" [where {extended}]" if extended else ""))
print("\n".join(sorted(lines)))
PYTHON
}

# recorded: the version of the record.
recorded() {
    sed -n '1s/^# The public API of \([0-9.]*\):.*/\1/p' "$record"
}

# compare CURRENT: prints what breaks the recorded API, less what is accepted.
compare() {
    sed '/^#/d' "$record" | LC_ALL=C sort >"$work/before"
    LC_ALL=C sort "$1" >"$work/now"
    {
        LC_ALL=C comm -23 "$work/before" "$work/now" | sed 's/^/gone or changed: /'
        # A case that switches do not know; a requirement that conforming types do not have.
        LC_ALL=C comm -13 "$work/before" "$work/now" | sed -nE 's/^([^ ]+ (enum\.case|requirement) )/new: \1/p'
    } | LC_ALL=C sort >"$work/breaks"
    sed '/^#/d' "$accepted" | LC_ALL=C sort >"$work/accepted"
    LC_ALL=C comm -23 "$work/breaks" "$work/accepted"
    LC_ALL=C comm -13 "$work/breaks" "$work/accepted" | sed 's/^/accepted, but not so: /'
}

# fail TEXT: ends the script.
fail() {
    echo "check-api: $*" >&2
    exit 1
}

case "$#${1:-}" in
0)
    version=$(recorded)
    [ -n "$version" ] || fail "$record does not say which release it is of"
    grep -qF "## [$version]" CHANGELOG.md || fail "CHANGELOG has no heading ## [$version], of which $record is"
    ! grep -hE 'url: ".*from: "' README.md Sources/ConcurrentObserve/ConcurrentObserve.docc/*.md | grep -vqF "from: \"$version\"" || fail "a manifest in README or an article is not for $version, of which $record is"
    # What clones without tags and history leave out.
    last=$(git describe --tags --abbrev=0 --match '[0-9]*' 2>/dev/null || true)
    if [ -z "$last" ]; then
        echo "check-api: this clone has no tag of a release: $record is taken as it is"
    elif [ "$last" != "$version" ]; then
        fail "the last tag is $last, $record is of $version: record the API before a tag is set"
    elif ! git show "$last:$record" | cmp -s - "$record"; then
        fail "$record is not that of tag $last: restore it; what is meant to break goes into $accepted"
    fi
    extract
    declarations "$work"/*/*.symbols.json >"$work/current"
    compare "$work/current" >"$work/found"
    if [ -s "$work/found" ]; then
        cat "$work/found" >&2
        fail "$(wc -l <"$work/found") breaks with $version above"
    fi
    echo "check-api: ok, $(wc -l <"$work/before") declarations and conformances of $version, $(wc -l <"$work/now") now"
    ;;
2--record)
    [[ $2 =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || { echo "check-api: $2 is not a version, as 0.1.0 is" >&2; exit 2; }
    extract
    {
        echo "# The public API of $2: what Scripts/check-api.sh compares with. Written by it at each release, and never by hand."
        declarations "$work"/*/*.symbols.json
    } >"$work/record"
    cp "$work/record" "$record"
    echo "# Breaks with the last release that are meant, as Scripts/check-api.sh prints them. CHANGELOG tells what to do about each." >"$accepted"
    echo "check-api: recorded $2"
    ;;
1--self-test)
    # A program that has less, and more, than the record.
    sed '/^#/d; /^ConcurrentObserve method ObservationToken.cancel() /d' "$record" >"$work/planted"
    echo 'ConcurrentObserve enum.case ChangeReason.planted | case planted' >>"$work/planted"
    compare "$work/planted" >"$work/found"
    grep -q '^gone or changed: ConcurrentObserve method ObservationToken.cancel() ' "$work/found" ||
        { echo "check-api: a function that was taken away is not found" >&2; exit 2; }
    grep -q '^new: ConcurrentObserve enum.case ChangeReason.planted ' "$work/found" ||
        { echo "check-api: a new case is not found" >&2; exit 2; }
    echo "check-api: both checks can fail"
    ;;
*)
    echo "usage: Scripts/check-api.sh [--record VERSION | --self-test]" >&2
    exit 2
    ;;
esac
