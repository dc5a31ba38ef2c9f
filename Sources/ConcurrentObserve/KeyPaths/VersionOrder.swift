// SPDX-License-Identifier: Apache-2.0

/// Puts the changes of a path into the order of their versions.
///
/// The changes of one last property come in order. The `.pathChanged` between them and the changes
/// of the next last property may come late, from another thread. Every version comes exactly once.
/// Therefore a change that comes early waits for the changes before it, and no change waits
/// forever. (P2)
internal final class VersionOrder<Value: Sendable>: @unchecked Sendable {
    // Unchecked: everything mutable is guarded by the lock.
    /// Guards `next` and `early`. A mailbox's lock is taken inside it.
    private let lock = SourceLock()
    private var next: UInt64
    /// The changes that came too early, by the version at which they are due.
    private var early: [UInt64: [Change<Value>]] = [:]
    private let enqueue: @Sendable (Change<Value>) -> Void

    /// Makes an order that has received no change yet.
    ///
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
        // Outside the lock: a mailbox may have dropped some of these changes, and then these are
        // the last references to their values. `enqueued` is empty when the caller holds the last
        // property's lock: that property's changes come in order, and early changes wait only for a
        // replacement. (P5)
        if !enqueued.isEmpty { ThreadRecord.withUserCode { enqueued = [] } }
    }

    /// Enqueues a change, or keeps it until those before it have come. A prior delivery comes after
    /// the change with the same version, and before the next one.
    ///
    /// - Parameter enqueued: Receives the early changes that were enqueued now.
    private func putLocked(_ change: Change<Value>, _ enqueued: inout [Change<Value>]) {
        let due = change.reason == .prior ? change.version + 1 : change.version
        guard due <= next else { return early[due, default: []].append(change) }
        enqueue(change)
        var isPassed = change.reason != .prior
        while isPassed {
            next += 1
            isPassed = false
            let changes = early.removeValue(forKey: next) ?? []
            for change in changes where change.reason == .prior { enqueue(change) }
            for change in changes where change.reason != .prior {
                enqueue(change)
                isPassed = true
            }
            enqueued += changes
        }
    }
}
