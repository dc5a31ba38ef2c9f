#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Checks what can be checked for arm64 on another processor:
# 1. The instructions that the protocol's primitives become: the library's pieces that compile as
#    Embedded Swift, and every ordering by itself, as the compiler writes them for ARMv8.0, ARMv8.1
#    and ARMv8.3. The litmus tests (`Models/Litmus`) assume the same.
# 2. The barriers of the C shims, compiled against liburcu's headers for arm64 by gcc and by clang.
# 3. The protocol in C over these shims (`Models/Arm64/Harness`), compiled for arm64 and run in
#    qemu-user, with membarrier and without.
#
# usage: Scripts/check-arm64.sh [--self-test]
#   --self-test   shows that the check can fail: plants defects, also in the harness, which must
#                 find them in qemu-user, and natively
# The first part needs only the toolchain. The others install what is missing: the cross compiler
# and qemu-user with the system's package manager, liburcu for arm64 into .build/arm64.
# LIBURCU_ARM64=FOLDER names a folder that has liburcu for arm64 already (usr/include, usr/lib).
# Exit codes: 0 as expected, 1 not, 2 wrong usage, or the check itself is broken.

set -euo pipefail

scripts="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
checkout="$(dirname "$scripts")"
readonly pieces="Property/Latch.swift Property/Latch+Preparing.swift Hazards/CommitDecision.swift
Platform/Lock.swift Hazards/HazardPointer.swift Hazards/Frame.swift KeyPaths/DrainLoop.swift Registry/BiasedReferenceCount.swift"

# function | ARMv8.0 | ARMv8.1 | ARMv8.3, which is as ARMv8.1 where nothing stands.
# Accesses and barriers in the order of the code. Loops come once.
readonly expected="
latch_load         | ldar ldr ldr ldr ldr dmb.ishld ldr | ldar ldr ldr ldr ldr dmb.ishld ldr | ldapr ldr ldr ldr ldr dmb.ishld ldr
latch_publish      | ldr dmb.ish str str stlr           | ldr dmb.ish str str stlr           |
latch_version      | ldar                               | ldar                               | ldapr
latch_resolved     | ldar ldar ldr ldarb dmb.ishld ldr  | ldar ldar ldr ldarb dmb.ishld ldr  | ldapr ldapr ldr ldaprb dmb.ishld ldr
latch_prepare      | ldr dmb.ish str str str stlr       | ldr dmb.ish str str str stlr       |
latch_settle       | ldr stlr                           | ldr stlr                           |
decision_reset     | stlrb                              | stlrb                              |
decision_make      | stlrb                              | stlrb                              |
frame_clear        | stlr stlr                          | stlr stlr                          |
walk_step          | stlr ldr                           | stlr ldr                           |
lock_try           | ldaxr stxr                         | casa                               |
lock_unlock        | ldxr stlxr                         | swpl                               |
drain_enter        | ldrb ldaxrb stlxrb stlxrb          | ldrb casalb casalb                 |
drain_leave        | ldaxrb stlxrb                      | swpalb                             |
core_retain        | ldr ldxr stxr                      | ldr cas                            |
core_release       | ldr ldaxr stlxr                    | ldr casal                          |
core_end           | ldxr stxr ldr ldaxr stlxr          | ldset ldr casal                    |
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
or_acquiring       | ldaxr stxr                         | ldseta                             |
or_releasing       | ldxr stlxr                         | ldsetl                             |
add_seq            | ldaxr stlxr                        | ldaddal                            |
cas_acquiring      | ldaxr stxr                         | casa                               |
cas_both           | ldaxr stlxr                        | casal                              |
cas_seq            | ldaxr stlxr                        | casal                              |
"

# function | its paths: stores, calls and barriers on the way to each return, but for its own stack.
# A read section has a fence where membarrier is not in use: behind the store that enters it, before
# the store that leaves it. liburcu is called on a thread's first read section.
readonly expected_shims="
shim_read_lock          | bl str; bl str dmb.ish; str; str dmb.ish
shim_read_unlock        | dmb.ish str; str
shim_has_reader         | nothing
shim_has_membarrier     | nothing
shim_compiler_barrier   | nothing
shim_spin_hint          | isb
shim_get_thread_record  | nothing
shim_set_thread_record  | str
"

architectures="armv8-a armv8.1-a armv8.3-a"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# compile SOURCES ARCHITECTURE: writes the assembly of the pieces below SOURCES to
# $work/ARCHITECTURE.s. Here they are one module, without the import of the room Platform.
compile() {
    local piece files=()
    for piece in $pieces; do
        mkdir -p "$work/pieces/${piece%/*}"
        sed -E 's/^(public )?import ConcurrentObservePlatform$//' "$1/$piece" >"$work/pieces/$piece"
        files+=("$work/pieces/$piece")
    done
    swiftc -target aarch64-none-none-elf -package-name concurrentobserve -enable-experimental-feature Embedded -strict-memory-safety \
        -wmo -O -parse-as-library -Xcc -march="$2" -I "$checkout/Models/Arm64/CPlatform" -S \
        "$checkout/Models/Arm64/Primitives.swift" "${files[@]}" -o "$work/$2.s" >"$work/log" 2>&1 || {
        cat "$work/log" >&2
        exit 2
    }
}

# instructions ARCHITECTURE FUNCTION: the accesses and barriers of a function, but for its own
# stack.
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

# --- The shims ---

# prepare: finds or installs the tools; sets `liburcu`, the folder with liburcu for arm64.
prepare() {
    local missing=() began=$SECONDS
    command -v aarch64-linux-gnu-gcc >/dev/null || missing+=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross)
    command -v qemu-aarch64 >/dev/null || missing+=(qemu-user)
    [ ${#missing[@]} -eq 0 ] || "$scripts/install.sh" "${missing[@]}" || broken "cannot install ${missing[*]}"
    liburcu="${LIBURCU_ARM64:-$checkout/.build/arm64/liburcu}"
    [ -e "$liburcu/usr/include/aarch64-linux-gnu/urcu/urcu-bp.h" ] || fetch_liburcu
    [ $((SECONDS - began)) -lt 2 ] || echo "check-arm64: installing took $((SECONDS - began)) s"
}

broken() {
    echo "check-arm64: BROKEN: $1" >&2
    exit 2
}

# Debian's packages for arm64, unpacked: the system's own list of packages stays as it is.
fetch_liburcu() {
    local apt="$work/apt" package
    command -v apt-get >/dev/null ||
        broken "no apt-get: put liburcu for arm64 into a folder, and name it by LIBURCU_ARM64"
    mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" "$work/liburcu"
    set -- -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o "Dir::State=$apt/state" \
        -o Dir::State::status=/dev/null -o "Dir::Cache=$apt/cache" -o Acquire::Languages=none -o APT::Sandbox::User=
    apt-get "$@" update && (cd "$apt" && apt-get "$@" download liburcu-dev liburcu8) ||
        broken "cannot download liburcu for arm64"
    for package in "$apt"/*.deb; do dpkg-deb -x "$package" "$work/liburcu"; done
    mkdir -p "$(dirname "$liburcu")"
    rm -rf "$liburcu"
    mv "$work/liburcu" "$liburcu"
}

# compile_shims COMPILER SOURCES LIBURCU: writes the assembly to $work/COMPILER.s.
compile_shims() {
    local compiler=(aarch64-linux-gnu-gcc -D_Nullable= -D_Nonnull=)
    # As the Swift compiler sees the header.
    [ "$1" = gcc ] || compiler=(clang --target=aarch64-linux-gnu -isystem /usr/aarch64-linux-gnu/include)
    "${compiler[@]}" -std=gnu11 -O2 -fPIC -I "$2/CURCU/Shims/include" -I "$2/CPlatform/include" -isystem "$3/usr/include/aarch64-linux-gnu" \
        -S "$checkout/Models/Arm64/Harness/shims.c" -o "$work/$1.s" 2>"$work/log" || {
        cat "$work/log" >&2
        exit 2
    }
}

# paths COMPILER FUNCTION: what the function does on each of its paths, in alphabetical order.
paths() {
    awk -v wanted="$2" '
        # Follows the code from a line on; each way to a return is printed.
        function follow(line, done, steps,    name, target) {
            for (; line <= count && steps < 200; line++) {
                steps++
                name = operation[line]
                if (name ~ /^(cbz|cbnz|tbz|tbnz|b\.[a-z]+)$/) follow(place[last[line]], done, steps)
                if (name == "b") {
                    target = place[last[line]]
                    # A call at the end.
                    if (!target) { print done " b"; return }
                    line = target - 1
                    continue
                }
                if (name == "ret") { print done == "" ? " nothing" : done; return }
                if (name ~ /^(dmb|dsb)$/) done = done " " name "." last[line]
                else if (name ~ /^(bl|isb)$/) done = done " " name
                else if (text[line] ~ /\[sp|\[x29/) continue
                else if (name ~ /^(st|ld[ax]|ldset|ldadd|ldclr|cas|swp)/) done = done " " name
            }
            print done " endless"
        }
        /^[A-Za-z_0-9]*:/ { inside = $1 == wanted ":"; if (inside) begin = count + 1; next }
        inside && /^\.L[A-Za-z0-9_]*:/ { label = $1; sub(":.*", "", label); place[label] = count + 1; next }
        inside && /^\t[a-z]/ {
            line = $0
            sub("//.*", "", line)
            count++
            split(line, words)
            operation[count] = words[1]
            text[count] = line
            last[count] = words[split(line, words)]
        }
        END { if (begin) follow(begin, "", 0) }' "$work/$1.s" | sed 's/^ //' | sort -u | paste -sd';' | sed 's/;/; /g'
}

# check_shims SOURCES LIBURCU: compares; what differs is printed and counted in `differences`.
check_shims() {
    local name wanted found compiler
    differences=0
    for compiler in gcc clang; do
        compile_shims "$compiler" "$1" "$2"
        while IFS='|' read -r name wanted; do
            read -r name <<<"$name" || true
            [ -n "$name" ] || continue
            wanted="$(xargs <<<"$wanted")"
            found="$(paths "$compiler" "$name")"
            [ "$found" != "$wanted" ] || continue
            differences=$((differences + 1))
            echo "$name, $compiler: “$found”, expected “$wanted”"
        done <<<"$expected_shims"
    done
}

# plant_shims EXPRESSION FILE FUNCTION: changes a header, and expects the function to differ.
plant_shims() {
    rm -rf "$work/shims" "$work/planted"
    mkdir "$work/shims"
    cp -r "$checkout"/Sources/{CURCU,CPlatform} "$work/shims"
    cp -r "$liburcu" "$work/planted"
    (cd "$work" && sed -i "$1" "$2")
    check_shims "$work/shims" "$work/planted" >"$work/found"
    if grep -m 1 "^$3, gcc" "$work/found" && grep -m 1 "^$3, clang" "$work/found"; then return; fi
    echo "check-arm64: BROKEN: does not find what was planted by: $1" >&2
    broken=1
}

# --- The harness ---

# build_harness: $work/native and $work/arm64.
build_harness() {
    local shims="$checkout/Sources/CURCU/Shims" platform="$checkout/Sources/CPlatform" sources
    sources=("$checkout"/Models/Arm64/Harness/{protocol,harness}.c "$shims/CURCU.c"
        "$platform"/{Barrier,Fork,Threads,Waiting}.c)
    set -- -std=gnu11 -O2 -g -Wall -Wextra -Werror -pthread -I "$shims/include" -I "$platform/include" "${sources[@]}"
    clang "$@" -o "$work/native" -lurcu-bp -lurcu-common
    aarch64-linux-gnu-gcc -D_Nullable= -D_Nonnull= -isystem "$liburcu/usr/include/aarch64-linux-gnu" "$@" \
        -o "$work/arm64" -L "$liburcu/usr/lib/aarch64-linux-gnu" -lurcu-bp -lurcu-common
}

native() { timeout 120 "$work/native" "$@"; }

# qemu 7.2 on x86-64 executes an `ldar` before the `stlr` in front of it, which an arm64 processor
# does not. The harness counts how often, and is given a fence there.
emulated() {
    timeout 120 qemu-aarch64 -L /usr/aarch64-linux-gnu -E "LD_LIBRARY_PATH=$liburcu/usr/lib/aarch64-linux-gnu" \
        "$work/arm64" --fence-parking "$@"
}

# run WHERE OPTION…: every invariant holds; an inconclusive run is repeated, longer.
run() {
    local where="$1" seconds code
    shift
    for seconds in 2 20; do
        code=0
        "$where" --seconds "$seconds" "$@" >"$work/out" 2>&1 || code=$?
        [ "$code" -eq 4 ] || break
    done
    sed "s/^harness:/$where:/" "$work/out"
    [ "$code" -eq 0 ] || {
        echo "check-arm64: the harness fails, $where $*: exit code $code"
        failed=1
    }
}

# find_defect WHERE DEFECT: the harness finds a planted defect.
find_defect() {
    local options=(--break "$2") seconds code
    [ "$2" != light ] || options+=(--without-membarrier)
    # With other seeds, for longer, when the machine was busy with something else.
    for seconds in 2 8 30 90; do
        code=0
        "$1" --seconds "$seconds" --seed "$seconds" "${options[@]}" >"$work/out" 2>&1 || code=$?
        if [ "$code" -eq 1 ] && grep -q '^harness: VIOLATION' "$work/out"; then
            echo "found $1: $2: $(sed -n 's/^harness: VIOLATION //p' "$work/out" | head -1)"
            return
        fi
    done
    echo "check-arm64: BROKEN: the harness does not find, $1: $2: exit code $code" >&2
    broken=1
}

# miss_defect DEFECT: a defect that this processor does not show. If it does, the list is wrong.
miss_defect() {
    local code=0
    emulated --seconds 0.3 --break "$1" >"$work/out" 2>&1 || code=$?
    case "$code" in 0 | 4) return ;; esac
    cat "$work/out" >&2
    echo "check-arm64: BROKEN: the harness finds $1, which it lists as seen nowhere" >&2
    broken=1
}

find_defects() {
    local name where what
    while IFS='|' read -r name where what; do
        read -r name <<<"$name"
        case "$(xargs <<<"$where")" in
        everywhere)
            find_defect native "$name"
            find_defect emulated "$name"
            ;;
        natively) [ "$(nproc)" -lt 2 ] || find_defect native "$name" ;;
        nowhere) [ "$(uname -m)" != x86_64 ] || miss_defect "$name" ;;
        esac
    done < <(native --list)
    echo "not seen under the memory of this processor, which litmus tests have instead:"
    native --list | grep -E '\| (nowhere|by luck) \|' | sed 's/^/  /'
}

case "${1:-}" in
"")
    check "$checkout/Sources/ConcurrentObserve"
    all=$differences
    echo "check-arm64: $(grep -c '|' <<<"$expected") functions for three architectures, $differences differences"
    prepare
    check_shims "$checkout/Sources" "$liburcu"
    all=$((all + differences))
    echo "check-arm64: $(grep -c '|' <<<"$expected_shims") shims by two compilers, $differences differences"
    failed=0
    build_harness
    emulated --probe | sed 's/^harness:/emulated:/'
    run emulated
    run emulated --without-membarrier
    run native
    [ "$all" -eq 0 ] && [ "$failed" -eq 0 ] || exit 1
    ;;
--self-test)
    broken=0
    architectures=armv8-a
    plant '/atomicMemoryFence(ordering: .acquiring)/d' Property/Latch.swift latch_load
    plant 's/version.store(next, ordering: .releasing)/version.store(next, ordering: .relaxed)/' Property/Latch.swift latch_publish
    plant 's/version.store(present | Self.preparedMark, ordering: .releasing)/version.store(present | Self.preparedMark, ordering: .relaxed)/' \
        Property/Latch+Preparing.swift latch_prepare
    plant 's/isCommitted.store(true, ordering: .releasing)/isCommitted.store(true, ordering: .relaxed)/' \
        Hazards/CommitDecision.swift decision_make
    plant 's/address.store(0, ordering: .releasing)/address.store(0, ordering: .relaxed)/' Hazards/HazardPointer.swift frame_clear
    plant 's/desired: Self.held, ordering: .acquiring/desired: Self.held, ordering: .relaxed/' Platform/Lock.swift lock_try
    prepare
    header=planted/usr/include/aarch64-linux-gnu/urcu/static/urcu-bp.h
    plant_shims '/Finish using rcu/,+1d' "$header" shim_read_unlock
    plant_shims '/_urcu_bp_read_lock_update(unsigned/,/else/s/urcu_bp_smp_mb_slave();//' "$header" shim_read_lock
    plant_shims 's/__asm__ __volatile__("isb"/__asm__ __volatile__("yield"/' shims/CPlatform/include/CPlatform.h shim_spin_hint
    build_harness
    find_defects
    [ "$broken" -eq 0 ] || exit 2
    echo "check-arm64: every check can fail"
    ;;
*)
    echo "usage: $0 [--self-test]" >&2
    exit 2
    ;;
esac
