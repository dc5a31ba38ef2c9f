// SPDX-License-Identifier: Apache-2.0

/// Where an iterator has its elements from that a mailbox keeps in another form.
@usableFromInline
internal class Relay<Element: Sendable>: @unchecked Sendable {
    // Unchecked: subclasses have constants only.
    fileprivate init() {}

    /// The next element, as soon as there is one; nil at the end, and once the calling task is
    /// cancelled.
    @usableFromInline
    func next(isolation: isolated (any Actor)?) async -> Element? { preconditionFailure("a relay has a subscription") }

    /// Ends the subscription at once.
    @usableFromInline
    func cancel() { preconditionFailure("a relay has a subscription") }

    @usableFromInline
    var counts: DeliveryCounts { preconditionFailure("a relay has a subscription") }

    /// What a flush waits for.
    var mailbox: any FlushableMailbox { preconditionFailure("a relay has a subscription") }
}

/// The elements that are made of the events of a subscription when they are returned.
internal final class SubscriptionRelay<Event: Sendable, Element: Sendable>: Relay<Element>, @unchecked Sendable {
    // Unchecked: constants only.
    private let subscription: Subscription<Event>
    private let element: @Sendable (Event) -> Element

    init(_ subscription: Subscription<Event>, _ element: @escaping @Sendable (Event) -> Element) {
        (self.subscription, self.element) = (subscription, element)
        super.init()
    }

    override func next(isolation: isolated (any Actor)?) async -> Element? {
        await subscription.next(isolation: isolation).map(element)
    }

    override func cancel() { subscription.cancel() }

    override var counts: DeliveryCounts { subscription.counts }

    override var mailbox: any FlushableMailbox { subscription }
}
