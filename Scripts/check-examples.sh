#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the packages in Examples in release, runs each, and compares what it prints with the expected.txt beside its manifest. A package
# of several programs has an expected/NAME.txt for each. One that has a check.sh is checked by that instead. Called from any directory.
#
#   Scripts/check-examples.sh [NAME ...]    all packages, or those with these names
#
# Exit codes: 0 all agree, 1 one does not (a diff follows), fails or does not build, 2 no example found.
set -euo pipefail

root=$(cd -P "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

shopt -s nullglob
manifests=("$root"/Examples/*/Package.swift)
if [ $# -gt 0 ]; then
    manifests=()
    for name in "$@"; do manifests+=("$root/Examples/$name/Package.swift"); done
fi
if [ ${#manifests[@]} -eq 0 ] || ! ls "${manifests[@]}" > /dev/null 2>&1; then
    echo "check-examples: no package in $root/Examples${1:+ with one of these names: $*}" >&2
    exit 2
fi

# agrees PROGRAM EXPECTED: whether the program succeeds and prints what is in the file.
agrees() {
    local status=0
    timeout 60 "$1" > "$work/output" 2>&1 || status=$?
    if [ "$status" -ne 0 ]; then
        cat "$work/output" >&2
        echo "check-examples: ${1##*/} exits with $status" >&2
        return 1
    fi
    if ! diff -u --label "${2#"$root/"}" --label "what ${1##*/} prints" "$2" "$work/output"; then
        echo "check-examples: ${1##*/} prints something else" >&2
        return 1
    fi
}

programs=0
for manifest in "${manifests[@]}"; do
    example=$(dirname "$manifest")
    name=$(basename "$example")
    if [ -x "$example/check.sh" ]; then
        "$example/check.sh"
        programs=$((programs + 1))
        continue
    fi
    expected=("$example"/expected.txt "$example"/expected/*.txt)
    if [ ! -f "${expected[0]}" ]; then expected=("${expected[@]:1}"); fi
    if [ ${#expected[@]} -eq 0 ]; then
        echo "check-examples: $name has no expected.txt" >&2
        exit 1
    fi
    if ! swift build -c release --package-path "$example" > "$work/build.log" 2>&1; then
        cat "$work/build.log" >&2
        echo "check-examples: $name does not build" >&2
        exit 1
    fi
    if grep -F "$example/" "$work/build.log" | grep ': warning:' >&2; then
        echo "check-examples: the warnings above, of $name, are errors" >&2
        exit 1
    fi
    products=$(swift build -c release --package-path "$example" --show-bin-path)
    for text in "${expected[@]}"; do
        program=$(basename "$text" .txt)
        if [ "$program" = expected ]; then program=$name; fi
        agrees "$products/$program" "$text"
        programs=$((programs + 1))
    done
done
echo "check-examples: ok, $programs example(s)"
