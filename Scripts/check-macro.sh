#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Compiles classes as users write them with `@ConcurrentObservable`: those in Tests/MacroFixtures/Accepted.swift without a word of the
# compiler, those in Refused.swift with each message once, at the line that has its text behind `// error:` or `// warning:`, and no other.
# A message inside an expansion is at no line, and fails. Needs a build of the package with its trait Macros: Scripts/traits.sh calls it.
#
#   Scripts/check-macro.sh DIRECTORY    the folder of that build's products
#
# Exit codes: 0 all hold, 1 one does not (what was found follows), 2 wrong usage.
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -eq 1 ] && [ -d "$1" ] || {
    echo "usage: Scripts/check-macro.sh DIRECTORY" >&2
    exit 2
}
readonly products=$1 fixtures=Tests/MacroFixtures

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "check-macro: $*" >&2
    exit 1
}

# compile FILE OPTION…: what the compiler says about it, in $work/said; its status. It crashes with 128 and more.
compile() {
    local file=$1
    shift
    swiftc -swift-version 6 -parse-as-library -strict-memory-safety -no-color-diagnostics -I "$products/Modules" -I Sources/CURCU/Shims/include \
        -load-plugin-executable "$products/ConcurrentObserveMacrosPlugin-tool#ConcurrentObserveMacrosPlugin" \
        "$@" "$file" >"$work/said" 2>&1
}

for optimisation in -Onone -O; do
    if ! compile $fixtures/Accepted.swift $optimisation -g -emit-sil -o "$work/sil" || [ -s "$work/said" ]; then
        cat "$work/said" >&2
        fail "Accepted.swift does not compile without a word ($optimisation)"
    fi
done

status=0
compile $fixtures/Refused.swift -typecheck || status=$?
[ "$status" = 1 ] || {
    tail -60 "$work/said" >&2
    fail "Refused.swift: the compiler exits with $status"
}
# Where a message belongs to a place, the text before it names file and line: `Refused.swift:11:1: error: …`; notes are the compiler's own.
grep -E '^[^ |`].*: (error|warning): ' "$work/said" | sed -E "s|^$fixtures/Refused.swift:([0-9]+):[0-9]+: |\1 |" >"$work/found"
awk -F ' // ' '{ for (i = 2; i <= NF; i++) if ($i ~ /^ *(error|warning): /) print FNR " " $i }' $fixtures/Refused.swift >"$work/expected"
missing=0
while IFS= read -r line; do
    number=${line%% *} text=${line#*: }
    kind=${line#* } kind=${kind%%:*}
    # The first that fits is taken away: what is left over was not expected.
    at=$(awk -v start="$number $kind: " -v text="$text" 'index($0, start) == 1 && index($0, text) { print NR; exit }' "$work/found")
    if [ -z "$at" ]; then
        echo "Refused.swift:$number: expected $kind: $text" >&2
        missing=1
    else
        sed -i "${at}d" "$work/found"
    fi
done <"$work/expected"
if [ -s "$work/found" ]; then
    sed 's/^/not expected: /' "$work/found" >&2
    missing=1
fi
[ "$missing" = 0 ] || fail "Refused.swift: the compiler says something else"
echo "check-macro: ok, $(wc -l <"$work/expected") messages"
