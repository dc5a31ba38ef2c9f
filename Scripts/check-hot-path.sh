#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Proves that a notification, of a registry and of a property, takes no lock, executes no atomic
# read-modify-write, fence or system call, counts no reference and allocates nothing (P15); that
# reading a property does no more than that and, where the value is its own bits, calls nothing; and
# that the library that users build contains nothing of the instrumented build: builds a client
# exactly as a user would and disassembles what it links.
#
# Then it proves that it can fail: the same check must reject notifications and readers that were
# made bad on purpose.
#
# usage: Scripts/check-hot-path.sh [--no-variants]
# Exit codes: 0 holds, 1 something is forbidden, 2 the check itself is broken, 4 it cannot judge on
# this machine.

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

# The notification may call these: the first use of a thread, and passes nested too deep for the
# thread's own frames.
readonly cold='12ThreadRecordV6attach|11ReadSectionO6attach|9deepFrame|^urcu_bp_register(@plt)?$'

# --- Building -------------------------------------------------------------------------------------

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

let count = Observed(0)
let pair = Observed((0, 0))
let flag = Observed(false)
let name = Observed("short")

@inline(never) func readCount(_ property: Observed<Int>) -> Int { property.value }
@inline(never) func readPair(_ property: Observed<(Int, Int)>) -> (Int, Int) { property.value }
@inline(never) func readFlag(_ property: Observed<Bool>) -> Bool { property.value }
@inline(never) func readName(_ property: Observed<String>) -> String { property.value }

final class Thing: Sendable { let number = CommandLine.arguments.count }
let thing = Observed(Thing())
@inline(never) func lendThing(_ property: Observed<Thing>) -> Thing { property.withValue { copy \$0 } }
print(lendThing(thing).number)

struct Limits: Sendable { var name: String, perMinute: Int }
let limits = Observed(Limits(name: CommandLine.arguments[0], perMinute: CommandLine.arguments.count))
@inline(never) func readPart(_ property: Observed<Limits>) -> Int { property.value(\\.perMinute) }
print(readPart(limits))

let observations = [
    count.observe { print(\$0.version) }, pair.observe { print(\$0.version) }, flag.observe { print(\$0.version) },
    count.observeValues { print(\$0) }, count.observe(options: .prior) { print(\$0.version) },
]
for argument in CommandLine.arguments {
    count.value = argument.count
    pair.value = (argument.count, 1)
    flag.value = argument.isEmpty
    name.value = argument
    print(readCount(count), readPair(pair), readFlag(flag), readName(name))
}
observations.forEach { \$0.cancel() }
END
}

# build_client DIRECTORY [OPTION…]: prints the path of the executable.
build_client() {
    local package=(--package-path "$@")
    if ! swift build -c release "${package[@]}" >"$work/build.log" 2>&1; then
        cat "$work/build.log" >&2
        echo "check-hot-path: the client does not build" >&2
        exit 2
    fi
    echo "$(swift build -c release "${package[@]}" --show-bin-path)/client"
}

# follow EXECUTABLE MANGLED NAME ALLOWED OBSERVERS [ONCE]: follows one function; hot-path.awk says
# what the words mean.
follow() {
    objdump -d --no-show-raw-insn --disassemble="$2" "$1" |
        awk -v name="$3" -v allowed="$4" -v observers="$5" -v once="${6:-}" \
            -v relocations="$work/relocations" -f "$scripts/hot-path.awk"
}

# --- The notification path ------------------------------------------------------------------------

# check_walk EXECUTABLE: follows the notification, which is compiled once, in the library; and
# specialised versions, if the client has any.
check_walk() {
    local mangled plain verdict=0
    objdump -R "$1" >"$work/relocations"
    nm "$1" | awk '$2 ~ /^[tT]$/ && $3 ~ /16ObserverRegistryC(7deliver|6notify)yyxF/ { print $3 }' | sort -u >"$work/symbols"
    swift demangle <"$work/symbols" | sed "s/ConcurrentObserve\.//; s/ -> ()\$//" >"$work/names"
    if ! grep -F deliver "$work/names" >/dev/null; then
        echo "check-hot-path: the client contains no notification"
        return 1
    fi
    while IFS=$'\t' read -r mangled plain; do
        # Where there are mailboxes they are woken and emptied, which is theirs to pay.
        local allowed="$cold|16ObserverRegistryC20deliverWithMailboxes"
        # The test for observers, then the walk.
        [[ "$mangled" == *C6notifyyyxF* ]] && allowed="$cold|16ObserverRegistryC7deliveryyxF"
        local observers=some
        [[ "$plain" == *notify* ]] && observers=any
        follow "$1" "$mangled" "$plain" "$allowed" "$observers" || verdict=1
    done < <(paste "$work/symbols" "$work/names")
    return "$verdict"
}

# --- Properties -----------------------------------------------------------------------------------

# The copy of a value that references something: it is retained, once, while it is pinned.
readonly pinned='9ValueCellV10copyPinned'
# A read calls this after a change in between, or beside a commit. It is out of line, and held to
# the same rules.
readonly again='5LatchV9loadAgain|9ValueCellV9readAgain'
readonly retain='^swift_(bridgeObjectR|r)etain(@plt)?$'

# check_property EXECUTABLE: follows the readers of properties, and what notifies their observers of
# a change.
check_property() {
    local mangled plain verdict=0
    objdump -R "$1" >"$work/relocations"
    nm "$1" | awk '$2 ~ /^[tT]$/ { print $3 }' | sort -u >"$work/all"

    local reader
    for reader in readCount readPair readFlag readName; do
        mangled="$(grep -E "^[$]s6client[0-9]+$reader" "$work/all" || true)"
        if [ "$(grep -c . <<<"$mangled")" -ne 1 ]; then
            echo "check-hot-path: the client contains no function $reader, or several"
            return 1
        fi
        plain="$(swift demangle --simplified --compact <<<"$mangled")"
        case "$reader" in
        # Strings that reference something are pinned.
        readName) follow "$1" "$mangled" "$plain" "$pinned|$again" none "" 1 || verdict=1 ;;
        *) follow "$1" "$mangled" "$plain" "$again" none || verdict=1 ;;
        esac
    done
    check_each "$1" 5LatchV9loadAgain none "$again" || verdict=1
    check_each "$1" "$pinned.*SS_T" none "$retain|$cold|$again" "$retain" || verdict=1
    check_each "$1" "9ValueCellV9readAgain.*SS_T" none "$retain|$cold|$again" "$retain" || verdict=1

    check_lend "$1" || verdict=1
    check_part "$1" || verdict=1

    # This function hands a change to the walk. Another one delivers where there are mailboxes, or
    # where paths lead through the property. Its cost is theirs.
    local others='8ObservedC17deliverToAllKinds'
    local shared='8ObservedC4walk'
    local type
    for type in Si Sb Si_Sit; do
        check_each "$1" "8ObservedC7deliver.*[FU_]${type}_T" any "$cold|$others|$shared" || verdict=1
    done
    # The walk, which is compiled once, in the library.
    check_each "$1" "$shared" any "$cold" || verdict=1
    if ! grep -E 'calls of observers: [1-9]' "$work/each" >/dev/null; then
        echo "    FORBIDDEN no observer is called: this is not the walk"
        verdict=1
    fi
    return "$verdict"
}

# check_lend EXECUTABLE: what a body makes of a lent value is retained while the value is pinned,
# not later: the optimiser moves a retain across a store, atomic or not.
check_lend() {
    local mangled
    mangled="$(grep -E '8ObservedC9withValue.*lendThing' "$work/all" || true)"
    if [ "$(grep -c . <<<"$mangled")" -ne 1 ]; then
        echo "check-hot-path: the client contains no specialised withValue, or several"
        return 1
    fi
    objdump -d --no-show-raw-insn --disassemble="$mangled" "$1" | awk '
        /call +.*<swift_retain/ { if (cleared) { print "    FORBIDDEN a retain after the pin is cleared: " $0; bad = 1 } else retained = 1 }
        /movq +\$0x0,/ { cleared = 1 }
        END {
            if (!retained && !bad) { print "    FORBIDDEN nothing is retained: this is not the body that was asked for"; bad = 1 }
            if (!cleared) { print "    FORBIDDEN no pin is cleared"; bad = 1 }
            if (!bad) print "lending: retained, then unpinned"
            exit bad
        }'
}

# check_part EXECUTABLE: what reads a part of a lent value counts no reference of that.
check_part() { check_each "$1" '8ObservedC9withValue.*6client6LimitsV' none "$cold|$again"; }

# check_each EXECUTABLE PATTERN OBSERVERS ALLOWED [ONCE]: follows every function whose symbol
# matches; there must be one.
check_each() {
    local mangled verdict=0
    : >"$work/each"
    while read -r mangled; do
        follow "$1" "$mangled" "$(swift demangle --simplified --compact <<<"$mangled")" "$4" "$3" "${5:-}" >>"$work/each" ||
            verdict=1
    done < <(grep -E "$2" "$work/all")
    cat "$work/each"
    if [ ! -s "$work/each" ]; then
        echo "check-hot-path: the client contains no function like $2"
        verdict=1
    fi
    return "$verdict"
}

# --- The variants that must be rejected -----------------------------------------------------------

readonly walk=Sources/ConcurrentObserve/Registry/ObserverList+Walk.swift
readonly property=Sources/ConcurrentObserve/Property/Observed.swift
readonly announcing=Sources/ConcurrentObserve/Property/ObserverList+Changes.swift
readonly pointer=Sources/ConcurrentObserve/Hazards/HazardPointer.swift
readonly cell=Sources/ConcurrentObserve/Property/ValueCell.swift

# variant CHECK FILE NAME EXPECTED SED-PROGRAM [DECLARATION]: changes the file in the copy; `reject`
# expects the check to find EXPECTED.
planted=()
variant() {
    local file="$work/copy/$2"
    cp "$file" "$work/before"
    sed -E -i "$5" "$file"
    if cmp -s "$file" "$work/before"; then
        echo "check-hot-path: variant '$3' changes nothing: $2 reads differently now" >&2
        exit 2
    fi
    printf '%s\n' "${6:-}" >>"$file"
    planted+=("$1" "$2" "$3" "$4")
}

# reject: builds with the variants that were planted since the last time, which takes a minute. Each
# must be found for a reason that no other one of them gives to the same check, so that none stands
# for another.
reject() {
    local executable check file name expected
    executable="$(build_client "$work/variant")"
    set -- "${planted[@]}"
    planted=()
    while [ $# -gt 0 ]; do
        check="$1" file="$2" name="$3" expected="$4"
        shift 4
        cp "$checkout/$file" "$work/copy/$file"
        if "$check" "$executable" >"$work/report"; then
            echo "check-hot-path: BROKEN: accepts the variant '$name'" >&2
            exit 2
        fi
        if ! grep FORBIDDEN "$work/report" | grep -E -- "$expected" >"$work/found"; then
            cat "$work/report" >&2
            echo "check-hot-path: BROKEN: rejects the variant '$name', but not for '$expected'" >&2
            exit 2
        fi
        echo "rejected as it must be: $name ($(sed -nE '1{s/^ *FORBIDDEN //;p}' "$work/found"))"
    done
}

check_variants() {
    mkdir "$work/copy"
    tar -C "$checkout" --exclude=./.git --exclude=.build -cf - Package.swift Sources Tests | tar -C "$work/copy" -xf -
    make_client "$work/variant" ConcurrentObserve "$work/copy"

    local call='^( *)unsafe call\(lent, callback\)$'
    local get='^( *@inlinable @inline\(__always\) get \{) cell.copy\(\) \}$'
    local body='^( *)return \(Encoding\.copy\(words\), version\)$'
    local forms='^( *)closure\(change\)$'
    local array='(_ address: UInt) { var list: [UInt] = []; list.append(address); arraySink(list) }
@inlinable @inline(never) internal func arraySink(_ list: [UInt]) { if list.count > 9 { print(list) } }'

    # A pattern says where the reason must be, if another variant gives the same one elsewhere. The
    # walk over the observers is part of both checks. A mutex is a word of 32 bits, a counter of 64.
    local reads='in read[A-Z].*' changes='in .*Observed.*(deliver|walk).*' copies='in .*copyPinned.*'
    variant check_walk "$walk" "counts a reference" swift_retain \
        "s/$call/\1let counted = unsafe Unmanaged<Observer>.fromOpaque(UnsafeRawPointer(bitPattern: observer)!).retain()\n&\n\1unsafe counted.release()/"
    variant check_walk "$walk" "adds atomically" "lock [^o].*read-modify-write" \
        "s/$call/\1unsafe frame.pointee.passes.add(1, ordering: .relaxed)\n&/"
    variant check_walk "$walk" "fences where membarrier is in use" fullFence \
        's/protect\(observer, fenced: fenced\)/protect(observer, fenced: true)/'
    variant check_walk "$walk" "fences" "a fence|lock or.*read-modify-write" \
        "s/$call/\1atomicMemoryFence(ordering: .sequentiallyConsistent)\n&/"
    variant check_property "$cell" "copies a pinned value under a mutex" "${copies}read-modify-write" \
        "s/$body/\1cellLock.withLock { \$0 += 1 }\n&/" \
        '@usableFromInline internal let cellLock = Mutex(0)'
    variant check_property "$announcing" "copies an array for a change" "${changes}(ArrayBuffer|swift_allocObject)" \
        "s/$forms/\1copyArray(closure.observer)\n&/" \
        "@inlinable @inline(__always) internal func copyArray$array"
    variant check_property "$announcing" "announces a change under a mutex" "${changes}cmpxchg %e" \
        "s/$forms/\1changeLock.withLock { \$0 += 1 }\n&/" \
        'import Synchronization
@usableFromInline internal let changeLock = Mutex(0)'
    variant check_property "$property" "reads with a reference counted" "${reads}swift_retain" \
        "s/$get/\1 let counted = unsafe Unmanaged.passUnretained(self as any AnyObject).retain(); defer { unsafe counted.release() }; return cell.copy() }/"
    reject

    variant check_walk "$walk" "takes a mutex" "read-modify-write" \
        "s/$call/\1walkLock.withLock { \$0 += 1 }\n&/" \
        '@usableFromInline internal let walkLock = Mutex(0)'
    variant check_walk "$walk" "allocates" "ArrayBuffer|swift_allocObject" \
        "s/$call/\1unsafe copyAddress(observer)\n&/" \
        "@inlinable @inline(__always) internal func copyAddress$array"
    variant check_walk "$walk" "confuses when to fence" fullFence \
        's/if !AsymmetricBarrier\.needsFences/if AsymmetricBarrier.needsFences/'
    variant check_part "$cell" "lends a copy" lentCopy \
        's/^( *return try )unsafe ValueBox<Value>\.value\(at: words\.first\)\.pointee\.lend\(to: body\)$/\1body(lentCopy(unsafe ValueBox<Value>.value(at: words.first).pointee.value))/' \
        '@inlinable @inline(never) internal func lentCopy<Value>(_ value: Value) -> Value { value }'
    variant check_property "$announcing" "counts a reference for a change" "${changes}swift_retain" \
        "s/$forms/\1let counted = unsafe Unmanaged<Observer>.fromOpaque(UnsafeRawPointer(bitPattern: closure.observer)!).retain()\n&\n\1unsafe counted.release()/"
    variant check_property "$property" "reads under a mutex" "${reads}read-modify-write" \
        "s/$get/\1 readLock.withLock { \$0 += 1 }; return cell.copy() }/" \
        'import Synchronization
@usableFromInline internal let readLock = Mutex(0)'
    variant check_property "$cell" "copies a pinned value twice" "copyTwice" \
        "s/$body/\1copyTwice(Encoding.copy(words))\n&/" \
        '@inlinable @inline(never) internal func copyTwice<Value>(_ value: Value) { withExtendedLifetime(value) {} }'
    variant check_property "$pointer" "lends without keeping the compiler back" "after the pin is cleared" \
        's/^ *compilerBarrier\(\)$//'
    reject
}

# --- The check ------------------------------------------------------------------------------------

verdict=0
make_client "$work/client" ConcurrentObserve "$checkout"
# In the checkout's own folder, whose release build has the library in the same way.
client="$(build_client "$work/client" --scratch-path "$checkout/.build")"
check_walk "$client" || verdict=1
check_property "$client" || verdict=1

[ "${1:-}" = --no-variants ] || check_variants

if [ "$verdict" -eq 0 ]; then echo "check-hot-path: holds"; else echo "check-hot-path: FAILED" >&2; fi
exit "$verdict"
