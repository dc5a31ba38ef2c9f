// SPDX-License-Identifier: Apache-2.0

/// Puts the changes of a path into the order of their versions.
///
/// The changes of one last property come in order. The replacement between them and those of the
/// next last property may come late, from another thread. Every version comes exactly once. So a
/// change that is early waits for those before it, and none waits for ever. (P2)
internal final class VersionOrder<Value: Sendable>: @unchecked Sendable {
    // Unchecked: everything mutable is guarded by the lock.
    /// Guards what is mutable. Locks of mailboxes are taken inside it.
    private let lock = SourceLock()
    private var next: UInt64
    private var early: [UInt64: Change<Value>] = [:]
    /// Prior deliveries that are early, by version. Each comes after the change with the same
    /// version.
    private var earlyAhead: [UInt64: [Change<Value>]] = [:]
    private let enqueue: @Sendable (Change<Value>) -> Void

    /// - Parameters:
    ///   - options: With `.initial`, the initial delivery comes first, at version 0. (P4)
    ///   - enqueue: Takes the changes in order. Called under `lock`: runs no user code.
    init(_ options: ObserverOptions, _ enqueue: @escaping @Sendable (Change<Value>) -> Void) {
        next = options.contains(.initial) ? 0 : 1
        self.enqueue = enqueue
    }

    @Sendable
    func put(_ change: Change<Value>) {
        var enqueued: [Change<Value>] = []
        lock.withLock { putLocked(change, &enqueued) }
        // Outside the lock: a mailbox may have dropped some, and then these are the last references
        // to their values. No change is here when the caller holds the last property's lock: that
        // property's changes come in order, and early changes wait only for a replacement. (P5)
        if !enqueued.isEmpty { ThreadRecord.withUserCode { enqueued = [] } }
    }

    /// Enqueues a change, or keeps it until those before it have come.
    ///
    /// - Parameter enqueued: Receives the early changes that were enqueued now.
    private func putLocked(_ change: Change<Value>, _ enqueued: inout [Change<Value>]) {
        if change.reason == .prior {
            guard change.version < next else {
                earlyAhead[change.version, default: []].append(change)
                return
            }
            return enqueue(change)
        }
        guard change.version == next else {
            early[change.version] = change
            return
        }
        enqueue(change)
        next = change.version + 1
        enqueueAheadLocked(&enqueued)
        while let change = early.removeValue(forKey: next) {
            enqueue(change)
            enqueued.append(change)
            next += 1
            enqueueAheadLocked(&enqueued)
        }
    }

    /// Enqueues the early prior deliveries that come after the version that was enqueued last.
    private func enqueueAheadLocked(_ enqueued: inout [Change<Value>]) {
        guard !earlyAhead.isEmpty, let changes = earlyAhead.removeValue(forKey: next - 1) else { return }
        for change in changes { enqueue(change) }
        enqueued += changes
    }
}
