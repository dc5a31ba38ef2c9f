#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Breaks the mirror of etcd on purpose, one line at a time, and expects the named tests to fail. The sources are restored.
#
#   Scripts/etcd-mutants.sh [PATTERN]    after Scripts/traits.sh --only Etcd, whose build it uses; only mutants whose name has the pattern
#
# Exit codes: 0 every mutant was found, 1 one was not.
set -euo pipefail
cd "$(dirname "$0")/.."
export CONCURRENT_OBSERVE_TESTS=etcd
readonly folder=Sources/ConcurrentObserveEtcd options=(--scratch-path .build-etcd --traits Etcd)

work=$(mktemp -d)
cp -r "$folder" "$work/kept"
restore() { cp -r "$work/kept/." "$folder/"; }
trap 'restore; rm -rf "$work"' EXIT

missed=0
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
    if timeout 120 swift test "${options[@]}" --skip-build --no-parallel --filter "$5" >"$work/test.log" 2>&1; then
        echo "etcd-mutants: $1: NOT FOUND by $5"
        missed=1
    else
        echo "etcd-mutants: $1: found by $(grep -cE '✘ Test .* failed after' "$work/test.log") tests of $5"
    fi
    restore
}

mutant "the watch begins with the position itself" Etcd/WatchMachine.swift \
    'var startRevision: Int64 { position + 1 }' 'var startRevision: Int64 { position }' 'resumes'
mutant "the watch begins one revision too late" Etcd/WatchMachine.swift \
    'var startRevision: Int64 { position + 1 }' 'var startRevision: Int64 { position + 2 }' 'resumes'
mutant "a fragment is applied as a whole message" Etcd/WatchMachine.swift \
    'if message.isFragment {' 'if false {' 'fragments'
mutant "a fragment is ignored" Etcd/WatchMachine.swift \
    'fragments += message.events' 'if !message.isFragment { fragments += message.events }' 'fragments'
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
    '        publish(items, revision: revision, isFromList: false)
        position.value = revision' \
    '        position.value = revision
        publish(items, revision: revision, isFromList: false)' 'transactions'
mutant "half of a revision is published" Mirror/MirrorStore.swift \
    'publish(items, revision: revision, isFromList: false)' \
    'publish(Array(items.prefix(1)), revision: revision, isFromList: false)' 'transactions'
mutant "a change does not compare" Etcd/EtcdMirror+Writing.swift \
    'request.compare = [unchanged]' 'request.compare = []' 'conflicts'
mutant "a malformed value deletes the last good one" Mirror/MirrorStore.swift \
    '        } catch {
            contents.errors' '        } catch {
            contents.entries[item.key] = nil
            contents.errors' 'malformed'
mutant "there is no probe" Mirror/EngineMirror+Watching.swift \
    'try await session.probe()' '' 'stops|hangs'
mutant "there is no pause between sessions" Mirror/EngineMirror+Running.swift \
    'try? await Task.sleep(for: pause)' '_ = pause' 'unreachable'
mutant "pings reach the HTTP/2 handler" Etcd/EtcdConnection.swift \
    'config.channelDebuggingCallbacks.onCreateTCPConnection = PingHandler.add' '' 'transactions'
mutant "a change at the position counts" Mirror/EngineMirror+Watching.swift \
    'guard revision > position else' 'guard revision > 0 else' 'EngineTests'
mutant "progress moves the position back" Mirror/EngineMirror+Watching.swift \
    'guard revision > store.position.value else { return }' '' 'EngineTests/progress'
mutant "nothing asks for progress after the watch has begun" Etcd/EtcdSession.swift \
    'try await Task.sleep(for: configuration.probeInterval)
                try await writer.write(.progress)' 'try await Task.sleep(for: configuration.probeInterval)' 'progressRequests'
mutant "a token is not renewed" Etcd/EtcdConnection.swift \
    'where error.isOfToken && configuration.credentials != nil' 'where false && error.isOfToken' 'tokens'
mutant "a refused certificate is taken for an absent server" Etcd/EtcdConnection+Errors.swift \
    'case .unavailable where error.isOfCertificate: .untrusted' '' 'ertificates'
exit "$missed"
