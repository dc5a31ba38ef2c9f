// SPDX-License-Identifier: Apache-2.0

#if Etcd
import ConcurrentObserve
@testable import ConcurrentObserveEtcd
import Foundation
import Synchronization
import Testing

/// The changes of a prefix, as `etcdctl watch` reports them: a client that shares no code with the
/// mirror.
final class History: Sendable {
    private struct Line: Decodable {
        struct Event: Decodable {
            struct Pair: Decodable {
                let key: String
                let value: String?
                let mod_revision: Int64
            }
            let type: Int?
            let kv: Pair
        }
        let Events: [Event]?
    }

    /// A key with its value, or nil for a deletion.
    typealias Changes = [String: String?]

    private let urls: [String]
    private let prefix: String
    private let children = Mutex<[Child]>([])
    private let revisions = Mutex<[Int64: Changes]>([:])
    private let newest = Observed<Int64>(0)

    init(_ urls: [String], prefix: String) throws {
        (self.urls, self.prefix) = (urls, prefix)
        try watch(from: 1)
    }

    private func watch(from revision: Int64) throws {
        let child = try Child([
            "env", "ETCDCTL_API=3", "etcdctl", "--endpoints", urls.joined(separator: ","), "watch", "--prefix", prefix,
            "--rev", "\(revision)", "-w", "json",
        ])
        children.withLock { $0.append(child) }
        Thread.detachNewThread { [weak self] in
            while let line = child.readLine(within: -1) {
                guard let line = try? JSONDecoder().decode(Line.self, from: Data(line.utf8)) else { continue }
                self?.add(line.Events ?? [])
            }
        }
    }

    private func add(_ events: [Line.Event]) {
        for event in events {
            let text = { (coded: String) in String(decoding: Data(base64Encoded: coded) ?? Data(), as: UTF8.self) }
            let value: String? = event.type == 1 ? nil : text(event.kv.value ?? "")
            revisions.withLock { $0[event.kv.mod_revision, default: [:]][text(event.kv.key)] = .some(value) }
            newest.modify { $0 = max($0, event.kv.mod_revision) }
        }
    }

    /// The last revision that etcdctl has shown.
    var last: Int64 { newest.value }

    /// All changes up to a revision that has some.
    func changes(until revision: Int64) async throws -> [Int64: Changes] {
        // etcdctl may stay with a connection that a cut has left dead: then another one watches
        // from where it stopped.
        do {
            try await eventually("etcdctl shows revision \(revision)", within: .seconds(5)) { newest.value >= revision }
        } catch {
            try watch(from: newest.value + 1)
            try await eventually("another etcdctl shows revision \(revision)", within: .seconds(30)) {
                newest.value >= revision
            }
        }
        // Its last event may be one of several.
        try await Task.sleep(for: .milliseconds(100))
        return revisions.withLock { $0 }
    }
}

/// Everything that a mirror shows, from its first contents on.
final class Recorder: Sendable {
    struct Step: Sendable {
        let revision: Int64
        let isFromList: Bool
        let digest: Digest
    }
    /// A position, with the contents that stood beside it.
    struct Bookmark: Sendable {
        let position: Int64
        let digest: Digest
    }
    /// Stands for contents: a hash of all keys with their values and revisions, so that a hundred
    /// thousand fit into memory.
    struct Digest: Sendable, Equatable {
        private var sum = 0

        init(_ values: [String: Shown] = [:]) { for (key, shown) in values { toggle(key, shown) } }

        /// Adds what is not there, and takes away what is.
        mutating func toggle(_ key: String, _ shown: Shown?) {
            guard let shown else { return }
            var hasher = Hasher()
            hasher.combine(key)
            hasher.combine(shown)
            sum ^= hasher.finalize()
        }
    }

    private final class Log: Sendable {
        let steps = Mutex<[Step]>([])
        let bookmarks = Mutex<[Bookmark]>([])
    }

    private let log: Log
    private let tokens: [ObservationToken]

    init(_ mirror: EtcdMirror<String>) {
        let (contents, position, log) = (mirror.contents, mirror.position, Log())
        self.log = log
        tokens = [
            contents.observe { change in
                let step = Step(
                    revision: change.new.revision,
                    isFromList: change.new.isFromList,
                    digest: Digest(change.new.shown)
                )
                log.steps.withLock { $0.append(step) }
            },
            position.observe { change in
                let bookmark = Bookmark(position: change.new, digest: Digest(contents.value.shown))
                log.bookmarks.withLock { $0.append(bookmark) }
            },
        ]
    }

    var recorded: [Step] { log.steps.withLock { $0 } }

    /// Checks the six properties that etcd promises of a watch, against the history.
    ///
    /// - Parameter mayList: Whether lists after the first are allowed: they cover revisions that
    ///   the mirror could not get.
    func check(_ history: [Int64: History.Changes], mayList: Bool = false) {
        let steps = recorded
        guard let first = steps.first else {
            Issue.record("nothing was recorded")
            return
        }
        #expect(first.isFromList)
        var model: [String: Shown] = [:]
        var digest = Digest()
        var revisions = history.keys.sorted()[...]
        func advance(to revision: Int64) -> Int {
            var count = 0
            while let next = revisions.first, next <= revision {
                for (key, value) in history[next]! {
                    digest.toggle(key, model[key])
                    model[key] = value.map { Shown(value: $0, revision: next) }
                    digest.toggle(key, model[key])
                }
                revisions = revisions.dropFirst()
                count += 1
            }
            return count
        }
        var last: Int64 = 0
        var wrong = 0
        for step in steps {
            // Ordered, Unique.
            if step.revision <= last { Issue.record("revision \(step.revision) comes after \(last)") }
            last = step.revision
            let count = advance(to: step.revision)
            // Reliable, Resumable: none is left out.
            if !step.isFromList, count != 1 {
                wrong += 1
                if wrong < 5 { Issue.record("before revision \(step.revision), \(count - 1) are missing") }
            }
            // Atomic: all of a revision, and nothing else.
            if step.digest != digest {
                wrong += 1
                if wrong < 5 { Issue.record("the contents of revision \(step.revision) are not etcd's") }
            }
        }
        #expect(revisions.isEmpty, "the last \(revisions.count) revisions are missing")
        if !mayList { #expect(steps.dropFirst().allSatisfy { !$0.isFromList }, "the mirror has listed again") }
        // Bookmarkable: at a position, everything up to it is there.
        (model, digest) = ([:], Digest())
        revisions = history.keys.sorted()[...]
        var lastPosition: Int64 = 0
        for bookmark in log.bookmarks.withLock({ $0 }) {
            if bookmark.position < lastPosition {
                Issue.record("the position \(bookmark.position) is below \(lastPosition)")
            }
            lastPosition = bookmark.position
            _ = advance(to: bookmark.position)
            if bookmark.digest != digest {
                wrong += 1
                if wrong < 5 { Issue.record("the position \(bookmark.position) is ahead of the contents") }
            }
        }
    }
}
#endif
