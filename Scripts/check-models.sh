#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Checks the models of `Models/` with Spin: what must hold is searched exhaustively and holds, every rule that is broken on purpose is
# found, by the claim that must find it, and every window is reached. Before that: models and injection points name each other.
#
# usage: Scripts/check-models.sh [--names | --self-test | [--json FILE] [PATTERN]]
#   --names       the names alone: needs no Spin
#   --self-test   shows that the check can fail
#   --json FILE   writes which model has caught which broken rule, for `stress report`
#   PATTERN       those rows alone that match the extended regular expression
# Installs Spin and gcc where they are missing.
# Exit codes: 0 everything as expected, 1 something is not, 2 wrong usage, or the check itself is broken.

set -euo pipefail

scripts="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
checkout="$(dirname "$scripts")"
models="$checkout/Models"
sources="$checkout/Sources/ConcurrentObserve"
export models

# What is run: kind | model | name | the claim that must be violated | options.
#   holds    no claim may be violated, and the search must be complete
#   mutant   the rule that the name says is broken: the name in capitals is the option that breaks it
#   window   not a rule: the search must get there
# A counterexample without a claim is known as `deadlock` or `neverEnds`.
readonly rows="
holds  | PinnedRead      | two walkers, an append, a replaced table               | | -
holds  | PinnedRead      | a thread's record is pushed meanwhile                  | | ATTACHES
holds  | PinnedRead      | nested passes, two replaced tables                     | | NESTS PASSES_1=0 GROWTHS=2
holds  | PinnedRead      | two passes of one thread, two replaced tables          | | PASSES_0=2 PASSES_1=0 GROWTHS=2
holds  | PinnedRead      | weaker than TSO                                        | | WEAK
holds  | PinnedRead      | weaker than TSO, nested passes                         | | WEAK NESTS PASSES_1=0
holds  | PinnedRead      | without membarrier                                     | | FENCED
holds  | PinnedRead      | the grace period's barrier is enough for pins          | | NO_BARRIER_BEFORE_THE_SCAN
holds  | PinnedRead      | so is the one before the scan                          | | GRACE_PERIOD_ENDS_WITHOUT_A_BARRIER
holds  | PinnedRead      | a store buffer hides a pin that is cleared too weakly  | | PIN_IS_CLEARED_RELAXED
mutant | PinnedRead      | pins are not scanned                          | tableInUse | -
mutant | PinnedRead      | pin is stored after the read section          | tableInUse | -
mutant | PinnedRead      | pin is cleared before the walk ends           | tableInUse | -
mutant | PinnedRead      | pin is cleared relaxed                        | tableInUse | WEAK
mutant | PinnedRead      | grace period does nothing                     | tableInUse | -
mutant | PinnedRead      | grace period misses one thread                | tableInUse | -
mutant | PinnedRead      | grace period ends without a barrier           | tableInUse | NO_BARRIER_BEFORE_THE_SCAN
mutant | PinnedRead      | reclaim at once                               | tableInUse | -
mutant | PinnedRead      | table is retired before it is unlinked        | tableInUse | -
mutant | PinnedRead      | batch is taken after the barrier              | tableInUse | PASSES_1=0 GROWTHS=2
mutant | PinnedRead      | records are read before the batch             | tableInUse | ATTACHES
mutant | PinnedRead      | outer frames are skipped                      | tableInUse | NESTS
mutant | PinnedRead      | inner pass clears the outer pin               | tableInUse | NESTS
mutant | PinnedRead      | append publishes the count first              | entryIsComplete | -
window | PinnedRead      | look for a held table                         | aTableIsHeld | -
holds  | CurrentObserver | cancelAndWait, two walkers                             | | -
holds  | CurrentObserver | cancelAndWait, a replaced table                        | | GROWS PASSES_1=0
holds  | CurrentObserver | cancelAndWait, a replaced table, two passes            | | GROWS PASSES_0=2 PASSES_1=0
holds  | CurrentObserver | cancel, a replaced table                               | | WAITS=0 CANCELS=1 GROWS PASSES_1=0
holds  | CurrentObserver | cancel, two passes                                     | | WAITS=0 CANCELS=1 PASSES_0=2 PASSES_1=0
holds  | CurrentObserver | cancelAndWait twice on one observer                    | | WAITS_TOO=1
holds  | CurrentObserver | nested passes                                          | | NESTS
holds  | CurrentObserver | nested passes, a replaced table                        | | NESTS GROWS PASSES_1=0
holds  | CurrentObserver | nested passes, two observers end                       | | NESTS CANCELS=2 PASSES_1=0
holds  | CurrentObserver | a callback cancels itself                              | | CANCELS_ITSELF WAITS=0
holds  | CurrentObserver | a callback cancels itself, and another thread waits    | | CANCELS_ITSELF
holds  | CurrentObserver | two callbacks cancel each other                        | | CANCEL_EACH_OTHER WAITS=0
holds  | CurrentObserver | a nested callback cancels the outer one                | | NESTS CANCELS_THE_OUTER WAITS=0
holds  | CurrentObserver | a stuck callback holds up no wait for another          | | IS_STUCK WAITS=2
holds  | CurrentObserver | the same while the table is replaced                   | | IS_STUCK WAITS=2 GROWS PASSES_1=0
holds  | CurrentObserver | a stuck callback holds up no closure of another        | | IS_STUCK WAITS=0 CANCELS=2 GROWS PASSES_1=0
holds  | CurrentObserver | weaker than TSO                                        | | WEAK
holds  | CurrentObserver | weaker than TSO, nested passes, cancel                 | | WEAK NESTS WAITS=0 CANCELS=1 PASSES_1=0
holds  | CurrentObserver | without membarrier                                     | | FENCED
holds  | CurrentObserver | without membarrier, nested passes                      | | FENCED NESTS
holds  | CurrentObserver | a store buffer hides a current that is stored too weakly | | CURRENT_IS_STORED_RELAXED
mutant | CurrentObserver | mark is tested before current is stored       | closureInUse | -
mutant | CurrentObserver | mark is not tested                            | closureInUse | -
mutant | CurrentObserver | mark is cleared after the barrier             | closureInUse | -
mutant | CurrentObserver | a replaced table keeps its word               | closureInUse | GROWS PASSES_1=0
mutant | CurrentObserver | a replaced table keeps its word               | closureInUse | WAITS=0 CANCELS=1 GROWS PASSES_1=0
mutant | CurrentObserver | no barrier before the scan                    | closureInUse | -
mutant | CurrentObserver | no barrier before the scan                    | closureInUse | WAITS=0 CANCELS=1
mutant | CurrentObserver | the light barrier is missing                  | closureInUse | FENCED
mutant | CurrentObserver | current is stored relaxed                     | closureInUse | WEAK
mutant | CurrentObserver | current is cleared before the callback        | closureInUse | -
mutant | CurrentObserver | current is not cleared                        | deadlock | WAITS=2
mutant | CurrentObserver | outer frames are skipped                      | closureInUse | NESTS
mutant | CurrentObserver | outer frames are skipped                      | closureInUse | NESTS WAITS=0 CANCELS=1
mutant | CurrentObserver | current observers are not scanned             | closureInUse | WAITS=0 CANCELS=1
mutant | CurrentObserver | reclaim at once                               | closureInUse | WAITS=0 CANCELS=1
mutant | CurrentObserver | observer is retired before it is unlinked     | closureInUse | WAITS=0 CANCELS=1
mutant | CurrentObserver | cancelAndWait does not wait                   | closureInUse | -
mutant | CurrentObserver | cancelAndWait in a callback waits             | deadlock | CANCELS_ITSELF WAITS=0
mutant | CurrentObserver | cancelAndWait in a callback waits             | deadlock | CANCEL_EACH_OTHER WAITS=0
mutant | CurrentObserver | shell is freed before its closure             | objectInUse | WAITS=0 CANCELS=1 GROWS PASSES_1=0
window | CurrentObserver | look for a callback that is waited for        | aCallbackIsWaitedFor | -
window | CurrentObserver | look for a held observer                      | anObserverIsHeld | WAITS=0 CANCELS=1
holds  | WaitEnds        | the wait ends while passes do not                      | | -
mutant | WaitEnds        | no tombstone is set                           | neverEnds | -
holds  | SourceDeath     | a property's end, cancelAndWait                        | | -
holds  | SourceDeath     | a property's end, cancelAndWait and cancel             | | CANCELS=2
holds  | SourceDeath     | a property's end, both on one observer                 | | CANCELS=1
holds  | SourceDeath     | a property's end, a table that is tidied               | | TIDIES
holds  | SourceDeath     | a registry's end, cancelAndWait                        | | ANNOUNCES=0
holds  | SourceDeath     | a registry's end, both, a table that is tidied         | | ANNOUNCES=0 CANCELS=2 TIDIES
mutant | SourceDeath     | a property's end is told twice                | endHeardOnce | -
mutant | SourceDeath     | end is told twice                             | endToldOnce | -
mutant | SourceDeath     | a property's death leaks the closures         | closuresDestroyed | -
mutant | SourceDeath     | source death leaks the closures               | closuresDestroyed | ANNOUNCES=0
mutant | SourceDeath     | token stays active after source death         | everybodyEnded | ANNOUNCES=0 WAITS=0
mutant | SourceDeath     | table outlives the source                     | sourceInUse | TIDIES
mutant | SourceDeath     | no barrier before the scan                    | closureInUse | -
holds  | WakeUp          | three threads retire                                   | | -
mutant | WakeUp          | reclaimer's wake-up is lost                   | nothingIsForgotten | -
mutant | WakeUp          | push is not sequentially consistent           | nothingIsForgotten | -
mutant | WakeUp          | parking is not sequentially consistent        | nothingIsForgotten | -
mutant | WakeUp          | stacks are not looked at before parking       | nothingIsForgotten | -
mutant | WakeUp          | the list of records is read before parking    | nothingIsForgotten | -
mutant | WakeUp          | ticket is taken after the look                | nothingIsForgotten | -
mutant | WakeUp          | futex does not compare                        | nothingIsForgotten | -
mutant | WakeUp          | sleepers are counted before the signal        | nothingIsForgotten | -
window | WakeUp          | look for sleep                                | itSleeps | -
holds  | Registration    | two bodies, a registration                             | | -
holds  | Registration    | three bodies, a registration                           | | BODIES=3
holds  | Registration    | two bodies, a cut                                      | | CUTS=1
mutant | Registration    | a body is looked at without acquire           | everyVersionIsHeard | -
mutant | Registration    | a body is looked at without acquire           | theCutIsExact | CUTS=1
mutant | Registration    | a body does not wait for registrations        | everyVersionIsHeard | -
window | Registration    | look for a registration beside a body         | besideABody | -
holds  | Turn            | three changes while the path is first wired            | | -
holds  | Turn            | the rest is handed on after one round                  | | MOST_ROUNDS=1
mutant | Turn            | a note is lost                                | noWorkLost | -
mutant | Turn            | notes are not looked at                       | noWorkLost | -
mutant | Turn            | a turn is given back in two steps             | noWorkLost | -
mutant | Turn            | racing replacements are not handed on         | noWorkLost | -
window | Turn            | look for a note                               | somebodyIsNoted | -
window | Turn            | look for an errand                            | theRestIsHandedOn | -
holds  | Mailbox         | three posters deliver, all that waits at once          | | -
holds  | Mailbox         | three posters deliver, one event waits                 | | CAPACITY=1
holds  | Mailbox         | elsewhere, all that waits at once                      | | ELSEWHERE
holds  | Mailbox         | elsewhere, one event waits                             | | ELSEWHERE CAPACITY=1
mutant | Mailbox         | isBusy is cleared outside the lock            | noEventLost | -
mutant | Mailbox         | isBusy is cleared outside the lock            | noEventLost | CAPACITY=1
mutant | Mailbox         | the mailbox is looked at without the lock     | oneDeliverer | -
mutant | Mailbox         | a mailbox's wake-up is lost                   | noEventLost | -
mutant | Mailbox         | a hand-over is lost                           | noEventLost | -
window | Mailbox         | look for an errand                            | theRestIsHandedOn | -
"

# The points of the protocol that is modelled: each is a step of some model.
readonly modelled='^(walk|append|grow|end|wait|reclaim|mailbox)\.|^path\.turn$'

# --- Names ----------------------------------------------------------------------------------------------------------

failures=0
failure() {
    echo "check-models: $1"
    failures=$((failures + 1))
}

# points_in FILE…: the injection points that they name.
points_in() { grep -hoE 'inject\("[^"]+"\)' "$@" | sed -E 's/^inject\("//; s/"\)$//' | sort -u; }

# option NAME: the option that breaks the rule of that name.
option() { tr -d "'" <<<"$1" | tr '[:lower:]' '[:upper:]' | tr -cs 'A-Z0-9\n' _; }
export -f option

# options_of_rows: the options that the rows of standard input use.
options_of_rows() {
    local kind name options each
    while IFS='|' read -r kind _ name _ options; do
        case "$kind" in mutant | window) option "$name" ;; esac
        for each in $options; do [ "$each" = - ] || echo "${each%%=*}"; done
    done | sort -u
}

# trimmed: rows without the blanks around the bars, and without empty lines.
trimmed() { sed -E 's/ *\| */|/g; s/^ +//; s/ +$//; /^$/d'; }

check_names() {
    local point file line
    mapfile -t files < <(find "$sources" -name '*.swift')
    points_in "${files[@]}" >"$work/injected"
    points_in "$models"/*.pml >"$work/named"
    while read -r point; do failure "a model names an injection point that does not exist: $point"; done < <(
        comm -13 "$work/injected" "$work/named"
    )
    while read -r point; do failure "no model names the injection point $point"; done < <(
        grep -E "$modelled" "$work/injected" | comm -23 - "$work/named"
    )

    # The table of the README: file, and point.
    grep -E '^\|.*\.swift`.*\| `[a-z]+\.[a-z]+` *\|$' "$models/README.md" >"$work/table" || true
    while read -r point; do
        grep -F "\`$point\`" "$work/table" >/dev/null || failure "Models/README.md has no step for the injection point $point"
    done <"$work/named"
    while IFS= read -r line; do
        file="$(grep -oE '[A-Za-z/+]+\.swift' <<<"$line" | sed -n 1p)"
        point="$(grep -oE '`[a-z]+\.[a-z]+` *\|$' <<<"$line" | tr -d '`| ')"
        grep -F "inject(\"$point\")" "$sources/$file" >/dev/null 2>&1 ||
            failure "Models/README.md: $file does not have the injection point $point"
    done <"$work/table"

    # What is tested in a model and never set, or set and never tested, would be a configuration that is not what it says.
    options_of_rows <"$work/rows" >"$work/set"
    grep -hE '^#(if|ifdef|ifndef|elif)' "$models"/*.pml | grep -oE '\b[A-Z][A-Z_0-9]+\b' | sort -u >"$work/tested"
    grep -hoE '^#define [A-Z_0-9]+' "$models"/*.pml | cut -d' ' -f2 | sort -u >"$work/defined"
    while read -r line; do failure "no model tests the option $line"; done < <(comm -23 "$work/set" "$work/tested")
    while read -r line; do failure "no row sets the option $line"; done < <(
        comm -13 "$work/set" "$work/tested" | comm -23 - "$work/defined"
    )
}

# --- Runs -----------------------------------------------------------------------------------------------------------

# run_row NUMBER ROW: verifies, and leaves `verdict|kind|model|name|expected|found|states|seconds` in $work/result.NUMBER.
run_row() {
    local kind model name expected options each found states=- started took verdict=ok
    IFS='|' read -r kind model name expected options <<<"$2"
    local folder="$work/run.$1" flags=() search=(-m100000 -w22)
    mkdir "$folder"
    cd "$folder"
    case "$kind" in mutant | window) flags+=("-D$(option "$name")") ;; esac
    for each in $options; do [ "$each" = - ] || flags+=("-D$each"); done
    [ -z "${DEPTH_LIMIT:-}" ] || search=("-m$DEPTH_LIMIT")
    started=$(date +%s%N)
    local optimise=-O1 compiled=(-DSAFETY -DNOFAIR)
    [ "$kind" = holds ] || optimise=-O0
    if grep '^ltl ' "$models/$model.pml" >/dev/null; then
        compiled=()
        search+=(-a -f)
    fi
    if ! spin "${flags[@]}" -a "$models/$model.pml" >spin.log 2>&1; then
        found="spin rejects it: $(sed -n 1p spin.log)"
    elif ! gcc "$optimise" -w "${compiled[@]}" -DMEMLIM=4000 -o pan pan.c >gcc.log 2>&1; then
        found="gcc rejects it"
    else
        nice timeout 300 ./pan "${search[@]}" >pan.log 2>&1 || true
        states="$(awk '/states, stored/ { print $1; exit }' pan.log)"
        if grep -E 'assertion violated' pan.log >/dev/null; then
            found="$(sed -nE 's/^pan:.*assertion violated \(*([A-Za-z]+)\|\|.*/\1/p' pan.log | sed -n 1p)"
            found="${found:-an assertion without a label}"
        elif grep '^pan:.*invalid end state' pan.log >/dev/null; then
            found=deadlock
        elif grep '^pan:.*acceptance cycle' pan.log >/dev/null; then
            found=neverEnds
        elif grep -E 'Search not completed|max search depth|hashtable.*full|out of memory' pan.log >/dev/null; then
            found="search not completed"
        elif grep 'errors: 0' pan.log >/dev/null; then
            found="0 errors"
        else
            found="no result: $(tail -n 1 pan.log)"
        fi
    fi
    took=$((($(date +%s%N) - started) / 1000000))
    [ "$kind" != holds ] || expected="0 errors"
    [ "$found" = "$expected" ] || verdict=DEVIATES
    printf '%s|%s|%s|%s|%s|%s|%s|%d.%d\n' "$verdict" "$kind" "$model" "$name" "$expected" "$found" "${states:--}" \
        $((took / 1000)) $((took % 1000 / 100)) >"$work/result.$1"
    cd /
    rm -rf "$folder"
}
export -f run_row

# run_rows FILE: all its rows, two at a time; the results are printed, and counted in `deviations`.
run_rows() {
    rm -f "$work"/result.*
    awk '{ printf "%d%c%s%c", NR, 0, $0, 0 }' "$1" | xargs -0 -n 2 -P 2 bash -c 'set -euo pipefail; run_row "$@"' run_row
    local number count
    count=$(grep -c . "$1")
    deviations=0
    printf '%-8s %-6s %-15s %-58s %-20s %-20s %9s %6s\n' "" kind model name expected found states s
    for ((number = 1; number <= count; number++)); do
        local verdict kind model name expected found states seconds
        IFS='|' read -r verdict kind model name expected found states seconds <"$work/result.$number"
        printf '%-8s %-6s %-15s %-58s %-20s %-20s %9s %6s\n' \
            "$verdict" "$kind" "$model" "$name" "$expected" "$found" "$states" "$seconds"
        [ "$verdict" = ok ] || deviations=$((deviations + 1))
    done
}

# write_json FILE: the results of the rows that were run, as `stress report` reads kills. Names have neither quotes nor backslashes.
write_json() {
    sort -t. -k2n <(printf '%s\n' "$work"/result.*) | xargs cat | awk -F'|' -v seconds="$SECONDS" '
        {
            if ($2 == "mutant") verdict = $1 == "ok" ? "killed" : "survived"
            else if ($2 == "holds") verdict = $1 == "ok" ? "clean" : "failed"
            else next
            if ($1 != "ok") exitCode = $2 == "holds" ? 2 : exitCode ? exitCode : 6
            mutant = $2 == "mutant" ? "\"mutant\": \"" $4 "\", " : ""
            catcher = verdict == "killed" ? "\"catcher\": \"" $5 "\", " : ""
            output = $1 == "ok" ? "" : "\"output\": \"" $4 ": expected " $5 ", found " $6 "\", "
            rows = rows (rows == "" ? "" : ",\n") "    {" mutant catcher output "\"engine\": \"model\", \"scenario\": \"" $3 \
                "\", \"seed\": 0, \"verdict\": \"" verdict "\", \"seconds\": " $8 "}"
        }
        END {
            printf "{\n  \"schemaVersion\": 2, \"command\": \"check-models\", \"exitCode\": %d, \"seconds\": %d,\n", exitCode, seconds
            printf "  \"kills\": [\n%s\n  ]\n}\n", rows
        }' >"$1"
}

# --- The self-test --------------------------------------------------------------------------------------------------

# deviates EXPLANATION FOUND ROW [DEPTH]: expects the row to deviate, with FOUND as what was found.
deviates() {
    trimmed <<<"$3" >"$work/one"
    DEPTH_LIMIT="${4:-}" run_rows "$work/one" >"$work/report"
    if [ "$deviations" -eq 1 ] && grep "$2" "$work/report" >/dev/null; then
        echo "found as it must be: $1"
    else
        cat "$work/report"
        echo "check-models: BROKEN: does not find $1" >&2
        broken=1
    fi
}

# misnamed EXPECTED COMMAND: expects the check of names to find EXPECTED after COMMAND in a copy of the models.
misnamed() {
    rm -rf "$work/Models"
    cp -r "$checkout/Models" "$work/Models"
    models="$work/Models"
    (cd "$work/Models" && eval "$2")
    (check_names) >"$work/report"
    models="$checkout/Models"
    if grep -E -- "$1" "$work/report" >"$work/first"; then
        echo "found as it must be: $(sed -n '1s/^check-models: //p' "$work/first")"
    else
        cat "$work/report"
        echo "check-models: BROKEN: does not find what was planted by: $2" >&2
        broken=1
    fi
}

self_test() {
    broken=0
    misnamed 'does not exist: walk.planted' 'echo "inject(\"walk.planted\")" >>Walk.pml'
    misnamed 'no model names the injection point wait.scan' 'sed -i /wait.scan/d *.pml'
    misnamed 'no step for the injection point walk.head' 'sed -i /walk.head/d README.md'
    misnamed 'Frame.swift does not have the injection point walk.pinned' \
        'sed -i -E "/walk.pinned/s/Registry.ObserverList.Walk.swift/Reclamation\/Frame.swift/" README.md'
    misnamed 'no model tests the option WEAK' 'sed -i /WEAK/d Memory.pml'
    misnamed 'no row sets the option PLANTED' 'echo "#ifdef PLANTED" >>Walk.pml'
    deviates "a broken rule where all should hold" ' nothingIsForgotten ' 'holds|WakeUp|planted||RECLAIMERS_WAKE_UP_IS_LOST'
    deviates "a rule that is not broken" '0 errors' 'mutant|WakeUp|planted|nothingIsForgotten|-'
    deviates "another claim than the one expected" ' nothingIsForgotten ' "mutant|WakeUp|reclaimer's wake-up is lost|tableInUse|-"
    deviates "a window that is not reached" '0 errors' 'window|WakeUp|look for sleep|itSleeps|RETIRERS=0 RECLAIMERS_WAKE_UP_IS_LOST'
    deviates "a search that is not complete" 'search not completed' 'holds|Turn|planted||-' 20
    deviates "a model that Spin rejects" 'spin rejects it' 'holds|Turn|planted||state=0'
    return "$broken"
}

# --------------------------------------------------------------------------------------------------------------------

install_spin() {
    command -v spin >/dev/null && command -v gcc >/dev/null && return
    local sudo=""
    [ "$(id -u)" -eq 0 ] || ! command -v sudo >/dev/null || sudo=sudo
    $sudo apt-get -qq update
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y spin gcc >/dev/null
}

work="$(mktemp -d)"
export work
trap 'rm -rf "$work"' EXIT
trimmed <<<"$rows" >"$work/rows"

json=""
if [ "${1:-}" = --json ]; then
    json="${2:?check-models: --json takes a file}"
    shift 2
    : >"$json" || exit 2
    json="$(realpath "$json")"
fi

case "${1:-}" in
--names)
    check_names
    [ "$failures" -eq 0 ] || exit 1
    echo "check-models: models and injection points name each other"
    ;;
--self-test)
    install_spin
    if self_test; then echo "check-models: every check can fail"; else exit 2; fi
    ;;
-*)
    echo "usage: $0 [--names | --self-test | [--json FILE] [PATTERN]]" >&2
    exit 2
    ;;
*)
    check_names
    install_spin
    grep -E -- "${1:-.}" "$work/rows" >"$work/chosen" || { echo "check-models: no row matches ${1:-}" >&2; exit 2; }
    started=$SECONDS
    run_rows "$work/chosen"
    [ -z "$json" ] || write_json "$json"
    echo "check-models: $(grep -c . "$work/chosen") rows, $deviations of them not as expected, $failures wrong names," \
        "in $((SECONDS - started)) s"
    [ "$deviations" -eq 0 ] && [ "$failures" -eq 0 ] || exit 1
    ;;
esac
