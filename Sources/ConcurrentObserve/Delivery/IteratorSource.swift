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

    var mailbox: any IteratorMailbox { subscription ?? transformed!.mailbox }

    /// Ends the iteration at once.
    func cancel() {
        subscription?.cancel()
        transformed?.mailbox.cancel()
    }

    deinit {
        cancel()
    }
}

/// A subscription, whatever its events are.
internal protocol IteratorMailbox: FlushableMailbox {
    var counts: DeliveryCounts { get }
    /// Why the source sends nothing more, if it does not.
    var sourceEnd: ObservationEnd? { get }
    func finish()
    func cancel()
}

/// The elements that are made of the events of a subscription when they are returned.
@usableFromInline
internal final class TransformedSubscription<Element: Sendable>: Sendable {
    private let receive: @Sendable (isolated (any Actor)?, TimedWait<Element>?) async -> Element?
    let mailbox: any IteratorMailbox

    init<Event: Sendable>(_ subscription: Subscription<Event>, _ element: @escaping @Sendable (Event) -> Element?) {
        receive = { isolation, wait in
            while let event = await subscription.next(isolation: isolation) {
                let made = element(event)
                guard subscription.settleTaken(isLeftOut: made == nil) else { continue }
                wait?.lookAgain = { element(event) }
                return made
            }
            return nil
        }
        mailbox = subscription
    }

    /// The next element, as soon as there is one; nil at the end, and once the calling task is cancelled.
    @usableFromInline
    func next(isolation: isolated (any Actor)?) async -> Element? { await receive(isolation, nil) }

    /// - Parameter wait: Learns how the element is made again.
    func next(isolation: isolated (any Actor)?, _ wait: TimedWait<Element>?) async -> Element? {
        await receive(isolation, wait)
    }
}
