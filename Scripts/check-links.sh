#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Checks that what Markdown files link to is there: files of the repository, and headings in them. And that the article Contract links to every
# suite of tests that is named for a promise.
#
#   Scripts/check-links.sh [--self-test]    with --self-test: plants a link to no file, one to no heading and a suite, and expects all to be found
#
# Exit codes: 0 all are there, 1 one is not (what was found follows), 2 wrong usage or, with --self-test, a check that cannot fail.
set -euo pipefail
cd "$(dirname "$0")/.."

# broken FILE…: prints the links of these Markdown files that lead nowhere.
broken() {
    python3 - "$@" <<'PYTHON'
import pathlib, re, sys

def headings(path):
    """The anchors of a page's headings, as hosts of git repositories make them."""
    titles = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}

for name in sys.argv[1:]:
    page = pathlib.Path(name)
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        path = page.parent / file if file else page
        # DocC names a resource without its suffix.
        if not path.exists() and not list(page.parent.glob(f"Resources/{file}.*")):
            print(f"{name}: no file {target}")
        elif anchor and anchor not in headings(path):
            print(f"{name}: no heading {target}")
PYTHON
}

# unnamed CONTRACT SUITE…: prints the suites that the article does not link to.
unnamed() {
    local article=$1 suite
    shift
    for suite in "$@"; do
        grep -qF "](../../../$suite)" "$article" || echo "$article: does not link to $suite"
    done
}

readonly contract=Sources/ConcurrentObserve/ConcurrentObserve.docc/Contract.md

case "$*" in
"")
    mapfile -t pages < <(git ls-files '*.md')
    mapfile -t suites < <(git ls-files 'Tests/ConcurrentObserveTests/*/P[0-9][0-9]*Tests.swift')
    found=$(broken "${pages[@]}"; unnamed "$contract" "${suites[@]}")
    if [ -n "$found" ]; then
        echo "$found" >&2
        echo "check-links: $(wc -l <<<"$found") above" >&2
        exit 1
    fi
    echo "check-links: ok, ${#pages[@]} pages, ${#suites[@]} suites"
    ;;
--self-test)
    page=$(mktemp)
    trap 'rm -f "$page"' EXIT
    printf '# A page\n[one](#a-page) [two](nowhere.md) [three](#nothing)\n' >"$page"
    [ "$(broken "$page"; unnamed "$page" Tests/planted.swift)" = "$page: no file nowhere.md
$page: no heading #nothing
$page: does not link to Tests/planted.swift" ] || { echo "check-links: what was planted is not found" >&2; exit 2; }
    echo "check-links: all checks can fail"
    ;;
*)
    echo "usage: Scripts/check-links.sh [--self-test]" >&2
    exit 2
    ;;
esac
