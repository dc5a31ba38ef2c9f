// SPDX-License-Identifier: Apache-2.0

extension ObserverRegistry where Event: Sendable {
    /// The events as an asynchronous sequence, in the order of arrival: those whose notification begins after an iterator was made. (P1)
    ///
    /// - Parameter buffering: What becomes of events while the iterating task is busy.
    @inlinable
    public func events(buffering: Buffering = .unbounded) -> ObservationSequence<Event> {
        buffering.check()
        return ObservationSequence { [weak self] in
            let subscription = Subscription<Event>(buffering)
            guard let self else {
                subscription.finish()
                return subscription
            }
            let poster = observers.makeObserver()
            poster.setCallback(
                Callback<Event> { event in
                    subscription.post(event)
                    subscription.attend()
                }
            )
            subscription.join(poster)
            poster.register()
            return subscription
        }
    }
}
