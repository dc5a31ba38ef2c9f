// SPDX-License-Identifier: Apache-2.0

import ConcurrentObservePlatform

/// The source of an iterator's elements: a subscription, and the observation that fills it. Both
/// end with the last copy of the iterator.
@usableFromInline
internal final class IteratorSource<Element: Sendable>: @unchecked Sendable {
    // Unchecked: written by the thread that makes the iterator, before any other thread has it.
    /// The subscription, if it keeps elements. Nil if it keeps events from which elements are made.
    @usableFromInline internal private(set) var subscription: Subscription<Kept<Element>>?
    /// Takes an event from the subscription and makes the next element. Nil if the subscription
    /// keeps elements.
    private var receive: (@Sendable (isolated (any Actor)?, TimedWait<Element>?) async -> Kept<Element>?)?
    internal private(set) var mailbox: (any IteratorMailbox)!
    internal private(set) var token: ObservationToken?

    @usableFromInline
    init() {}

    @usableFromInline
    func fill(_ subscription: Subscription<Kept<Element>>) {
        (self.subscription, mailbox) = (subscription, subscription)
    }

    /// Sets a subscription that keeps events. The iterator makes its elements from these.
    ///
    /// - Parameters:
    ///   - subscription: The subscription. It counts an event when the element is made.
    ///   - element: Makes an element when the iterator returns it; nil leaves the event out.
    func fill<Event: Sendable>(
        _ subscription: Subscription<Kept<Event>>,
        _ element: @escaping @Sendable (Event) -> Element?
    ) {
        mailbox = subscription
        let keptElement = keeping(element)
        receive = { isolation, wait in
            while let kept = await subscription.next(isolation: isolation) {
                let made = keptElement(kept)
                guard subscription.settleTaken(isLeftOut: made == nil) else { continue }
                // Without the event's context, which would outlive the change.
                wait?.lookAgain = { [event = unkept(kept)] in event.flatMap(element) }
                return made
            }
            return nil
        }
    }

    /// Stores the token of the observation, and returns this iterator source.
    ///
    /// - Parameter token: The token of the observation. Nil if the property is gone: then the
    ///   iterator has no elements.
    @usableFromInline
    func take(keeping token: ObservationToken?) -> IteratorSource {
        self.token = token
        if token == nil {
            let subscription = Subscription<Kept<Element>>(.unbounded)
            subscription.finish()
            fill(subscription)
        }
        return self
    }

    /// Returns the next element, which is made from an event, as soon as there is one; nil at the
    /// end, and once the calling task is cancelled. Call it only if `subscription` is nil.
    ///
    /// - Parameter wait: Receives a function that makes the element again.
    @usableFromInline
    func nextMade(isolation: isolated (any Actor)?, _ wait: TimedWait<Element>? = nil) async -> Element? {
        unkept(await receive!(isolation, wait))
    }

    #if Tracing
    /// Makes a source with the same events as `base`. `element` makes each of its elements from an
    /// element of `base` and the task context of that element.
    init<Base>(_ base: IteratorSource<Base>, _ element: @escaping @Sendable (Base, TaskContext?) -> Element) {
        mailbox = base.mailbox
        receive = { isolation, _ in
            let kept =
                if let subscription = base.subscription {
                    await subscription.next(isolation: isolation)
                } else {
                    await base.receive!(isolation, nil)
                }
            return kept.map { EventInContext(element($0.event, $0.context), $0.context) }
        }
    }
    #endif

    /// Ends the iteration at once.
    func cancel() { mailbox?.cancel() }

    deinit { if !Fork.isInChild { cancel() } }
}

/// A `Subscription`, without the type of its events.
internal protocol IteratorMailbox: FlushableMailbox {
    var counts: DeliveryCounts { get }
    /// The reason why the source sends nothing more; nil while it may still send an event.
    var sourceEnd: ObservationEnd? { get }
    func finish()
    func cancel()
}
