#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the packages in Examples in release, runs each, and compares what it prints with the expected.txt beside its manifest.
# Called from any directory.
#
#   Scripts/check-examples.sh
#
# Exit codes: 0 all agree, 1 one does not (a diff follows), fails or does not build, 2 no example found.
set -euo pipefail

root=$(cd -P "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

shopt -s nullglob
manifests=("$root"/Examples/*/Package.swift)
if [ ${#manifests[@]} -eq 0 ]; then
    echo "check-examples: no package in $root/Examples" >&2
    exit 2
fi

for manifest in "${manifests[@]}"; do
    example=$(dirname "$manifest")
    name=$(basename "$example")
    if [ ! -f "$example/expected.txt" ]; then
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
    status=0
    timeout 60 "$products/$name" > "$work/output" 2>&1 || status=$?
    if [ "$status" -ne 0 ]; then
        cat "$work/output" >&2
        echo "check-examples: $name exits with $status" >&2
        exit 1
    fi
    if ! diff -u --label "Examples/$name/expected.txt" --label "what $name prints" "$example/expected.txt" "$work/output"; then
        echo "check-examples: $name prints something else" >&2
        exit 1
    fi
done
echo "check-examples: ok, ${#manifests[@]} example(s)"
