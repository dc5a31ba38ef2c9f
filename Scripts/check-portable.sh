#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Checks the C part of the library (`Sources/CPlatform`) on systems that this machine is not:
# 1. It compiles without a warning, and links, for macOS on arm64 and x86-64, and for Linux with
#    musl, statically, on both processors. The compiler is zig's, which has headers of all of them.
# 2. With musl, and here, it runs: `Models/Platform/driver.c` calls every function and checks what
#    it does. Another processor than this one's is emulated.
# 3. Its portable form, for systems without futex and membarrier, does the same.
#
# usage: Scripts/check-portable.sh [--self-test]
#   --self-test   shows that the check can fail: plants a header that only one system has, and
#                 defects, which the driver must find
# Installs what is missing: zig from PyPI (the package ziglang) into .build/zig, qemu-user with the
# system's package manager.
# Exit codes: 0 as expected, 1 not, 2 wrong usage, or the check itself is broken.

set -euo pipefail

scripts="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
checkout="$(dirname "$scripts")"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# How long the driver waits for a thread, in seconds.
patience=30
readonly systems="aarch64-macos.15.0 x86_64-macos.15.0 aarch64-linux-musl x86_64-linux-musl"

broken() {
    echo "check-portable: BROKEN: $1" >&2
    exit 2
}

prepare() {
    local folder="$checkout/.build/zig"
    if ! "$folder/bin/python" -m ziglang version >/dev/null 2>&1; then
        python3 -m venv "$folder" 2>/dev/null || { "$scripts/install.sh" python3-venv && python3 -m venv "$folder"; } ||
            broken "cannot make a Python environment"
        "$folder/bin/pip" install --quiet ziglang || broken "cannot install ziglang"
    fi
    command -v qemu-aarch64 >/dev/null || "$scripts/install.sh" qemu-user || broken "cannot install qemu-user"
    export ZIG_GLOBAL_CACHE_DIR="$folder/cache" ZIG_LOCAL_CACHE_DIR="$folder/cache"
    zig=("$folder/bin/python" -m ziglang cc)
}

# compile SOURCES PROGRAM COMPILER OPTION…: everything but Runtime.c, which needs Swift's runtime,
# is linked with the driver.
compile() {
    local sources="$1" program="$2" file linked=()
    shift 2
    set -- "$@" -std=gnu11 -O2 -Wall -Wextra -Werror -pthread -I "$sources/include"
    for file in "$sources"/*.c; do [ "${file##*/}" = Runtime.c ] || linked+=("$file"); done
    "$@" -c "$sources/Runtime.c" -o "$work/runtime.o" &&
        "$@" "${linked[@]}" "$checkout/Models/Platform/driver.c" -o "$program"
}

# compile_for SYSTEM SOURCES: $work/SYSTEM
compile_for() {
    local static=()
    [[ "$1" != *musl ]] || static=(-static)
    compile "$2" "$work/$1" "${zig[@]}" -target "$1" "${static[@]}"
}

# run WHERE PROGRAM
run() {
    local emulator=()
    [[ "$1" != aarch64-* ]] || [ "$(uname -m)" = aarch64 ] || emulator=(qemu-aarch64)
    [[ "$1" != x86_64-* ]] || [ "$(uname -m)" = x86_64 ] || emulator=(qemu-x86_64)
    timeout 120 "${emulator[@]}" "$2" "$patience" >"$work/out" 2>&1
}

# check WHAT COMMAND…: says whether it holds.
failed=0
check() {
    local what="$1"
    shift
    if "$@" >"$work/said" 2>&1; then
        echo "check-portable: $what$([ ! -s "$work/out" ] || sed -n 's/^barrier: \(.*\);.*/, with \1/p' "$work/out")"
    else
        cat "$work/said" "$work/out" 2>/dev/null
        echo "check-portable: FAILED: $what"
        failed=1
    fi
    : >"$work/out"
}

# plant FILE EXPRESSION WHAT OPTION…: the copy with a defect does not compile, or the driver finds
# it.
plant() {
    rm -rf "$work/planted"
    cp -r "$checkout/Sources/CPlatform" "$work/planted"
    sed -i "$2" "$work/planted/$1"
    cmp -s "$work/planted/$1" "$checkout/Sources/CPlatform/$1" && broken "changes nothing: $2"
    if "$3" "$work/planted" >"$work/said" 2>&1; then broken "does not find what was planted by: $2"; fi
    echo "found: $(grep -m 1 -hE 'error:|FAILED' "$work/said" "$work/out" | sed 's/.*error: //')"
    : >"$work/out"
}
no_kernel_headers() { ! grep -n 'include <linux/' "$1"/*.[ch] "$1"/include/*.h | sed 's/^/FAILED: /' | grep .; }
for_macos() { compile_for aarch64-macos.15.0 "$1"; }
here() { compile "$1" "$work/here" clang && run here "$work/here"; }
portably() { compile "$1" "$work/here" clang -DCPLATFORM_PORTABLE && run here "$work/here"; }

: >"$work/out"
case "${1:-}" in
"")
    prepare
    check "no header of the Linux kernel is included" no_kernel_headers "$checkout/Sources/CPlatform"
    for system in $systems; do
        check "$system: compiled and linked" compile_for "$system" "$checkout/Sources/CPlatform"
        [[ "$system" != *musl ]] || check "$system: runs" run "$system" "$work/$system"
    done
    check "this machine: runs" here "$checkout/Sources/CPlatform"
    check "this machine, portable form: runs" portably "$checkout/Sources/CPlatform"
    [ "$failed" -eq 0 ] || exit 1
    ;;
--self-test)
    prepare
    patience=3
    plant Waiting.c 's|#include <time.h>|&\n#include <linux/futex.h>|' for_macos
    plant Barrier.c 's|#include <errno.h>|&\n#include <linux/membarrier.h>|' no_kernel_headers
    plant Waiting.c 's/all ? INT_MAX : 1/all ? 0 : 0/' here
    plant Waiting.c '/pthread_cond_broadcast/d' portably
    plant Threads.c 's/pthread_setspecific(exit_key, record)/(void)record/' here
    plant Threads.c 's/sigdelset(&all, faults\[i\])/(void)faults/' here
    plant Stack.c 's/here < stack_limit/here > stack_limit/' here
    plant Clocks.c 's/tv_nsec >> 28/tv_nsec >> 20/' here
    plant Fork.c '/cplatform_child = true/d' here
    echo "check-portable: every check can fail"
    ;;
*)
    echo "usage: $0 [--self-test]" >&2
    exit 2
    ;;
esac
