// SPDX-License-Identifier: Apache-2.0

extension ObserverRegistry {
    /// Returns the events as an asynchronous sequence, in the order of arrival: those whose
    /// notification begins after an iterator was made. (P1)
    ///
    /// - Parameter buffering: Which events are kept while the iterating task is busy.
    @inlinable
    public func events(buffering: Buffering = .unbounded) -> ObservationSequence<Event> {
        buffering.check()
        return ObservationSequence { [weak self] in
            self?.makeIteratorSource(buffering) ?? IteratorSource<Event>(buffering).take(keeping: nil)
        }
    }

    /// Begins an iteration over the events from now on.
    @inlinable
    internal func makeIteratorSource(_ buffering: Buffering) -> IteratorSource<Event> {
        let source = IteratorSource<Event>(buffering)
        let subscription = Subscription<Event>(buffering)
        source.fill(subscription)
        let receiver = subscription.receiver { (event: Event) in event }
        let sourceObserver = observers.makeObserver(of: .mailboxes(), holding: HeldObject(receiver))
        subscription.join(sourceObserver)
        sourceObserver.register()
        return source.take(keeping: ObservationToken(sourceObserver))
    }
}
