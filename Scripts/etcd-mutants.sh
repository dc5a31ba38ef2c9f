#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Breaks the mirror of etcd on purpose, one line at a time, and expects the named tests to fail. The sources are restored.
#
#   Scripts/etcd-mutants.sh [PATTERN]    after Scripts/traits.sh --only Etcd, whose build it uses; only mutants whose name has the pattern
#
# Exit codes: 0 every mutant was found, and without one the same tests pass; 1 not so.
set -euo pipefail
cd "$(dirname "$0")/.."
export CONCURRENT_OBSERVE_TESTS=etcd
readonly folder=Sources/ConcurrentObserveEtcd options=(--scratch-path .build-etcd --traits Etcd)

work=$(mktemp -d)
cp -r "$folder" "$work/kept"
restore() { cp -r "$work/kept/." "$folder/"; }
trap 'restore; rm -rf "$work"' EXIT

missed=0
used=()
pattern=${1:-}
# edit FILE OLD NEW
edit() {
    python3 - "$folder/$1" "$2" "$3" <<'END'
import sys
path, old, new = sys.argv[1:]
text = open(path).read()
if text.count(old) != 1:
    sys.exit(f"etcd-mutants: {path} has {old!r} {text.count(old)} times")
open(path, "w").write(text.replace(old, new))
END
}

# mutant NAME FILE OLD NEW TESTS
mutant() {
    if [[ ! $1 =~ $pattern ]]; then
        restore
        return
    fi
    edit "$2" "$3" "$4"
    if ! swift build "${options[@]}" --build-tests >"$work/build.log" 2>&1; then
        tail -20 "$work/build.log" >&2
        echo "etcd-mutants: $1: does not build" >&2
        exit 1
    fi
    local code=0 failed
    timeout --kill-after=10 300 swift test "${options[@]}" --skip-build --no-parallel --filter "$5" >"$work/test.log" 2>&1 || code=$?
    failed=$(grep -cE '✘ Test ".* failed after' "$work/test.log") || true
    if [ "$failed" != 0 ]; then
        echo "etcd-mutants: $1: found by $failed tests of $5"
    elif grep -q 'unexpected signal' "$work/test.log"; then
        echo "etcd-mutants: $1: found by a crash in $5"
    else
        # That the tests do not end within their time shows nothing.
        echo "etcd-mutants: $1: NOT FOUND by $5, which ended with $code"
        missed=1
    fi
    used+=("$5")
    restore
}

# Without a bug the tests that have found some must pass.
control() {
    local joined
    joined=$(printf '%s\n' "${used[@]}" | sort -u | paste -sd '|')
    swift build "${options[@]}" --build-tests >"$work/build.log" 2>&1
    if ! timeout --kill-after=10 600 swift test "${options[@]}" --skip-build --no-parallel --filter "$joined" >"$work/test.log" 2>&1; then
        grep -E '✘|↳|error:' "$work/test.log" >&2 || tail -20 "$work/test.log" >&2
        echo "etcd-mutants: the tests fail without a bug, too" >&2
        missed=1
    fi
}

mutant "the watch begins with the position itself" Etcd/WatchMachine.swift \
    'var startRevision: Int64 { position + 1 }' 'var startRevision: Int64 { position }' 'resumes'
mutant "the watch begins one revision too late" Etcd/WatchMachine.swift \
    'var startRevision: Int64 { position + 1 }' 'var startRevision: Int64 { position + 2 }' 'resumes'
mutant "a fragment is applied as a whole message" Etcd/WatchMachine.swift \
    'guard message.isFragment else {' 'guard false else {' 'fragments'
mutant "a fragment is ignored" Etcd/WatchMachine.swift \
    'fragments += message.events' 'if !message.isFragment { fragments += message.events }' 'fragments'
mutant "half of a revision is applied with its part" Etcd/WatchMachine.swift \
    'map { $0 + 1 } ?? 0' 'map { _ in fragments.count } ?? 0' 'WatchMachine'
mutant "a part waits for all that follow" Etcd/WatchMachine.swift \
    'lastIndex { $0.revision != last }' 'lastIndex { _ in false }' 'WatchMachine'
mutant "pages may begin anew" Etcd/EtcdSession.swift \
    'if let last, !(last < item.key) {' 'if false {' 'samePage'
mutant "a list needs no revision" Etcd/EtcdSession.swift \
    'guard page.header.revision > 0, !page.more || !page.kvs.isEmpty else {' 'guard page.header.revision != -1 else {' 'impossibleRevisions|endlessList'
mutant "keys may be newer than their list" Etcd/EtcdSession.swift \
    'guard item.revision > 0, item.revision <= page.header.revision else {' 'guard true else {' 'impossibleRevisions'
mutant "any number is a revision" Mirror/EngineMirror+Reading.swift \
    'guard revision >= 0, revision < .max else {' 'guard true else {' 'impossibleRevisions'
mutant "an event without bytes takes no memory" Etcd/WatchMachine.swift \
    '128 + key' 'key' 'WatchMachine'
mutant "the mirror lists again without a pause" Mirror/EngineMirror+Running.swift \
    'throw MirrorError.goneAgain' '_ = lastGone' 'nonsense'
mutant "a list that is gone is read again and again" Mirror/EngineMirror+Reading.swift \
    '(begin, listed) = (.now, [])' 'return try await list(session)' 'compactsEverything'
# The comparison and the watch find it, each for itself: both are broken.
edit Mirror/EngineMirror+Watching.swift 'throw ListAgain.gone
                }' 'return
                }'
mutant "a compaction is ignored" Mirror/EngineMirror+Reading.swift \
    'return .gone' 'return .equal(MirrorMoment(revision: known.position))' '/compaction'
mutant "a watch ignores its compaction" Etcd/WatchMachine.swift \
    'if message.compactRevision > 0 {' 'if false {' 'ends'
mutant "lost data are ignored" Mirror/EngineMirror+Reading.swift \
    'return .lost' 'return .equal(MirrorMoment(revision: known.position))' 'lostData|gone'
mutant "a difference is ignored" Mirror/EngineMirror+Reading.swift \
    'return isEqual ? .equal(moment) : .different' 'return .equal(moment)' 'lostEvents'
mutant "the header of events is taken for a bookmark" Etcd/WatchMachine.swift \
    'position = last' 'position = messages.isEmpty ? position : .max - 1' 'WatchMachine|resumes'
mutant "answers to progress requests count with every server" Etcd/WatchMachine.swift \
    'return trustsProgressAnswers && fragments.isEmpty' 'return fragments.isEmpty' 'progressAnswers|fragments|resumes'
mutant "the position is set before the contents" Mirror/MirrorStore.swift \
    '        let malformed = publish(items, revision: revision, isFromList: false)
        position.value = revision' \
    '        position.value = revision
        let malformed = publish(items, revision: revision, isFromList: false)' 'transactions'
mutant "half of a revision is published" Mirror/MirrorStore.swift \
    'publish(items, revision: revision, isFromList: false)' \
    'publish(Array(items.prefix(1)), revision: revision, isFromList: false)' 'transactions'
mutant "a change does not compare" Etcd/EtcdMirror+Writing.swift \
    'request.compare = [unchanged]' 'request.compare = []' 'conflicts'
mutant "a malformed value deletes the last good one" Mirror/MirrorStore.swift \
    '        } catch {
            let error' '        } catch {
            contents.entries[item.key] = nil
            let error' 'malformed'
mutant "there is no probe" Mirror/EngineMirror+Watching.swift \
    'try await session.probe()' '' 'stops|hangs'
mutant "a probe has the limit of a request" Mirror/EngineMirror+Watching.swift \
    'withLimit(configuration.probeTimeout,' 'withLimit(configuration.requestTimeout,' 'standsStill'
mutant "a malformed value is not logged" Mirror/EngineMirror+Watching.swift \
    'noteMalformed(store.apply(items, revision: revision))' '_ = store.apply(items, revision: revision)' 'ServiceTests'
mutant "a malformed value of a list is not logged" Mirror/EngineMirror+Reading.swift \
    'noteMalformed(malformed)' '_ = malformed' 'ServiceTests'
mutant "there is no pause between sessions" Mirror/EngineMirror+Running.swift \
    'try? await Task.sleep(for: pause)' '_ = pause' 'unreachable'
mutant "pings reach the HTTP/2 handler" Etcd/EtcdConnection.swift \
    'config.channelDebuggingCallbacks.onCreateTCPConnection = PingHandler.addToClient' '' 'transactions'
mutant "every ping is answered in front of what limits them" Etcd/PingHandler.swift \
    ', allowed > 0 else' ' else' 'PingTests'
mutant "the preface of a client is taken for a frame" Etcd/PingHandler.swift \
    'isServer ? 24 : 0' '0' 'PingTests'
mutant "what is written allows no ping" Etcd/PingHandler.swift \
    'allowed = min(allowed + 1 + count / Self.bytesForPing, Self.mostAllowed)' '_ = count' 'PingTests'
mutant "a change at the position counts" Mirror/EngineMirror+Watching.swift \
    'guard revision > position else' 'guard revision > 0 else' 'EngineTests'
mutant "progress moves the position back" Mirror/EngineMirror+Watching.swift \
    'guard revision > store.position.value else { return }' '' 'EngineTests/progress'
mutant "nothing asks for progress after the watch has begun" Etcd/EtcdSession.swift \
    'try await Task.sleep(for: configuration.probeInterval)
                try await writer.write(.progress)' 'try await Task.sleep(for: configuration.probeInterval)' 'progressRequests'
mutant "a page that is too large ends the session" Etcd/EtcdSession.swift \
    'request.limit /= 2' 'throw error' 'pageSizes'
mutant "a token is not renewed" Etcd/EtcdConnection.swift \
    'where error.isOfToken && configuration.credentials != nil' 'where false && error.isOfToken' 'tokens'
mutant "a refused certificate is taken for an absent server" Etcd/EtcdConnection+Errors.swift \
    'case .unavailable where error.isOfCertificate: .untrusted' '' 'ertificates'
if [ ${#used[@]} -gt 0 ]; then control; fi
exit "$missed"
