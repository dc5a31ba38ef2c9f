#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Switches on the seeded bugs of the mirror of etcd, one at a time, and expects the named tests to
# fail. The bugs are edits of a copy (Instrumented/EtcdEdits), which is built once, in the folder
# that Scripts/traits.sh --only Etcd uses.
#
#   Scripts/etcd-mutants.sh [PATTERN]    only bugs whose name has the pattern
#
# Exit codes: 0 every bug was found, and without one the same tests pass; 1 not so.
set -euo pipefail
cd "$(dirname "$0")/.."
export CONCURRENT_OBSERVE_TESTS=etcd-mutants
readonly options=(--scratch-path .build-etcd --traits default,Etcd,Metrics,Logging,ServiceLifecycle)
Scripts/check.sh instrument
swift build "${options[@]}" --build-tests

log=$(mktemp)
trap 'rm -f "$log"' EXIT
missed=0
used=()
pattern=${1:-}

# mutant NAME TESTS
mutant() {
    if [[ ! $1 =~ $pattern ]]; then return; fi
    local code=0 failed
    SEEDED_BUG=$1 timeout --kill-after=10 300 swift test "${options[@]}" --skip-build --no-parallel --filter "$2" >"$log" 2>&1 || code=$?
    failed=$(grep -cE '✘ Test ".* failed after' "$log") || true
    if [ "$failed" != 0 ]; then
        echo "etcd-mutants: $1: found by $failed tests of $2"
    elif grep -q 'unexpected signal' "$log"; then
        echo "etcd-mutants: $1: found by a crash in $2"
    else
        # Tests that do not end within their time prove nothing.
        echo "etcd-mutants: $1: NOT FOUND by $2, which ended with $code"
        missed=1
    fi
    used+=("$2")
}

# Without a bug the tests that have found some must pass.
control() {
    local joined
    joined=$(printf '%s\n' "${used[@]}" | sort -u | paste -sd '|')
    if ! timeout --kill-after=10 600 swift test "${options[@]}" --skip-build --no-parallel --filter "$joined" >"$log" 2>&1; then
        grep -E '✘|↳|error:' "$log" >&2 || tail -20 "$log" >&2
        echo "etcd-mutants: the tests fail without a bug, too" >&2
        missed=1
    fi
}

mutant "the watch begins with the position itself" 'resumes'
mutant "the watch begins one revision too late" 'resumes'
mutant "a fragment is applied as a whole message" 'fragments'
mutant "a fragment is ignored" 'fragments'
mutant "half of a revision is applied with its part" 'WatchMachine'
mutant "a part waits for all that follow" 'WatchMachine'
mutant "pages may begin anew" 'samePage'
mutant "a list needs no revision" 'impossibleRevisions|endlessList'
mutant "keys may be newer than their list" 'impossibleRevisions'
mutant "any number is a revision" 'impossibleRevisions'
mutant "an event without bytes takes no memory" 'WatchMachine'
mutant "the mirror lists again without a pause" 'nonsense'
mutant "a list that is gone is read again and again" 'compactsEverything'
mutant "a compaction is ignored" '/compaction'
mutant "a watch ignores its compaction" 'ends'
mutant "lost data are ignored" 'lostData|gone'
mutant "a difference is ignored" 'lostEvents'
mutant "the header of events is taken for a bookmark" 'WatchMachine|resumes'
mutant "answers to progress requests count with every server" 'progressAnswers|fragments|resumes'
mutant "the position is set before the contents" 'transactions'
mutant "half of a revision is published" 'transactions'
mutant "a change does not compare" 'conflicts|FollowingTests/severalKeys'
mutant "a change compares only with the keys that it writes" 'FollowingTests/severalKeys'
mutant "a malformed value deletes the last good one" 'malformed'
mutant "there is no probe" 'stops|hangs'
mutant "a probe has the limit of a request" 'standsStill'
mutant "the revision that a probe finds is ignored" 'StalenessTests/stalls'
mutant "a stalled watch does not end the session" 'StalenessTests/stalls|LagMachine'
mutant "what is known counts before its observers have it" 'StalenessTests/heldUp'
mutant "the session after a stalled watch resumes" 'StalenessTests/stalls'
mutant "deletions leave the keys as they are" 'StalenessTests/loses'
mutant "a look takes revisions of other keys for the range's" 'StalenessTests/quiet'
mutant "a mirror that nothing confirms stays ready" 'StalenessTests/heldUp'
mutant "a wait for the present takes an earlier confirmation" 'StalenessTests/present'
mutant "a wait for the present does not ask" 'StalenessTests/present'
mutant "a wait for the present does not look at the keys" 'StalenessTests/present'
mutant "other data are not noticed" 'StalenessTests/otherData'
mutant "comparisons do not look beyond the position" 'StalenessTests/comparisons'
mutant "an update asks again before the change that came first has come" 'StalenessTests/updates'
mutant "messages have the usual limit of gRPC" 'LargeMessageTests'
mutant "a watch that cannot be decoded is resumed" 'LargeMessageTests/limit'
mutant "a message that is too large is one of another server" 'LargeMessageTests'
mutant "too many changes are any error" 'LargeMessageTests/transactions'
mutant "every mirror begins with the first endpoint" 'SpreadTests'
mutant "no mirror returns" 'SpreadTests/balance'
mutant "mirrors return together" 'SpreadTests/pauses'
mutant "a server of another protocol is one that is not there" 'WrongServerTests/wrong'
mutant "the empty key is a range" 'WrongServerTests/emptyKey'
mutant "a malformed value is not logged" 'ServiceTests'
mutant "a malformed value of a list is not logged" 'ServiceTests'
mutant "there is no pause between sessions" 'unreachable'
mutant "pings reach the HTTP/2 handler" 'transactions'
mutant "every ping is answered in front of what limits them" 'PingTests'
mutant "what is written allows no ping" 'PingTests'
mutant "a change at the position counts" 'EngineTests'
mutant "progress moves the position back" 'EngineTests/progress'
mutant "the signal of an engine without history is a fault" 'ListingTests/changesOften'
mutant "there is no gap between lists" 'ListingTests/gap'
mutant "other data that a list finds are not noted" 'ListingTests/otherData'
mutant "a list confirms nothing" 'ListingTests/confirms'
mutant "keys that change while they are listed end the session" 'ListingTests/disturbed'
mutant "comparisons ask for a past that is not kept" 'ListingTests/comparison'
mutant "nothing asks for progress after the watch has begun" 'progressRequests'
mutant "a page that is too large ends the session" 'pageSizes'
mutant "a token is not renewed" 'tokens'
mutant "a refused certificate is taken for an absent server" 'ertificates'
if [ ${#used[@]} -gt 0 ]; then control; fi
exit "$missed"
