// SPDX-License-Identifier: Apache-2.0

/// The source of an iterator's elements: a subscription, and the observation that fills it. Both
/// end with the last copy of the iterator.
@usableFromInline
internal final class IteratorSource<Element: Sendable>: @unchecked Sendable {
    // Unchecked: written by the thread that makes the iterator, before any other thread has it.
    private let buffering: Buffering
    /// The subscription, if it keeps elements.
    @usableFromInline var subscription: Subscription<Element>?
    /// The subscription, if it keeps events that are transformed into elements.
    @usableFromInline var transformed: TransformedSubscription<Element>?
    internal private(set) var token: ObservationToken?

    @usableFromInline
    init(_ buffering: Buffering) { self.buffering = buffering }

    @usableFromInline
    func fill(_ subscription: Subscription<Element>) { self.subscription = subscription }

    /// Sets a subscription whose events are transformed into elements.
    ///
    /// - Parameters:
    ///   - subscription: It counts an event when the transform has returned.
    ///   - element: Transforms an event when the iterator returns it; nil leaves the event out.
    func fill<Event: Sendable>(
        _ subscription: Subscription<Event>,
        _ element: @escaping @Sendable (Event) -> Element?
    ) {
        transformed = TransformedSubscription(subscription, element)
    }

    /// Completes the source, and returns it.
    ///
    /// - Parameter token: The token of the observation. Nil if the property is gone: then the
    ///   iterator has no elements.
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

    deinit { if !Fork.isInChild { cancel() } }
}

/// A subscription to events of any type.
internal protocol IteratorMailbox: FlushableMailbox {
    var counts: DeliveryCounts { get }
    /// The reason why the source sends nothing more; nil while it may.
    var sourceEnd: ObservationEnd? { get }
    func finish()
    func cancel()
}

/// A subscription whose events are transformed into elements when the iterator returns them.
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

    /// Returns the next element, as soon as there is one; nil at the end, and once the calling task
    /// is cancelled.
    @usableFromInline
    func next(isolation: isolated (any Actor)?) async -> Element? { await receive(isolation, nil) }

    /// Returns the next element, as soon as there is one; nil at the end, and once the calling task
    /// is cancelled.
    ///
    /// - Parameter wait: Receives a function that makes the element again.
    func next(isolation: isolated (any Actor)?, _ wait: TimedWait<Element>?) async -> Element? {
        await receive(isolation, wait)
    }
}
