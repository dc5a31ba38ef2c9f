// SPDX-License-Identifier: Apache-2.0

extension ObserverRegistry {
    /// The events as an asynchronous sequence, in the order of arrival: those whose notification begins after an iterator was made. (P1)
    ///
    /// - Parameter buffering: What becomes of events while the iterating task is busy.
    @inlinable
    public func events(buffering: Buffering = .unbounded) -> ObservationSequence<Event> {
        buffering.check()
        return ObservationSequence { [weak self] in
            let source = IteratorSource<Event>(buffering)
            guard let self else { return source.take(keeping: nil) }
            let subscription = Subscription<Event>(buffering)
            source.fill(subscription)
            let receiver = subscription.receiver { (event: Event) in event }
            let sourceObserver = observers.makeObserver(of: .mailboxes(), holding: HeldObject(receiver))
            subscription.join(sourceObserver)
            sourceObserver.register()
            return source.take(keeping: ObservationToken(sourceObserver))
        }
    }
}
