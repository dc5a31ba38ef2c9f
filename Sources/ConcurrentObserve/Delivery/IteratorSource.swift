// SPDX-License-Identifier: Apache-2.0

/// Where an iterator has its elements from: a subscription, and the observation that fills it. Ended with the iterator's last copy.
@usableFromInline
internal final class IteratorSource<Element: Sendable>: @unchecked Sendable {
    // Unchecked: written by the thread that makes the iterator, before anything else has it.
    private let buffering: Buffering
    /// The subscription, if it keeps elements.
    @usableFromInline var subscription: Subscription<Element>?
    /// Otherwise the transform of what it keeps into elements.
    @usableFromInline var transformed: TransformedSubscription<Element>?
    internal private(set) var token: ObservationToken?

    @usableFromInline
    init(_ buffering: Buffering) { self.buffering = buffering }

    @usableFromInline
    func fill(_ subscription: Subscription<Element>) { self.subscription = subscription }

    /// - Parameters:
    ///   - subscription: One that counts later.
    ///   - element: Called when the iterator returns; nil leaves an event out.
    func fill<Event: Sendable>(
        _ subscription: Subscription<Event>,
        _ element: @escaping @Sendable (Event) -> Element?
    ) {
        transformed = TransformedSubscription(subscription, element)
    }

    /// The source, complete.
    ///
    /// - Parameter token: The observation; nil if the property is gone: then the iterator has no elements.
    @usableFromInline
    func take(keeping token: ObservationToken?) -> IteratorSource {
        self.token = token
        if token == nil {
            let subscription = Subscription<Element>(buffering)
            subscription.finish()
            self.subscription = subscription
        }
        return self
    }

    var mailbox: any FlushableMailbox { subscription ?? transformed!.mailbox }

    var counts: DeliveryCounts { subscription?.counts ?? transformed!.counts }

    deinit {
        #if INSTRUMENTED
        if mutant(.anIteratorLeavesItsObserver) { return leave() }
        #endif
        subscription?.cancel()
        transformed?.cancel()
    }
}

/// The elements that are made of the events of a subscription when they are returned.
@usableFromInline
internal final class TransformedSubscription<Element: Sendable>: Sendable {
    private let receive: @Sendable (isolated (any Actor)?) async -> Element?
    private let end: @Sendable () -> Void
    private let count: @Sendable () -> DeliveryCounts
    /// What a flush waits for.
    let mailbox: any FlushableMailbox

    init<Event: Sendable>(_ subscription: Subscription<Event>, _ element: @escaping @Sendable (Event) -> Element?) {
        receive = { isolation in
            while let event = await subscription.next(isolation: isolation) {
                let element = element(event)
                if subscription.settleTaken(isLeftOut: element == nil) { return element }
            }
            return nil
        }
        end = { subscription.cancel() }
        count = { subscription.counts }
        mailbox = subscription
    }

    /// The next element, as soon as there is one; nil at the end, and once the calling task is cancelled.
    @usableFromInline
    func next(isolation: isolated (any Actor)?) async -> Element? { await receive(isolation) }

    func cancel() { end() }

    var counts: DeliveryCounts { count() }
}
