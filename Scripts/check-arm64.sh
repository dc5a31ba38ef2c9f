#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Checks the instructions that the protocol's primitives become on arm64: the library's pieces that
# compile as Embedded Swift, and every ordering by itself, as the compiler writes them for ARMv8.0,
# ARMv8.1 and ARMv8.3. The litmus tests (`Models/Litmus`) assume the same.
#
# usage: Scripts/check-arm64.sh [--self-test]
#   --self-test   shows that the check can fail
# Needs the toolchain alone: nothing is linked, nothing runs. Exit codes: 0 as expected, 1 not,
# 2 wrong usage, or the check itself is broken.

set -euo pipefail

scripts="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
checkout="$(dirname "$scripts")"
readonly pieces="Property/Latch.swift Reclamation/Lock.swift Reclamation/Frame.swift
KeyPaths/Turn.swift Registry/CoreLife.swift"

# function | ARMv8.0 | ARMv8.1 | ARMv8.3, which is as ARMv8.1 where nothing stands.
# Accesses and barriers in the order of the code. Loops come once.
readonly expected="
latch_load         | ldar ldr ldr ldr ldr dmb.ishld ldr | ldar ldr ldr ldr ldr dmb.ishld ldr | ldapr ldr ldr ldr ldr dmb.ishld ldr
latch_publish      | ldr dmb.ish str str stlr           | ldr dmb.ish str str stlr           |
frame_clear        | stlr stlr                          | stlr stlr                          |
walk_step          | stlr ldr                           | stlr ldr                           |
lock_try           | ldaxr stxr                         | casa                               |
lock_unlock        | ldxr stlxr                         | swpl                               |
turn_take          | ldrb ldaxrb stlxrb stlxrb          | ldrb casalb casalb                 |
turn_give_back     | ldaxrb stlxrb                      | swpalb                             |
life_lend          | ldr ldxr stxr                      | ldr cas                            |
life_give_back     | ldr ldaxr stlxr                    | ldr casal                          |
life_end           | ldxr stxr ldr ldaxr stlxr          | ldset ldr casal                    |
load_relaxed       | ldr                                | ldr                                |
load_acquiring     | ldar                               | ldar                               | ldapr
load_seq           | ldar                               | ldar                               |
store_relaxed      | str                                | str                                |
store_releasing    | stlr                               | stlr                               |
store_seq          | stlr                               | stlr                               |
fence_acquiring    | dmb.ishld                          | dmb.ishld                          |
fence_releasing    | dmb.ish                            | dmb.ish                            |
fence_seq          | dmb.ish                            | dmb.ish                            |
exchange_acquiring | ldaxr stxr                         | swpa                               |
exchange_releasing | ldxr stlxr                         | swpl                               |
or_both            | ldaxr stlxr                        | ldsetal                            |
add_seq            | ldaxr stlxr                        | ldaddal                            |
cas_acquiring      | ldaxr stxr                         | casa                               |
cas_both           | ldaxr stlxr                        | casal                              |
cas_seq            | ldaxr stlxr                        | casal                              |
"

architectures="armv8-a armv8.1-a armv8.3-a"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# compile SOURCES ARCHITECTURE: writes the assembly of the pieces below SOURCES to $work/ARCHITECTURE.s.
compile() {
    local piece files=()
    for piece in $pieces; do files+=("$1/$piece"); done
    swiftc -target aarch64-none-none-elf -enable-experimental-feature Embedded -strict-memory-safety \
        -wmo -O -parse-as-library -Xcc -march="$2" -I "$checkout/Models/Arm64/CURCU" -S \
        "$checkout/Models/Arm64/Primitives.swift" "${files[@]}" -o "$work/$2.s" >"$work/log" 2>&1 || {
        cat "$work/log" >&2
        exit 2
    }
}

# instructions ARCHITECTURE FUNCTION: the accesses and barriers of a function, but for its own stack.
instructions() {
    awk -v wanted="$2" '
        /^[$A-Za-z_][$A-Za-z_0-9]*:/ { name = substr($1, 1, length($1) - 1) }
        /^\.Lfunc_end/ { name = "" }
        name == "" || !/^\t[a-z]/ { next }
        # A function that is another one.
        $1 == "b" && $2 ~ /^\$/ && !(name in text) { alias[name] = $2; next }
        /\[sp|\[x29/ { next }
        $1 == "dmb" { text[name] = text[name] " dmb." $2; next }
        $1 ~ /^(ld|st|cas|swp)/ { text[name] = text[name] " " $1 }
        END {
            if (wanted in alias) wanted = alias[wanted]
            print substr(text[wanted], 2)
        }' "$work/$1.s"
}

# check SOURCES: compares; what differs is printed and counted in `differences`.
check() {
    local name old new newest architecture wanted found
    differences=0
    for architecture in $architectures; do compile "$1" "$architecture"; done
    while IFS='|' read -r name old new newest; do
        read -r name <<<"$name" || true
        [ -n "$name" ] || continue
        for architecture in $architectures; do
            case "$architecture" in
            armv8-a) wanted="$old" ;;
            armv8.1-a) wanted="$new" ;;
            armv8.3-a) wanted="$newest" && [ -n "${newest// /}" ] || wanted="$new" ;;
            esac
            wanted="$(xargs <<<"$wanted")"
            found="$(instructions "$architecture" "$name")"
            [ "$found" != "$wanted" ] || continue
            differences=$((differences + 1))
            echo "$name, $architecture: “$found”, expected “$wanted”"
        done
    done <<<"$expected"
}

# plant EXPRESSION FILE FUNCTION: changes a piece, and expects the function to differ.
plant() {
    rm -rf "$work/sources"
    mkdir -p "$work/sources"
    (cd "$checkout/Sources/ConcurrentObserve" && echo $pieces | xargs tar -cf -) | tar -C "$work/sources" -xf -
    sed -i "$1" "$work/sources/$2"
    check "$work/sources" >"$work/found"
    if grep -m 1 "^$3, " "$work/found"; then return; fi
    echo "check-arm64: BROKEN: does not find what was planted by: $1" >&2
    broken=1
}

case "${1:-}" in
"")
    check "$checkout/Sources/ConcurrentObserve"
    echo "check-arm64: $(grep -c '|' <<<"$expected") functions for three architectures, $differences differences"
    [ "$differences" -eq 0 ] || exit 1
    ;;
--self-test)
    broken=0
    architectures=armv8-a
    plant '/atomicMemoryFence(ordering: .acquiring)/d' Property/Latch.swift latch_load
    plant 's/version.store(next, ordering: .releasing)/version.store(next, ordering: .relaxed)/' Property/Latch.swift latch_publish
    plant 's/pin.store(0, ordering: .releasing)/pin.store(0, ordering: .relaxed)/' Reclamation/Frame.swift frame_clear
    plant 's/desired: Self.held, ordering: .acquiring/desired: Self.held, ordering: .relaxed/' Reclamation/Lock.swift lock_try
    [ "$broken" -eq 0 ] || exit 2
    echo "check-arm64: every check can fail"
    ;;
*)
    echo "usage: $0 [--self-test]" >&2
    exit 2
    ;;
esac
