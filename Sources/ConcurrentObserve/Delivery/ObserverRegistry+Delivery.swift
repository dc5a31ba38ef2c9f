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

    /// Calls `body` on the actor to which it belongs with every event, in the order of arrival. See
    /// `Observed.observe(options:buffering:isolation:_:)`.
    ///
    /// - Parameters:
    ///   - buffering: What becomes of events while the actor is busy.
    ///   - isolation: The caller's actor. Leave it out.
    ///   - body: Called under no lock. It may do anything but wait for its own actor.
    /// - Returns: The token that keeps the observation going.
    /// - Precondition: The closure names an actor, or the caller is on one.
    @inlinable
    public func observe(
        buffering: Buffering,
        isolation: (any Actor)? = #isolation,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Event) -> Void
    ) -> ObservationToken {
        let (observation, owner) = IsolationObservation.observing(body, in: isolation, buffering)
        return start(observation, owner: owner)
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
