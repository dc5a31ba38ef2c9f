// SPDX-License-Identifier: Apache-2.0

/// The changes of a property or a path, its values, or the events of a registry, as an asynchronous sequence.
///
/// Any number of iterators, each with a buffer of its own; each hears what comes after it was made. The sequence does not retain its source;
/// when that is gone, each iterator returns what it has left, and finishes. (P11, P12) Cancelling the task that iterates, or letting go of
/// the iterator, ends its observation. (P8)
///
/// ```swift
/// for await name in car.name.values(buffering: .latest) { print(name) }
/// ```
public struct ObservationSequence<Element: Sendable>: AsyncSequence, Sendable {
    public typealias Failure = Never

    @usableFromInline let subscribe: @Sendable () -> Iterator.Lifetime
    @usableFromInline let subscriptions = Subscriptions()

    /// - Parameter subscribe: Lets a source post to a new subscription, which is finished if the source is gone.
    @inlinable
    internal init(_ subscribe: @escaping @Sendable () -> Subscription<Element>) {
        self.subscribe = { Iterator.Lifetime(subscribe()) }
    }

    /// - Parameter subscribe: The same for a source whose events a mailbox keeps in another form.
    internal init(relaying subscribe: @escaping @Sendable () -> Relay<Element>) {
        self.subscribe = { Iterator.Lifetime(relay: subscribe()) }
    }

    /// Begins to observe. What happens from now on, the iterator returns.
    public func makeAsyncIterator() -> Iterator {
        let lifetime = subscribe()
        subscriptions.add(lifetime.mailbox)
        return Iterator(lifetime)
    }

    /// Suspends until each iterator of this sequence, and of its copies, has done with every change whose
    /// setter has returned before the call.
    ///
    /// An iterator has done with an element when it is asked for the next one, or ends. Do not call it in
    /// the loop that iterates: that waits for itself.
    ///
    /// - Returns: Whether all has been done; false once the waiting task is cancelled.
    @discardableResult
    public nonisolated(nonsending) func flush() async -> Bool {
        for mailbox in subscriptions.all {
            guard await mailbox.flush() else { return false }
        }
        return true
    }

    /// Returns one event after the other. For one task at a time.
    public struct Iterator: AsyncIteratorProtocol {
        @usableFromInline let lifetime: Lifetime

        @inlinable
        init(_ lifetime: Lifetime) { self.lifetime = lifetime }

        /// The next event, as soon as there is one; nil at the end, and once the task is cancelled.
        @inlinable
        public mutating func next() async -> Element? {
            if let subscription = lifetime.subscription { return await subscription.next() }
            return await lifetime.relay!.next(isolation: nil)
        }

        /// The same, without leaving the actor on which it is called.
        @inlinable
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            if let subscription = lifetime.subscription { return await subscription.next(isolation: actor) }
            return await lifetime.relay!.next(isolation: actor)
        }

        /// What has become of the events so far. (P1)
        public var deliveryCounts: DeliveryCounts { lifetime.subscription?.counts ?? lifetime.relay!.counts }

        /// Ends the subscription with the last copy of the iterator.
        @usableFromInline
        final class Lifetime {
            /// Either this or `relay` is there.
            @usableFromInline let subscription: Subscription<Element>?
            @usableFromInline let relay: Relay<Element>?

            var mailbox: any FlushableMailbox { subscription ?? relay!.mailbox }

            @inlinable
            init(_ subscription: Subscription<Element>) { (self.subscription, relay) = (subscription, nil) }

            @usableFromInline
            init(relay: Relay<Element>) { (subscription, self.relay) = (nil, relay) }

            deinit {
                if mutant(.anIteratorLeavesItsObserver) { return }
                subscription?.cancel()
                relay?.cancel()
            }
        }
    }
}

@available(*, unavailable)
extension ObservationSequence.Iterator: Sendable {}
