#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Compiles classes as users write them with `@ConcurrentObservable`: those in
# Tests/MacroFixtures/Accepted.swift without a word of the compiler, those in Refused.swift with
# each message once, at the line that has its text behind `// error:` or `// warning:`, and no
# other. A message inside an expansion is at no line, and fails. Both are compiled in language mode
# 5 and 6, in modules that no actor isolates by default and in modules that the main actor does.
# Mistakes.swift, which uses no macro, has the messages of the article CompilerMessages, in language
# mode 6. Needs a build of the package with its trait Macros: Scripts/traits.sh calls it.
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
readonly article=Sources/ConcurrentObserve/ConcurrentObserve.docc/CompilerMessages.md

work=$(mktemp -d)
trap 'wait; rm -rf "$work"' EXIT

fail() {
    echo "check-macro: $*" >&2
    exit 1
}

# compile SAID FILE MODE ISOLATION OPTION…: what the compiler says about it, in a file; its status.
# It crashes with 128 and more.
compile() {
    local said=$1 file=$2 mode=$3 isolation=$4
    shift 4
    # As in a new application: what is isolated by default also has the features that come with it.
    [ "$isolation" != MainActor ] ||
        set -- -enable-upcoming-feature InferIsolatedConformances -enable-upcoming-feature NonisolatedNonsendingByDefault "$@"
    swiftc -swift-version "$mode" -default-isolation "$isolation" -parse-as-library -strict-memory-safety -no-color-diagnostics \
        -I "$products/Modules" -I Sources/CURCU/Shims/include -I Sources/CPlatform/include \
        -load-plugin-executable "$products/ConcurrentObserveMacrosPlugin-tool#ConcurrentObserveMacrosPlugin" \
        "$@" "$file" >"$said" 2>&1
}

# accepted MODE ISOLATION OPTIMISATION: compiles without a word.
accepted() {
    local said=$work/accepted
    if ! compile "$said" $fixtures/Accepted.swift "$1" "$2" "$3" -g -emit-sil -o "$work/sil" || [ -s "$said" ]; then
        cat "$said" >&2
        fail "Accepted.swift does not compile without a word (language mode $1, default isolation $2, $3)"
    fi
}

# expected FILE: its messages, as its comments have them.
expected() {
    awk -F ' // ' '{ for (i = 2; i <= NF; i++) if ($i ~ /^ *(error|warning): /) print FNR " " $i }' "$fixtures/$1"
}

# refused FILE MODE ISOLATION: each message where it is expected, and no other.
refused() {
    local file=$1 in="language mode $2, default isolation $3" said=$work/refused found=$work/found status=0 missing=0 line number text kind at
    compile "$said" "$fixtures/$file" "$2" "$3" -typecheck || status=$?
    [ "$status" = 1 ] || {
        tail -60 "$said" >&2
        fail "$file: the compiler exits with $status ($in)"
    }
    # Where a message belongs to a place, the text before it names file and line:
    # `Refused.swift:11:1: error: …`; notes are the compiler's own.
    grep -E '^[^ |`].*: (error|warning): ' "$said" | sed -E "s|^$fixtures/$file:([0-9]+):[0-9]+: |\1 |" >"$found"
    while IFS= read -r line; do
        number=${line%% *} text=${line#*: }
        kind=${line#* } kind=${kind%%:*}
        # The first that fits is taken away: what is left over was not expected.
        at=$(awk -v start="$number $kind: " -v text="$text" 'index($0, start) == 1 && index($0, text) { print NR; exit }' "$found")
        if [ -z "$at" ]; then
            echo "$file:$number: expected $kind: $text" >&2
            missing=1
        else
            sed -i "${at}d" "$found"
        fi
    done <"$work/$file.expected"
    if [ -s "$found" ]; then
        sed 's/^/not expected: /' "$found" >&2
        missing=1
    fi
    [ "$missing" = 0 ] || fail "$file: the compiler says something else ($in)"
}

for file in Refused Mistakes; do expected $file.swift >"$work/$file.swift.expected"; done

# One file beside the other; if one fails, the script fails.
(
    for mode in 5 6; do for isolation in nonisolated MainActor; do refused Refused.swift $mode $isolation; done; done
    refused Mistakes.swift 6 nonisolated
) &
refusals=$!
for mode in 5 6; do for isolation in nonisolated MainActor; do accepted $mode $isolation -Onone; done; done
accepted 6 nonisolated -O
wait $refusals

# The article has the text of each mistake, in one line or broken at a space.
tr -s '\n ' '  ' <"$article" >"$work/article"
while IFS= read -r line; do
    grep -qF -- "${line#*: }" "$work/article" || fail "the article CompilerMessages does not have: ${line#*: }"
done <"$work/Mistakes.swift.expected"
echo "check-macro: ok, $(cat "$work"/*.expected | wc -l) messages"
