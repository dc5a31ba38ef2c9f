// SPDX-License-Identifier: Apache-2.0

/// Puts the changes of a path into the order of their versions.
///
/// Those of the last property come in order; between those of one and those of the next comes the replacement, which is put in by another
/// thread. Every version comes exactly once, so a version that is early waits for those before it, and none waits for ever. (P2)
internal final class VersionOrder<Value: Sendable>: @unchecked Sendable {
    // Unchecked: everything mutable is guarded by the lock.
    /// Mailboxes' locks are taken inside.
    private let lock = SourceLock()
    private var next: UInt64
    private var early: [UInt64: Change<Value>] = [:]
    /// A prior delivery carries the version before, and comes after that.
    private var earlyAhead: [UInt64: [Change<Value>]] = [:]
    private let enqueue: @Sendable (Change<Value>) -> Void

    /// - Parameters:
    ///   - options: With `.initial`, that, at version 0, comes first. (P4)
    ///   - enqueue: Takes the changes in order. Called under the lock: runs no user code.
    init(_ options: ObserverOptions, _ enqueue: @escaping @Sendable (Change<Value>) -> Void) {
        next = options.contains(.initial) ? 0 : 1
        self.enqueue = enqueue
    }

    @Sendable
    func put(_ change: Change<Value>) {
        var enqueued: [Change<Value>] = []
        lock.withLock { put(change, &enqueued) }
        // Not before: the mailbox may have left some out, and no other reference keep their values any more. None under the last property's lock, where
        // nothing comes late: what it enqueues is in order, and only a replacement is waited for. (P5)
        if !enqueued.isEmpty { ThreadRecord.withUserCode { enqueued = [] } }
    }

    /// Under the lock.
    ///
    /// - Parameter enqueued: Receives what came early, and was enqueued now.
    private func put(_ change: Change<Value>, _ enqueued: inout [Change<Value>]) {
        if change.reason == .prior {
            guard change.version < next else {
                earlyAhead[change.version, default: []].append(change)
                return
            }
            return enqueue(change)
        }
        guard isNext(change.version) else {
            early[change.version] = change
            return
        }
        enqueue(change)
        next = change.version + 1
        enqueueAhead(&enqueued)
        while let change = early.removeValue(forKey: next) {
            enqueue(change)
            enqueued.append(change)
            next += 1
            enqueueAhead(&enqueued)
        }
    }

    private func isNext(_ version: UInt64) -> Bool {
        return version == next
    }

    /// Enqueues what carries the version that was enqueued last.
    private func enqueueAhead(_ enqueued: inout [Change<Value>]) {
        guard !earlyAhead.isEmpty, let changes = earlyAhead.removeValue(forKey: next - 1) else { return }
        for change in changes { enqueue(change) }
        enqueued += changes
    }
}
