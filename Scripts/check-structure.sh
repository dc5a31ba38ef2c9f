#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Holds the structure of the sources where the compiler cannot: rooms depend downwards only, C and `unsafe` stay where they
# belong, no manifest has unsafe flags, every file names its licence, nothing generated is tracked.
#
# usage: Scripts/check-structure.sh [--self-test]
# One line per violation. Exit codes: 0 none, 1 violations, 2 wrong usage or, with --self-test, a check that cannot fail.

set -euo pipefail

scripts="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
library=Sources/ConcurrentObserve

# A room and the rooms above it, which it must not know.
readonly rooms="Instrumentation Reclamation Registry Property KeyPaths Binding Delivery"
rooms_above() {
    case "$1" in
    Instrumentation) echo Reclamation Registry Property KeyPaths Binding Delivery ;;
    Reclamation) echo Registry Property KeyPaths Binding Delivery ;;
    Registry) echo Property KeyPaths Binding Delivery ;;
    Property) echo KeyPaths Binding Delivery ;;
    # Side by side: they may use each other.
    KeyPaths | Binding | Delivery) ;;
    esac
}

# Where C may be imported, by folder.
readonly c_rooms="Reclamation"

# Where memory safety is argued by hand. A file that needs it is added here, in the change that needs it.
readonly unsafe_files="
Instrumentation/Exploration.swift
Instrumentation/Instrumentation+Stress.swift
Reclamation/CallbackAges.swift
Reclamation/Diagnostics.swift
Reclamation/EventCount.swift
Reclamation/ForbiddenSections.swift
Reclamation/Fork.swift
Reclamation/ForkGate.swift
Reclamation/FrameScan.swift
Reclamation/KnownTypes.swift
Reclamation/LibraryThread.swift
Reclamation/Lock.swift
Reclamation/PendingEvents.swift
Reclamation/ProcessorClock.swift
Reclamation/ReadSection.swift
Reclamation/Reclaimer.swift
Reclamation/Retirable.swift
Reclamation/Spares.swift
Reclamation/ThreadRecord+Passage.swift
Reclamation/ThreadRecord+Retire.swift
Reclamation/ThreadRecord.swift
Registry/Callback.swift
Registry/Flush.swift
Registry/ObservationToken.swift
Registry/Observer+Visit.swift
Registry/Observer.swift
Registry/ObserverList+Walk.swift
Registry/ObserverList.swift
Registry/ObserverTable.swift
Registry/Quarantine.swift
Registry/RegistryCore.swift
Registry/TableContents.swift
Registry/VersionedObserver.swift
Property/MutationLock.swift
Property/PropertyTypes.swift
Property/ValueBox.swift
Property/ValueCell.swift
Property/ValueEncoding.swift
Delivery/IsolatedCallback.swift
Delivery/OrderedObservation.swift
Delivery/Subscription.swift
Delivery/Waiter.swift
"

# code FILE…: the sources without comments and strings, each line as "FILE:LINE:text".
code() {
    awk '
        FNR == 1 { comment = 0; text = 0 }
        {
            line = $0
            out = ""
            while (line != "") {
                if (comment > 0) {
                    # Swift nests its comments.
                    if (match(line, /\/\*|\*\//)) {
                        comment += substr(line, RSTART, 2) == "/*" ? 1 : -1
                        line = substr(line, RSTART + 2)
                    } else line = ""
                } else if (text) {
                    if (i = index(line, "\"\"\"")) { text = 0; line = substr(line, i + 3) } else line = ""
                } else if (match(line, /\/\/|\/\*|"/)) {
                    out = out substr(line, 1, RSTART - 1)
                    found = substr(line, RSTART, 2)
                    if (found == "//") line = ""
                    else if (found == "/*") { comment = 1; line = substr(line, RSTART + 2) }
                    else if (substr(line, RSTART, 3) == "\"\"\"") { text = 1; line = substr(line, RSTART + 3) }
                    else {
                        line = substr(line, RSTART + 1)
                        if (match(line, /^([^"\\]|\\.)*"/)) line = substr(line, RLENGTH + 1)
                        else line = ""
                        out = out "\"\""
                    }
                } else { out = out line; line = "" }
            }
            print FILENAME ":" FNR ":" out
        }' "$@" </dev/null
}

swift_files() { find "$1" -name '*.swift' 2>/dev/null | sort; }

violations=0
violation() {
    echo "$1"
    violations=$((violations + 1))
}

# Every line of standard input is a violation, after a word of explanation.
each_violates() {
    local line
    while IFS= read -r line; do violation "$line: $1"; done
}

# --- The checks, each on the tree in the current directory ----------------------------------------------------------

check_rooms_are_known() {
    local folder
    for folder in "$library"/*/; do
        folder="$(basename "$folder")"
        case " $rooms ConcurrentObserve.docc " in
        *" $folder "*) ;;
        *) violation "$library/$folder: a room this check does not know: say in it what the room may use" ;;
        esac
    done
    each_violates "belongs to no room" < <(find "$library" -maxdepth 1 -name '*.swift')
}

check_c_stays_below() {
    local room file
    for room in $rooms; do
        case " $c_rooms " in *" $room "*) continue ;; esac
        while IFS= read -r file; do
            each_violates "imports C: only $c_rooms may" < <(
                code "$file" | grep -E ':[^:]*\bimport +(CURCU|CLiburcu)\b' | cut -d: -f1,2 || true
            )
        done < <(swift_files "$library/$room")
    done
}

# declared ROOM: the names of the types and the functions that the room declares at the top level.
declared() {
    local files
    mapfile -t files < <(swift_files "$library/$1")
    [ "${#files[@]}" -gt 0 ] || return 0
    # The repository's format: what stands at the top level is not indented; attributes and modifiers may stand before it.
    code "${files[@]}" | cut -d: -f3- |
        sed -nE 's/^([@a-z][A-Za-z_()]* +)*(class|struct|enum|actor|protocol|typealias|func|let|var) +([A-Za-z_][A-Za-z_0-9]*).*/\3/p' |
        grep -vxE 'func|init|subscript' | sort -u
}

check_dependencies_point_downwards() {
    local room above name files
    for room in $rooms; do
        mapfile -t files < <(swift_files "$library/$room")
        [ "${#files[@]}" -gt 0 ] || continue
        code "${files[@]}" >"$work/code"
        for above in $(rooms_above "$room"); do
            declared "$above" >"$work/names"
            # Names that the room declares itself, too: overloads.
            declared "$room" | comm -23 "$work/names" - >"$work/above"
            [ -s "$work/above" ] || continue
            awk -v room="$room" -v above="$above" '
                NR == FNR { names[$0]; next }
                {
                    text = $0
                    sub(/^[^:]*:[^:]*:/, "", text)
                    place = substr($0, 1, length($0) - length(text) - 1)
                    # A member of the same name is another thing.
                    gsub(/\.[A-Za-z_][A-Za-z_0-9]*/, "", text)
                    while (match(text, /[A-Za-z_][A-Za-z_0-9]*/)) {
                        word = substr(text, RSTART, RLENGTH)
                        text = substr(text, RSTART + RLENGTH)
                        # A label or a local name is written in lower case and followed by a colon.
                        if (word in names && !(word ~ /^[a-z]/ && text !~ /^[(<]/))
                            print place ": " word " is declared above, in " above ", which " room " must not know"
                    }
                }' "$work/above" "$work/code" >"$work/found"
            while IFS= read -r name; do violation "$name"; done <"$work/found"
        done
    done
}

check_unsafe_stays_where_it_is_argued() {
    local file
    while IFS= read -r file; do
        [[ "$unsafe_files" == *$'\n'"${file#"$library"/}"$'\n'* ]] && continue
        each_violates "'unsafe' outside the files that may use it" < <(
            code "$file" | grep -E '^[^:]*:[^:]*:.*\bunsafe\b' | cut -d: -f1,2 || true
        )
    done < <(swift_files "$library")
}

check_allowed_files_exist() {
    local file
    for file in $unsafe_files; do
        if [ ! -f "$library/$file" ]; then
            violation "$library/$file: may use 'unsafe', but does not exist"
        elif ! code "$library/$file" | grep -E '^[^:]*:[^:]*:.*\bunsafe\b' >/dev/null; then
            violation "$library/$file: may use 'unsafe', but does not"
        fi
    done
}

check_no_unsafe_flags() {
    local file
    while IFS= read -r file; do
        each_violates "unsafe flags: SwiftPM refuses them in dependencies" < <(
            code "$file" | grep -E '^[^:]*:[^:]*:.*\bunsafeFlags\b' | cut -d: -f1,2 || true
        )
    done < <(tracked 'Package*.swift' '**/Package*.swift')
}

check_licence() {
    local file line
    while IFS= read -r file; do
        [ -f "$file" ] && [ ! -L "$file" ] || continue
        line="$(sed -n 1p "$file")"
        # The shebang must come first, and so must the line with the tools version of a manifest.
        case "$line" in '#!'* | '// swift-tools-version'*) line="$(sed -n 2p "$file")" ;; esac
        case "$line" in
        '// SPDX-License-Identifier: Apache-2.0' | '# SPDX-License-Identifier: Apache-2.0') ;;
        *) violation "$file:1: does not begin with its licence, SPDX-License-Identifier: Apache-2.0" ;;
        esac
    done < <(tracked '*.swift' '*.c' '*.h' '*.sh' '*.awk' '*.py')
}

check_no_foundation() {
    local file
    while IFS= read -r file; do
        each_violates "the library does not import Foundation" < <(
            code "$file" | grep -E ':[^:]*\bimport +([a-z]+ +)?Foundation' | cut -d: -f1,2 || true
        )
    done < <(swift_files "$library")
}

# A `Mutex` of the standard library traps under contention in the child of a fork, where the runtime's numbers of threads are wrong. (P18)
check_no_mutex() {
    local folder file
    for folder in Sources/ConcurrentObserve*/; do
        case "$folder" in *Plugin/ | *Instrumented/) continue ;; esac
        while IFS= read -r file; do
            each_violates "a Mutex: it traps in the child of a fork; use Lock, SourceLock or an atomic" < <(
                code "$file" | grep -E '^[^:]*:[^:]*:.*\bMutex\b' | cut -d: -f1,2 || true
            )
        done < <(swift_files "${folder%/}")
    done
}

check_nothing_generated_is_tracked() {
    each_violates "generated, and tracked" < <(
        git ls-files | grep -E '(^|/)(Package\.resolved$|\.build/|\.swiftpm/)' || true
    )
}

# tracked PATTERN…: the files that git knows or would add.
tracked() { git ls-files --cached --others --exclude-standard -- "$@" | sort -u; }

readonly checks="
check_rooms_are_known
check_c_stays_below
check_dependencies_point_downwards
check_unsafe_stays_where_it_is_argued
check_allowed_files_exist
check_no_unsafe_flags
check_licence
check_no_foundation
check_no_mutex
check_nothing_generated_is_tracked
"

# check_tree DIRECTORY [CHECK…]: all checks, or these; the number of violations is left in `violations`.
check_tree() {
    violations=0
    local check
    cd "$1"
    shift
    [ $# -gt 0 ] || set -- $checks
    for check in "$@"; do "$check"; done
}

# --- The self-test --------------------------------------------------------------------------------------------------

# check_with COMMAND [CHECK…]: runs COMMAND in a copy of the tree, then the checks; what they find is left in $work/report.
check_with() {
    if [ -d "$work/copy" ]; then
        git -C "$work/copy" reset -q --hard
        git -C "$work/copy" clean -ffdqx
    else
        mkdir "$work/copy"
        (cd "$checkout" && tracked | tar -cf - -T -) | tar -C "$work/copy" -xf -
        git -C "$work/copy" init -q
        git -C "$work/copy" add -A
        git -C "$work/copy" -c user.name=check -c user.email=check@localhost commit -qm copy
    fi
    (cd "$work/copy" && eval "$1")
    shift
    (check_tree "$work/copy" "$@") >"$work/report"
}

# plant CHECK EXPECTED COMMAND: expects CHECK, one of those of check_tree, to find EXPECTED after COMMAND.
plant() {
    local check=check_$1
    shift
    check_with "$2" "$check"
    if grep -E -m 1 -- "$1" "$work/report" >"$work/first"; then
        echo "found as it must be: $(cat "$work/first")"
    else
        echo "check-structure: BROKEN: does not find what was planted by: $2" >&2
        cat "$work/report" >&2
        broken=1
    fi
}

# plant_nothing COMMAND: expects that COMMAND adds no violation.
plant_nothing() {
    check_with "$1"
    if grep Planted "$work/report" >&2; then
        echo "check-structure: BROKEN: finds something where there is nothing" >&2
        broken=1
    else
        echo "not found, as it must be: names in comments and strings"
    fi
}

self_test() {
    broken=0
    local reclamation="$library/Reclamation" registry="$library/Registry"
    plant rooms_are_known 'Gallery: a room this check does not know' "mkdir $library/Gallery; touch $library/Gallery/A.swift"
    plant rooms_are_known 'Stray.swift: belongs to no room' "touch $library/Stray.swift"
    plant c_stays_below 'Registry/Planted.swift:1: imports C' "echo 'internal import CURCU' >$registry/Planted.swift"
    plant dependencies_point_downwards 'Planted.swift:1: ObservationToken is declared above' \
        "echo 'let planted: ObservationToken? = nil' >$reclamation/Planted.swift"
    plant dependencies_point_downwards 'Planted.swift:1: plantedAbove is declared above' \
        "echo 'internal func plantedAbove() {}' >$registry/Planted.swift; echo 'let planted = plantedAbove()' >$reclamation/Planted.swift"
    plant dependencies_point_downwards 'Planted.swift:2: PlantedProperty is declared above, in Property' \
        "mkdir -p $library/Property; printf '@usableFromInline\npublic final class PlantedProperty {}\n' >$library/Property/P.swift; printf '// PlantedProperty\nlet planted = PlantedProperty()\n' >$registry/Planted.swift"
    plant unsafe_stays_where_it_is_argued "Planted.swift:1: 'unsafe' outside" "echo 'let planted = unsafe f()' >$registry/Planted.swift"
    plant allowed_files_exist "Lock.swift: may use 'unsafe', but does not exist" "rm $reclamation/Lock.swift"
    plant allowed_files_exist "Lock.swift: may use 'unsafe', but does not\$" "echo '// unsafe' >$reclamation/Lock.swift"
    plant no_unsafe_flags 'Package.swift:[0-9]+: unsafe flags' "echo 'let planted = [.unsafeFlags([])]' >>Package.swift"
    plant licence 'Planted.swift:1: does not begin with its licence' "echo 'let planted = 1' >$registry/Planted.swift"
    plant licence 'Planted.h:1: does not begin with its licence' "echo '#pragma once' >Sources/CURCU/Planted.h"
    plant licence 'planted.sh:1: does not begin with its licence' "printf '#!/bin/sh\ntrue\n' >planted.sh"
    plant no_foundation 'Planted.swift:1: the library does not import Foundation' \
        "echo 'public import struct Foundation.Date' >$registry/Planted.swift"
    plant no_mutex 'Planted.swift:2: a Mutex' "printf 'import Synchronization\nlet planted = Mutex(0)\n' >$registry/Planted.swift"
    plant no_mutex 'Planted.swift:1: a Mutex' "echo 'let planted = Synchronization.Mutex(0)' >Sources/ConcurrentObserveMetrics/Planted.swift"
    plant nothing_generated_is_tracked 'Package.resolved: generated, and tracked' "touch Package.resolved; git add -f Package.resolved"
    plant nothing_generated_is_tracked 'Benchmarks/.build/x: generated, and tracked' "mkdir -p Benchmarks/.build; touch Benchmarks/.build/x; git add -f Benchmarks/.build/x"

    # What must not be found: names in comments and strings.
    plant_nothing "printf '%s\n' '// SPDX-License-Identifier: Apache-2.0' '// unsafe ObservationToken, Mutex' '/* import CURCU' 'unsafe */' 'let planted = \"unsafe ObservationToken\"' 'let text = \"\"\"' 'unsafe import Foundation' '\"\"\"' >$reclamation/Planted.swift"
    return "$broken"
}

# --------------------------------------------------------------------------------------------------------------------

checkout="$(dirname "$scripts")"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

case "${1:-}" in
"")
    check_tree "$checkout"
    if [ "$violations" -eq 0 ]; then
        echo "check-structure: holds"
    else
        echo "check-structure: $violations violations"
        exit 1
    fi
    ;;
--self-test)
    if self_test; then
        echo "check-structure: every check can fail"
    else
        exit 2
    fi
    ;;
*)
    echo "usage: $0 [--self-test]" >&2
    exit 2
    ;;
esac
