#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Breaks the mirror of etcd on purpose, one line at a time, and expects the named tests to fail. The sources are restored.
#
#   Scripts/etcd-mutants.sh    after Scripts/traits.sh --only Etcd, whose build it uses
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

mutant "the watch begins with the position itself" WatchMachine.swift \
    'var startRevision: Int64 { position + 1 }' 'var startRevision: Int64 { position }' 'resumes'
mutant "the watch begins one revision too late" WatchMachine.swift \
    'var startRevision: Int64 { position + 1 }' 'var startRevision: Int64 { position + 2 }' 'resumes'
mutant "a fragment is applied as a whole message" WatchMachine.swift \
    'if message.isFragment {' 'if false {' 'fragments'
mutant "a fragment is ignored" WatchMachine.swift \
    'fragments += message.events' 'if !message.isFragment { fragments += message.events }' 'fragments'
# The comparison and the watch find it, each for itself: both are broken.
edit WatchMachine.swift 'return [.compacted(message.compactRevision)]' 'return []'
mutant "a compaction is ignored" EtcdMirror+Reading.swift \
    'return .compacted' 'return .equal(Etcdserverpb_ResponseHeader())' 'compaction'
mutant "a watch ignores its compaction" WatchMachine.swift \
    'return [.compacted(message.compactRevision)]' 'return []' 'ends'
mutant "lost data are ignored" EtcdMirror+Reading.swift \
    'return .lost' 'return .equal(Etcdserverpb_ResponseHeader())' 'lostData'
mutant "a difference is ignored" EtcdMirror+Reading.swift \
    'return isEqual ? .equal(header) : .different' 'return .equal(header)' 'lostEvents'
mutant "the header of events is taken for a bookmark" WatchMachine.swift \
    'if let last = revisions.last { position = last.revision }' 'position = revisions.isEmpty ? position : .max - 1' 'Watch|resumes'
mutant "answers to progress requests count with every server" WatchMachine.swift \
    'return trustsProgressAnswers && fragments.isEmpty' 'return fragments.isEmpty' 'progressAnswers|fragments|resumes'
mutant "the position is set before the contents" MirrorStore.swift \
    '        publish(revision.events, revision: revision.revision, isFromList: false)
        position.value = revision.revision' \
    '        position.value = revision.revision
        publish(revision.events, revision: revision.revision, isFromList: false)' 'transactions'
mutant "half of a revision is published" MirrorStore.swift \
    'publish(revision.events, revision: revision.revision, isFromList: false)' \
    'publish(Array(revision.events.prefix(1)), revision: revision.revision, isFromList: false)' 'transactions'
mutant "a change does not compare" EtcdMirror+Writing.swift \
    'request.compare = [unchanged]' 'request.compare = []' 'conflicts'
mutant "a malformed value deletes the last good one" MirrorStore.swift \
    '        } catch {
            contents.errors' '        } catch {
            contents.entries[event.key] = nil
            contents.errors' 'malformed'
mutant "there is no probe" EtcdMirror+Watching.swift \
    '_ = try await connection.range(request)' '_ = request' 'stops|hangs'
mutant "there is no pause between sessions" EtcdMirror+Running.swift \
    'try? await Task.sleep(for: pause)' '_ = pause' 'unreachable'
mutant "pings reach the HTTP/2 handler" EtcdConnection.swift \
    'config.channelDebuggingCallbacks.onCreateTCPConnection = PingHandler.add' '' 'transactions'
exit "$missed"
