// SPDX-License-Identifier: Apache-2.0

/// The mailboxes of one sequence's iterators, none of which is retained.
@usableFromInline
internal final class Subscriptions: @unchecked Sendable {
    // Unchecked: guarded by `lock`.
    private struct Reference { weak let mailbox: (any FlushableMailbox)? }

    private let lock = SourceLock()
    private var references: [Reference] = []
    /// With so many, those of iterators that are gone are removed: twice as many as were left the last time.
    private var pruningCount = 4

    @usableFromInline
    init() {}

    /// - Complexity: O(1) amortised, in the iterators that there are at once.
    func add(_ mailbox: any FlushableMailbox) {
        // Released under no lock: one of them may be the last reference.
        var held: [(any FlushableMailbox)?] = []
        lock.withLock {
            if references.count >= pruningCount {
                held = references.map(\.mailbox)
                references = zip(references, held).filter { $1 != nil }.map(\.0)
                pruningCount = max(4, 2 * references.count)
            }
            references.append(Reference(mailbox: mailbox))
        }
        withExtendedLifetime(held) {}
    }

    var all: [any FlushableMailbox] { lock.withLock { references }.compactMap(\.mailbox) }
}
