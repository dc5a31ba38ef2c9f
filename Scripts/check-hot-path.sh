#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Proves that a notification takes no lock, executes no atomic read-modify-write, fence or system call, counts no reference
# and allocates nothing (P15), and that the library that users build contains nothing of the instrumented build: builds a
# client exactly as a user would and disassembles what it links.
#
# Then it proves that it can fail: the same check must reject notifications that were made bad on purpose.
#
# usage: Scripts/check-hot-path.sh [--no-variants]
# Exit codes: 0 holds, 1 something is forbidden, 2 the check itself is broken, 4 it cannot judge on this machine.

set -euo pipefail

scripts="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
checkout="$(dirname "$scripts")"

case "${1:-}" in
"" | --no-variants) ;;
*)
    echo "usage: $0 [--no-variants]" >&2
    exit 2
    ;;
esac

if [ "$(uname -m)" != x86_64 ]; then
    echo "check-hot-path: reads x86-64 code only; this machine is $(uname -m)" >&2
    exit 4
fi

if ! command -v objdump >/dev/null || ! command -v nm >/dev/null; then
    sudo=""
    [ "$(id -u)" -eq 0 ] || sudo=sudo
    $sudo apt-get install -y -qq binutils >/dev/null
fi

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# What the notification may call: the first use of a thread, and passes nested too deep for the thread's own frames.
readonly cold='12ThreadRecordV6attach|9deepFrame|^urcu_bp_register(@plt)?$'

# --- Building -------------------------------------------------------------------------------------------------------

# make_client DIRECTORY LIBRARY CHECKOUT: writes a package that uses the library as its users do.
make_client() {
    mkdir -p "$1/Sources/client"
    cat >"$1/Package.swift" <<END
// swift-tools-version: 6.2
import PackageDescription
let package = Package(
    name: "client",
    dependencies: [.package(name: "ConcurrentObserve", path: "$3")],
    targets: [
        .executableTarget(name: "client", dependencies: [.product(name: "$2", package: "ConcurrentObserve")])
    ]
)
END
    cat >"$1/Sources/client/main.swift" <<END
import $2

let numbers = ObserverRegistry<Int>()
let names = ObserverRegistry<String>()
let pairs = ObserverRegistry<(Int, String)>()
let tokens = [
    numbers.observe { print(\$0) }, names.observe { print(\$0) }, pairs.observe { print(\$0, \$1) },
]
for number in 0..<CommandLine.arguments.count {
    numbers.notify(number)
    names.notify(CommandLine.arguments[number])
    pairs.notify((number, CommandLine.arguments[number]))
}
tokens.forEach { \$0.cancel() }
END
}

# build_client DIRECTORY: prints the path of the executable.
build_client() {
    if ! swift build -c release --package-path "$1" >"$work/build.log" 2>&1; then
        cat "$work/build.log" >&2
        echo "check-hot-path: the client does not build" >&2
        exit 2
    fi
    echo "$(swift build -c release --package-path "$1" --show-bin-path)/client"
}

# --- The notification path ------------------------------------------------------------------------------------------

# check_walk EXECUTABLE: follows every version of the notification that the executable contains.
check_walk() {
    local mangled plain verdict=0 missing=""
    objdump -R "$1" >"$work/relocations"
    nm "$1" | awk '$2 ~ /^[tT]$/ && $3 ~ /16ObserverRegistryC(7deliver|6notify)yyxF/ { print $3 }' | sort -u >"$work/symbols"
    swift demangle <"$work/symbols" | sed "s/ConcurrentObserve\.//; s/ -> ()\$//" >"$work/names"
    for plain in "<Swift.Int>" "<Swift.String>" "<(Swift.Int, Swift.String)>"; do
        grep -F deliver "$work/names" | grep -F -- "$plain" >/dev/null || missing="$missing $plain"
    done
    if [ -n "$missing" ]; then
        echo "check-hot-path: the client contains no notification specialised for$missing"
        return 1
    fi
    while IFS=$'\t' read -r mangled plain; do
        local allowed="$cold"
        # The test for observers, then the walk.
        [[ "$mangled" == *C6notifyyyxF* ]] && allowed="$cold|16ObserverRegistryC7deliveryyxF"
        objdump -d --no-show-raw-insn --disassemble="$mangled" "$1" |
            awk -v name="$plain" -v allowed="$allowed" -v relocations="$work/relocations" -f "$scripts/hot-path.awk" ||
            verdict=1
    done < <(paste "$work/symbols" "$work/names")
    return "$verdict"
}

# --- The instrumented build's traces --------------------------------------------------------------------------------

# instrumentation_in EXECUTABLE: prints the symbols and the strings of the instrumented build that the executable contains.
instrumentation_in() {
    nm "$1" | swift demangle --simplified |
        grep -E '\b(inject|mutant)\(|Instrumentation|[Ff]orbidden' | awk '{ $1 = ""; print "symbol" $0 }' || true
    grep -rhoE '(inject|mutant)\("[^"]+"\)' "$checkout/Sources/ConcurrentObserve" |
        sed -E 's/^[a-z]+\("//; s/"\)$//' | sort -u >"$work/marks"
    grep -aoFf "$work/marks" "$1" | sort -u | sed 's/^/string /' || true
}

# --- The variants that must be rejected -----------------------------------------------------------------------------

readonly walk=Sources/ConcurrentObserve/Registry/ObserverList+Walk.swift

# variant NAME EXPECTED SED-PROGRAM [DECLARATION]: changes the walk in the copy, and expects the check to find EXPECTED.
variant() {
    cp "$checkout/$walk" "$work/copy/$walk"
    sed -E -i "$3" "$work/copy/$walk"
    printf '%s\n' "${4:-}" >>"$work/copy/$walk"
    if head -n -1 "$work/copy/$walk" | cmp -s - "$checkout/$walk"; then
        echo "check-hot-path: variant '$1' changes nothing: the walk reads differently now" >&2
        exit 2
    fi
    local executable
    executable="$(build_client "$work/variant")"
    if check_walk "$executable" >"$work/report"; then
        echo "check-hot-path: BROKEN: accepts the variant '$1'" >&2
        exit 2
    fi
    if ! grep FORBIDDEN "$work/report" | grep -E -- "$2" >/dev/null; then
        cat "$work/report" >&2
        echo "check-hot-path: BROKEN: rejects the variant '$1', but not for '$2'" >&2
        exit 2
    fi
    echo "rejected as it must be: $1 ($(grep FORBIDDEN "$work/report" | grep -E -- "$2" | sed -n 1p | sed 's/^ *FORBIDDEN [0-9a-f]*: //'))"
}

check_variants() {
    mkdir "$work/copy"
    tar -C "$checkout" --exclude=./.git --exclude=.build -cf - Package.swift Sources Tests | tar -C "$work/copy" -xf -
    make_client "$work/variant" ConcurrentObserve "$work/copy"

    local call='^( *)call\(observer\)$'
    variant "counts a reference" swift_retain \
        "s/$call/\1let probe = unsafe Unmanaged<Observer>.fromOpaque(UnsafeRawPointer(bitPattern: observer)!).retain()\n\1call(observer)\n\1unsafe probe.release()/"
    variant "adds atomically" "read-modify-write" \
        "s/$call/\1unsafe frame.pointee.passes.add(1, ordering: .relaxed)\n\1call(observer)/"
    variant "takes a mutex" "read-modify-write" \
        "s/$call/\1probe.withLock { \$0 += 1 }\n\1call(observer)/" \
        '@usableFromInline internal let probe = Mutex(0)'
    variant "allocates" "ArrayBuffer|swift_allocObject" \
        "s/$call/\1unsafe probe(observer)\n\1call(observer)/" \
        '@inlinable @inline(__always) internal func probe(_ address: UInt) { var list: [UInt] = []; list.append(address); probeSink(list) }
@inlinable @inline(never) internal func probeSink(_ list: [UInt]) { if list.count > 9 { print(list) } }'
    variant "fences" "a fence|read-modify-write" \
        "s/$call/\1atomicMemoryFence(ordering: .sequentiallyConsistent)\n\1call(observer)/"
    variant "fences where membarrier is in use" fullFence \
        's/AsymmetricBarrier\.light\(fenced: fenced\)/AsymmetricBarrier.light(fenced: true)/'
    variant "confuses when to fence" fullFence \
        's/let fenced = !AsymmetricBarrier/let fenced = AsymmetricBarrier/'

    # The traces are found where they are: the instrumented library, which is no product, becomes one in the copy.
    cp "$checkout/$walk" "$work/copy/$walk"
    sed -i '0,/products: \[/s//products: [ .library(name: "ConcurrentObserveInstrumented", targets: ["ConcurrentObserveInstrumented"]),/' \
        "$work/copy/Package.swift"
    make_client "$work/instrumented" ConcurrentObserveInstrumented "$work/copy"
    instrumentation_in "$(build_client "$work/instrumented")" >"$work/report"
    local expected
    for expected in "symbol.*inject" "symbol.*mutant" "symbol.*Instrumentation" "symbol.*Forbidden" "string walk.current"; do
        if ! grep -qE -- "$expected" "$work/report"; then
            echo "check-hot-path: BROKEN: finds no '$expected' in a program that links the instrumented build" >&2
            exit 2
        fi
    done
    echo "found as it must be: $(wc -l <"$work/report") traces of the instrumented build in a program that links it"
}

# --- The check ------------------------------------------------------------------------------------------------------

verdict=0
make_client "$work/client" ConcurrentObserve "$checkout"
client="$(build_client "$work/client")"
check_walk "$client" || verdict=1

instrumentation_in "$client" >"$work/traces"
if [ -s "$work/traces" ]; then
    sed 's/^/FORBIDDEN in the library that users build: /' "$work/traces"
    verdict=1
else
    echo "no trace of the instrumented build, of $(wc -l <"$work/marks") marks in the sources"
fi

[ "${1:-}" = --no-variants ] || check_variants

if [ "$verdict" -eq 0 ]; then echo "check-hot-path: holds"; else echo "check-hot-path: FAILED" >&2; fi
exit "$verdict"
