// SPDX-License-Identifier: Apache-2.0

/// The mailboxes of one sequence's iterators. It retains none of them.
@usableFromInline
internal final class Subscriptions: @unchecked Sendable {
    // Unchecked: guarded by `lock`.
    private struct Reference { weak let mailbox: (any FlushableMailbox)? }

    private let lock = SourceLock()
    private var references: [Reference] = []
    /// The number of references at which those of iterators that are gone are removed: twice the
    /// number that was left the last time.
    private var pruningCount = 4

    @usableFromInline
    init() {}

    /// Adds the mailbox of a new iterator.
    ///
    /// - Complexity: O(1) amortised, in the iterators that exist at the same time.
    func add(_ mailbox: any FlushableMailbox) {
        // Released under no lock: any of them may be the last reference.
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
