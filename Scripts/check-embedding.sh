#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Follows README's section "Adding it" as a new user does: a new package outside the repository depends
# on the library by URL and version, once with a property alone and once with the macro, as the article
# GettingStarted says. Builds and runs both, and compares what they print with these pages. It clones and
# tags the last commit: uncommitted changes do not count.
#
#   Scripts/check-embedding.sh [plain | macro]    one of them, or both
#
# Exit codes: 0 both hold, 1 one does not (what was found follows), 2 wrong usage.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

case "$#${1:-}" in
0) kinds="plain macro" ;;
1plain | 1macro) kinds=$1 ;;
*)
    echo "usage: Scripts/check-embedding.sh [plain | macro]" >&2
    exit 2
    ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "check-embedding: $*" >&2
    exit 1
}

# block MARK LANGUAGE: the text of the pages' first block in this language after the line <!-- MARK -->.
block() {
    awk -v mark="<!-- $1 -->" -v fence="\`\`\`$2" '
        $0 == mark { marked = 1 }
        marked && $0 == fence { inside = 1; next }
        inside && /^```/ { exit }
        inside
    ' "$work/pages.md" | grep . || fail "README and GettingStarted have no block of $2 after <!-- $1 -->"
}

# make KIND: the package's files, in $work/KIND, and what its program prints.
make() {
    local kind=$1 example=example
    mkdir -p "$work/$kind/Sources/Server"
    block manifest swift >"$work/manifest"
    if [ "$kind" = macro ]; then
        example="macro example"
        block "manifest, these lines instead" swift >"$work/lines"
        # A line of these takes the place of the one that begins as it does.
        awk 'NR == FNR { instead[substr($1, 1, 9)] = $0; next } { print substr($1, 1, 9) in instead ? instead[substr($1, 1, 9)] : $0 }' \
            "$work/lines" "$work/manifest" >"$work/changed"
        [ "$(diff "$work/manifest" "$work/changed" | grep -c '^>')" = "$(wc -l <"$work/lines")" ] ||
            fail "the lines for the macro do not fit into README's manifest"
        mv "$work/changed" "$work/manifest"
    fi
    sed "s|\"https://[^\"]*/ConcurrentObserve.git\"|\"file://$work/ConcurrentObserve.git\"|" "$work/manifest" >"$work/$kind/Package.swift"
    block "$example" swift >"$work/$kind/Sources/Server/main.swift"
    block "$example" text >"$work/$kind.expected"
}

# resolved KIND: the packages that the lock file names, in one line.
resolved() {
    sed -nE 's/.*"identity" : "(.*)".*/\1/p' "$work/$1/Package.resolved" | sort | xargs
}

# check KIND: builds and runs the package.
check() {
    local kind=$1 started=$SECONDS status=0 expected="concurrentobserve swift-argument-parser" build
    # The repository is gone after this: no cache of the user's should keep it.
    build=(swift build --package-path "$work/$kind" --disable-dependency-cache)
    if [ "$kind" = macro ]; then
        expected="$expected swift-syntax"
        # Where Scripts/traits.sh has built swift-syntax, which takes minutes.
        build+=(--scratch-path "$root/.build-traits")
    fi
    make "$kind"
    if ! "${build[@]}" >"$work/build.log" 2>&1; then
        cat "$work/build.log" >&2
        fail "$kind: does not build"
    fi
    [ "$(resolved "$kind")" = "$expected" ] || fail "$kind: resolves $(resolved "$kind"), expected $expected"
    timeout 60 "$("${build[@]}" --show-bin-path)/Server" >"$work/output" 2>&1 || status=$?
    if [ "$status" != 0 ]; then
        cat "$work/output" >&2
        fail "$kind: the program exits with $status"
    fi
    diff -u --label "the page" --label "what it prints" "$work/$kind.expected" "$work/output" || fail "$kind: prints something else"
    echo "check-embedding: $kind: ok, $(wc -l <"$work/$kind/Sources/Server/main.swift") lines, $(resolved "$kind"), $((SECONDS - started)) s"
}

git show HEAD:README.md HEAD:Sources/ConcurrentObserve/ConcurrentObserve.docc/GettingStarted.md >"$work/pages.md"
version=$(block manifest swift | sed -nE 's/.* from: "([0-9.]+)".*/\1/p')
[ -n "$version" ] || fail "README's manifest asks for no version"
# Without the tags that there are: this one is the only release.
git clone --quiet --bare --no-tags "file://$root" "$work/ConcurrentObserve.git"
git -C "$work/ConcurrentObserve.git" tag "$version" "$(git rev-parse HEAD)"

for kind in $kinds; do check "$kind"; done
