// SPDX-License-Identifier: Apache-2.0

/// The changes of a property or a path, its values, or the events of a registry, as an asynchronous
/// sequence.
///
/// There may be any number of iterators, each with a buffer of its own. An iterator receives the
/// events that come after it was made. The sequence does not retain its source. When the source is
/// gone, each iterator returns the events that are left, and finishes. (P11, P12) Cancelling the
/// task that iterates, or releasing the iterator, ends the iterator's observation. (P8) Only one
/// task may use an iterator at a time. An iterator's `deliveryCounts` has the counts of its events.
/// (P1)
///
/// ```swift
/// for await name in car.name.values(buffering: .latest) { print(name) }
/// ```
public struct ObservationSequence<Element: Sendable>: AsyncSequence, Sendable {
    @usableFromInline let subscribe: @Sendable () -> IteratorSource<Element>
    @usableFromInline let subscriptions = Subscriptions()

    /// Makes a sequence.
    ///
    /// - Parameter subscribe: Makes the source of a new iterator. The source has no elements if the
    ///   property is gone.
    @inlinable
    internal init(_ subscribe: @escaping @Sendable () -> IteratorSource<Element>) { self.subscribe = subscribe }

    /// Makes an iterator and begins its observation. The iterator returns the events that come from
    /// now on.
    public func makeAsyncIterator() -> _Iterator {
        let source = subscribe()
        subscriptions.add(source.mailbox)
        return _Iterator(source)
    }

    /// Suspends until each iterator of this sequence, and of its copies, has finished with every
    /// change whose setter returned before the call.
    ///
    /// An iterator has finished with an element when it is asked for the next one, or when it ends.
    /// Do not call this in the loop that iterates: the loop would wait for itself.
    ///
    /// - Returns: True if all iterators have finished; false once the waiting task is cancelled.
    @discardableResult
    public nonisolated(nonsending) func flush() async -> Bool {
        for mailbox in subscriptions.all {
            guard await mailbox.flush() else { return false }
        }
        return true
    }

    // swift-format-ignore: NoLeadingUnderscores
    /// Returns one event after the other. Only one task may use it at a time.
    public struct _Iterator: AsyncIteratorProtocol {
        @usableFromInline let source: IteratorSource<Element>

        @inlinable
        init(_ source: IteratorSource<Element>) { self.source = source }

        /// Returns the next event, as soon as there is one; nil at the end, and once the task is
        /// cancelled.
        @inlinable
        public mutating func next() async -> Element? {
            await next(isolation: nil)
        }

        /// Returns the next event, without leaving the actor on which this is called; nil at the
        /// end, and once the task is cancelled.
        @inlinable
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            if let subscription = source.subscription { return unkept(await subscription.next(isolation: actor)) }
            return await source.nextMade(isolation: actor)
        }

        /// The counts of the events so far. (P1)
        public var deliveryCounts: DeliveryCounts { source.mailbox.counts }
    }
}

@available(*, unavailable)
extension ObservationSequence._Iterator: Sendable {}

/// The mailboxes of one sequence's iterators. It retains none of them.
@usableFromInline
internal final class Subscriptions: @unchecked Sendable {
    // Unchecked: guarded by `lock`.
    private struct Reference { weak let mailbox: (any FlushableMailbox)? }

    private let lock = SourceLock()
    private var references: [Reference] = []
    /// When there are this many references, those of iterators that are gone are removed. The next
    /// limit is twice the number that is left.
    private var pruningCount = 4

    @usableFromInline
    init() {}

    /// Adds the mailbox of a new iterator.
    ///
    /// - Complexity: O(1) amortised; at worst O(*n*), with *n* iterators that exist at the same
    ///   time.
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
