// SPDX-License-Identifier: Apache-2.0

extension ObserverRegistry where Event: Sendable {
    /// Calls `body` with every event whose notification begins after this call returned, as `delivery` says, in the order of arrival. (P1)
    ///
    /// - Returns: The token that keeps the observation going.
    @inlinable
    public func observe(
        delivery: Delivery,
        _ body: @escaping @Sendable (Event) -> Void
    ) -> ObservationToken {
        guard !delivery.isInline else { return observe(body) }
        return observe(delivery) { _ in Callback(body) }
    }

    /// The same, with a closure that also receives its observation, to end it from within.
    @inlinable
    public func observe(
        delivery: Delivery,
        _ body: @escaping @Sendable (Event, ObservationHandle) -> Void
    ) -> ObservationToken {
        guard !delivery.isInline else { return observe(body) }
        return observe(delivery) { observer in
            let handle = ObservationHandle(observer)
            return Callback { event in body(event, handle) }
        }
    }

    /// The same for as long as `owner` lives, too; `body` receives it. (P13)
    @inlinable
    public func observe<Owner: AnyObject & Sendable>(
        owner: Owner,
        delivery: Delivery,
        _ body: @escaping @Sendable (Owner, Event) -> Void
    ) -> ObservationToken {
        guard !delivery.isInline else { return observe(owner: owner, body) }
        let reference = WeakReference(owner)
        return observe(delivery, owner: reference) { observer in .bound(to: reference, of: observer, body) }
    }

    /// Calls `body` on `target`, isolated to it, with every event: one at a time, in the order of arrival. See `Observed`.
    @inlinable
    public func observe<Target: Actor>(
        on target: Target,
        buffering: Buffering = .unbounded,
        _ body: @escaping @Sendable (isolated Target, Event) -> Void
    ) -> ObservationToken {
        let owner = WeakReference(target)
        let observation = ActorObservation<Target, Event>(target, buffering)
        observation.makeUser(owner: owner).setCallback(IsolatedCallback(body: body))
        return start(observation, owner: owner)
    }

    /// The same for a closure that says itself where it is isolated to, as in `{ @MainActor event in … }`.
    @inlinable
    public func observe(
        buffering: Buffering,
        _ body: @escaping @isolated(any) @Sendable (Event) -> Void
    ) -> ObservationToken {
        let observation = IsolationObservation<Event>(body.isolation, buffering)
        observation.makeUser(owner: nil).setCallback(Callback(withoutIsolation(body)))
        return start(observation)
    }

    @inlinable
    internal func observe(
        _ delivery: Delivery,
        owner: WeakReference? = nil,
        _ callback: (Observer) -> Callback<Event>
    ) -> ObservationToken {
        let observation = delivery.makeObservation(of: Event.self)!
        let user = observation.makeUser(owner: owner)
        user.setCallback(callback(user))
        return start(observation, owner: owner)
    }

    @inlinable
    internal func start(_ observation: OrderedObservation<Event>, owner: WeakReference? = nil) -> ObservationToken {
        let poster = observers.makeObserver(owner: owner)
        poster.setCallback(
            Callback<Event> { event in
                observation.post(event)
                observation.attend()
            }
        )
        let token = observation.join(poster)
        poster.register()
        observation.hasJoined()
        return token
    }
}
