// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import ConcurrentObserveEtcd
import PostgresMirror
import Synchronization

/// Records all contents that a mirror shows, from the first on.
final class Recorder: Sendable {
    struct Shown: Sendable, Hashable {
        let value: String
        let revision: Int64
    }

    /// Represents contents: the sum of the hashes of all keys with their values.
    struct Digest: Sendable, Equatable {
        private var sum = 0

        init(_ contents: MirrorContents<String>) {
            for (key, entry) in contents.entries {
                add(key.description, Shown(value: entry.value, revision: entry.revision))
            }
        }

        init() {}

        mutating func add(_ key: String, _ shown: Shown) { sum &+= Self.hash(key, shown) }
        mutating func remove(_ key: String, _ shown: Shown) { sum &-= Self.hash(key, shown) }

        private static func hash(_ key: String, _ shown: Shown) -> Int {
            var hasher = Hasher()
            hasher.combine(key)
            hasher.combine(shown)
            return hasher.finalize()
        }
    }

    private struct Step: Sendable {
        let revision: Int64
        let isFromList: Bool
        let digest: Digest
    }

    /// A position, with the contents that belong to it.
    private struct Bookmark: Sendable {
        let position: Int64
        let digest: Digest
    }

    private let steps = Mutex<[Step]>([])
    private let bookmarks = Mutex<[Bookmark]>([])
    private let tokens = Mutex<[ObservationToken]>([])

    init(_ mirror: EngineMirror<PostgresEngine, String>) {
        let (contents, position) = (mirror.contents, mirror.position)
        let noted = contents.observe { [weak self] change in
            let new = change.new
            let step = Step(revision: new.revision, isFromList: new.isFromList, digest: Digest(new))
            self?.steps.withLock { $0.append(step) }
        }
        let marked = position.observe { [weak self] change in
            let bookmark = Bookmark(position: change.new, digest: Digest(contents.value))
            self?.bookmarks.withLock { $0.append(bookmark) }
        }
        tokens.withLock { $0 = [noted, marked] }
    }

    /// The number of recorded changes, and the number of lists among them.
    var count: Int { steps.withLock { $0.count } }
    var lists: Int { steps.withLock { $0.count { $0.isFromList } } }

    /// The revisions that were shown without a list.
    var followed: [Int64] { steps.withLock { $0.filter { !$0.isFromList }.map(\.revision) } }

    /// Checks the six properties that etcd promises for a watch: ordered, unique, reliable, atomic,
    /// resumable, bookmarkable.
    ///
    /// - Returns: The violations, each in a sentence.
    func violations(of history: History) -> [String] {
        let steps = steps.withLock { $0 }
        var found: [String] = []
        var model = Model(history)
        var last: Int64 = 0
        if steps.first?.isFromList != true { found.append("the first contents are of no list") }
        for step in steps {
            if step.revision <= last { found.append("ordered, unique: \(step.revision) comes after \(last)") }
            last = step.revision
            let count = model.advance(to: step.revision)
            if !step.isFromList, count != 1 {
                found.append("reliable, resumable: before \(step.revision), \(count - 1) are missing")
            }
            if step.digest != model.digest { found.append("atomic: the contents of \(step.revision) are others") }
        }
        if !model.isAtEnd { found.append("reliable: the last revisions are missing") }
        model = Model(history)
        last = 0
        for bookmark in bookmarks.withLock({ $0 }) {
            if bookmark.position < last { found.append("bookmarkable: \(bookmark.position) comes after \(last)") }
            last = bookmark.position
            _ = model.advance(to: bookmark.position)
            if bookmark.digest != model.digest {
                found.append("bookmarkable: at \(bookmark.position) the contents are others")
            }
        }
        return found
    }
}

/// The keys in the history, at one revision after the other.
private struct Model {
    private let history: History
    private var revisions: ArraySlice<Int64>
    private var shown: [String: Recorder.Shown] = [:]
    private(set) var digest = Recorder.Digest()

    init(_ history: History) {
        self.history = history
        revisions = history.revisions.keys.sorted()[...]
    }

    var isAtEnd: Bool { revisions.isEmpty }

    /// Advances to a revision.
    ///
    /// - Returns: The number of revisions that it has passed.
    mutating func advance(to revision: Int64) -> Int {
        var count = 0
        while let next = revisions.first, next <= revision {
            for (key, value) in history.revisions[next]! {
                if let before = shown[key] { digest.remove(key, before) }
                shown[key] = value.map { Recorder.Shown(value: $0, revision: next) }
                if let after = shown[key] { digest.add(key, after) }
            }
            revisions = revisions.dropFirst()
            count += 1
        }
        return count
    }
}
