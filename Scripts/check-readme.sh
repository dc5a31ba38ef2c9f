#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds and runs the examples of Markdown files, README.md by default, and compares what they print with what these say.
# An example is a ```swift block after a line `<!-- example -->`; the next ```text block is its exact output.
#
#   Scripts/check-readme.sh [FILE…]
#
# Exit codes: 0 all agree, 1 one does not (a diff follows) or does not build, 2 no example found.
set -euo pipefail

root=$(cd -P "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
[ $# -gt 0 ] || set -- "$root/README.md"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir -p "$work/expected" "$work/file"
awk -v work="$work" '
    /^<!-- example -->$/ { marked = 1; next }
    /^```swift$/ && marked {
        n++; marked = 0; awaiting = 1
        folder = work "/Sources/Example" n
        system("mkdir -p \"" folder "\"")
        out = folder "/main.swift"
        print FILENAME > (work "/file/Example" n)
        next
    }
    /^```text$/ && awaiting { awaiting = 0; out = work "/expected/Example" n; printf "" > out; next }
    /^```/ && out { close(out); out = ""; next }
    out { print > out }
' "$@"

shopt -s nullglob
examples=("$work"/Sources/*)
if [ ${#examples[@]} -eq 0 ]; then
    echo "check-readme: no example in $*: mark one with a line <!-- example -->" >&2
    exit 2
fi

# The checkout's path may hold characters that a manifest would have to escape: a link has a plain name.
ln -s "$root" "$work/checkout"
{
    echo '// swift-tools-version: 6.2'
    echo 'import PackageDescription'
    echo 'let library: [Target.Dependency] = [.product(name: "ConcurrentObserve", package: "ConcurrentObserve")]'
    echo 'let package = Package('
    echo '    name: "Examples",'
    echo '    dependencies: [.package(name: "ConcurrentObserve", path: "checkout")],'
    echo '    targets: ['
    for example in "${examples[@]}"; do
        echo "        .executableTarget(name: \"$(basename "$example")\", dependencies: library),"
    done
    echo '    ],'
    echo '    swiftLanguageModes: [.v6]'
    echo ')'
} > "$work/Package.swift"

if ! swift build -c release --package-path "$work" > "$work/build.log" 2>&1; then
    cat "$work/build.log" >&2
    echo "check-readme: an example of $* does not build" >&2
    exit 1
fi
products=$(swift build -c release --package-path "$work" --show-bin-path)

for example in "${examples[@]}"; do
    name=$(basename "$example")
    file=$(cat "$work/file/$name")
    if [ ! -f "$work/expected/$name" ]; then
        echo "check-readme: $name of $file has no \`\`\`text block" >&2
        exit 1
    fi
    status=0
    timeout 60 "$products/$name" > "$work/output" 2>&1 || status=$?
    if [ "$status" -ne 0 ]; then
        cat "$work/output" >&2
        echo "check-readme: $name of $file exits with $status" >&2
        exit 1
    fi
    if ! diff -u --label "$file" --label "what $name prints" "$work/expected/$name" "$work/output"; then
        echo "check-readme: $name of $file prints something else" >&2
        exit 1
    fi
done
echo "check-readme: ok, ${#examples[@]} example(s)"
