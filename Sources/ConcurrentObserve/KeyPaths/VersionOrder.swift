// SPDX-License-Identifier: Apache-2.0

/// Puts the changes of a path into the order of their versions.
///
/// Those of the last property come in order; between those of one and those of the next comes the replacement, which is put in by another
/// thread. Every version comes exactly once, so that one which is early waits for those before it, and none waits for ever. (P2)
internal final class VersionOrder<Value: Sendable>: @unchecked Sendable {
    // Unchecked: everything mutable is guarded by the lock.
    /// Mailboxes' locks are taken inside.
    private let lock = SourceLock()
    private var next: UInt64
    private var early: [UInt64: Change<Value>] = [:]
    /// What is told ahead of a change carries the version before, and comes after that.
    private var earlyAhead: [UInt64: [Change<Value>]] = [:]
    private let post: @Sendable (Change<Value>) -> Void

    /// - Parameters:
    ///   - options: With `.initial`, that, at version 0, comes first. (P4)
    ///   - post: Takes the changes in order. Called under the lock: runs no user code.
    init(_ options: ObservationOptions, _ post: @escaping @Sendable (Change<Value>) -> Void) {
        next = options.contains(.initial) ? 0 : 1
        self.post = post
    }

    @Sendable
    func put(_ change: Change<Value>) {
        var posted: [Change<Value>] = []
        lock.withLock { put(change, &posted) }
        // Not before: the mailbox may have left some out, and nobody else keep their values any more. None under the last property's lock, where
        // nothing comes late: what it posts is in order, and only a replacement is waited for. (P5)
        if !posted.isEmpty { ThreadRecord.withUserCode { posted = [] } }
    }

    /// Under the lock.
    ///
    /// - Parameter posted: Receives what came early, and was posted now.
    private func put(_ change: Change<Value>, _ posted: inout [Change<Value>]) {
        if change.reason == .prior {
            guard change.version < next else {
                earlyAhead[change.version, default: []].append(change)
                return
            }
            return post(change)
        }
        guard isNext(change.version) else {
            early[change.version] = change
            return
        }
        post(change)
        next = change.version + 1
        postAhead(&posted)
        while let change = early.removeValue(forKey: next) {
            post(change)
            posted.append(change)
            next += 1
            postAhead(&posted)
        }
    }

    private func isNext(_ version: UInt64) -> Bool {
        #if INSTRUMENTED
        if mutant(.aPathsChangesAreNotSortedByVersion) { return true }
        #endif
        return version == next
    }

    /// Posts what carries the version that was posted last.
    private func postAhead(_ posted: inout [Change<Value>]) {
        guard !earlyAhead.isEmpty, let changes = earlyAhead.removeValue(forKey: next - 1) else { return }
        for change in changes { post(change) }
        posted += changes
    }
}
