// SPDX-License-Identifier: Apache-2.0

extension ObservableProperty {
    /// Returns the changes of the property as an asynchronous sequence, in the order of the
    /// versions. (P1, P2, P4)
    ///
    /// With `.initial`, each iterator begins with the present value. Every later version follows,
    /// except those that `buffering` drops. When the property's source is gone, each iterator
    /// returns the changes that are left, and finishes. (P12) The source is not retained. (P11)
    ///
    /// - Parameters:
    ///   - options: The events to receive in addition to the changes.
    ///   - buffering: Which changes are kept while the iterating task is busy.
    @inlinable
    public func changes(
        options: ObservationOptions = [],
        buffering: Buffering = .unbounded
    ) -> ObservationSequence<Change<Value>> {
        sequence(options, buffering, .ofChanges(areCompared: false)) { $0 }
    }

    /// Returns the values of the property as an asynchronous sequence. An iterator returns the new
    /// value of each change that begins after the iterator was made. (P1, P2, P4)
    ///
    /// When the property's source is gone, each iterator returns the values that are left, and
    /// finishes. (P12) The source is not retained. (P11)
    ///
    /// - Parameters:
    ///   - options: With `.initial`, each iterator begins with the present value. `.prior` has no
    ///     effect.
    ///   - buffering: Which values are kept while the iterating task is busy.
    @inlinable
    public func values(
        options: ObservationOptions = [],
        buffering: Buffering = .unbounded
    ) -> ObservationSequence<Value> {
        sequence(options.intersection(.initial), buffering, nil) { $0.new }
    }

    @inlinable
    internal func sequence<Element>(
        _ options: ObservationOptions,
        _ buffering: Buffering,
        _ succession: Succession<Element>?,
        _ element: @escaping @Sendable (Change<Value>) -> Element
    ) -> ObservationSequence<Element> {
        buffering.check()
        let attach = weakAttachment
        return ObservationSequence {
            let factory = IteratorFactory<Value, Element>(buffering, succession, element)
            let token = attach(PropertyObserver(ObserverOptions(options), .mailbox(factory)))
            return factory.take(keeping: token)
        }
    }
}

/// Makes the mailbox of one iterator.
@usableFromInline
internal final class IteratorFactory<Value: Sendable, Element: Sendable>: ChangeReceiverFactory<Value>,
    @unchecked Sendable
{
    // Unchecked: constants only.
    private let buffering: Buffering
    private let source: IteratorSource<Element>
    /// Makes an element from a change; nil leaves the change out.
    private let element: @Sendable (Change<Value>) -> Element?

    /// Makes a factory whose mailbox keeps elements.
    @inlinable
    convenience init(
        _ buffering: Buffering,
        _ succession: Succession<Element>?,
        _ element: @escaping @Sendable (Change<Value>) -> Element
    ) {
        let source = IteratorSource<Element>()
        self.init(of: nil, buffering, source, element) {
            let subscription = Subscription<Kept<Element>>(buffering, succession?.kept)
            source.fill(subscription)
            return subscription.receiver(element)
        }
    }

    @usableFromInline
    init(
        of original: AttachmentClaim?,
        _ buffering: Buffering,
        _ source: IteratorSource<Element>,
        _ element: @escaping @Sendable (Change<Value>) -> Element?,
        _ make: @escaping @Sendable () -> ChangeReceiver<Value>
    ) {
        (self.buffering, self.source, self.element) = (buffering, source, element)
        super.init(of: original, mayDrop: buffering.capacity != nil, make)
    }

    /// Stores the token in the source of the iterator, and returns the source.
    ///
    /// - Parameter token: The token of the observation. Nil if the property is gone: then the
    ///   iterator has no elements.
    @usableFromInline
    func take(keeping token: ObservationToken?) -> IteratorSource<Element> {
        let isAttached = close(mayBeOpen: token == nil)
        return source.take(keeping: isAttached ? token : nil)
    }

    /// Returns a factory for an observer of another property, whose changes `transform` converts.
    /// Its mailbox keeps the changes of the other property. The iterator makes elements from them
    /// when it returns them.
    @usableFromInline
    override func pulledBack<Other: Sendable>(
        isComparing: Bool,
        _ transform: @escaping @Sendable (Change<Other>) -> Change<Value>?
    ) -> ChangeReceiverFactory<Other> {
        let made: @Sendable (Change<Other>) -> Element? = { [element] change in transform(change).flatMap(element) }
        return IteratorFactory<Other, Element>(of: claimed, buffering, source, made) { [buffering, source] in
            let succession = Succession<Change<Other>>.ofChanges(areCompared: isComparing)
            let subscription = Subscription<Kept<Change<Other>>>(buffering, succession.kept, isCountedLater: true)
            source.fill(subscription, made)
            return subscription.receiver { $0 }
        }
    }
}
