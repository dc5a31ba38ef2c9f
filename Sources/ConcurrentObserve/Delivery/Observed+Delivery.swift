// SPDX-License-Identifier: Apache-2.0

extension Observed {
    /// Calls `body` with every change that begins after this call returned, as `delivery` says. (P1, P2, P4)
    ///
    /// With `.initial`, that is what `body` hears first; `.sourceDeleted` is the last. (P12) Events that have not begun when the
    /// observation ends are dropped. (P8) What was dropped `ObservationToken.deliveryCounts` tells. Traps in the body of this property's `modify`.
    /// (P5)
    ///
    /// - Parameters:
    ///   - options: What to hear.
    ///   - delivery: Where, and how many at a time.
    ///   - body: Called under no lock.
    /// - Returns: The token that keeps the observation going.
    @inlinable
    public func observe(
        options: ObservationOptions = [],
        delivery: Delivery,
        _ body: @escaping @Sendable (Change<Value>) -> Void
    ) -> ObservationToken {
        guard !delivery.isInline else { return observe(options: options, body) }
        return observe(delivery, options) { _ in Callback(body) }
    }

    /// The same, with a closure that also receives its observation, to end it from within.
    @inlinable
    public func observe(
        options: ObservationOptions = [],
        delivery: Delivery,
        _ body: @escaping @Sendable (Change<Value>, ObservationHandle) -> Void
    ) -> ObservationToken {
        guard !delivery.isInline else { return observe(options: options, body) }
        return observe(delivery, options) { observer in
            let handle = ObservationHandle(observer)
            return Callback { change in body(change, handle) }
        }
    }

    /// The same for as long as `owner` lives, too; `body` receives it. (P13)
    @inlinable
    public func observe<Owner: AnyObject & Sendable>(
        owner: Owner,
        options: ObservationOptions = [],
        delivery: Delivery,
        _ body: @escaping @Sendable (Owner, Change<Value>) -> Void
    ) -> ObservationToken {
        guard !delivery.isInline else { return observe(owner: owner, options: options, body) }
        let reference = WeakReference(owner)
        return observe(delivery, options, owner: reference) { observer in .bound(to: reference, of: observer, body) }
    }

    /// Calls `body` on `target`, isolated to it, with every change that begins after this call returned: one at a time, in the order of the
    /// versions. (P1, P2, P4)
    ///
    /// Whoever makes a change puts it into the observer's mailbox and goes on. The actor is not retained; when it is gone, the observation ends with
    /// `.ownerDeleted`, at the next change. `.initial` is the first that `body` hears, `.sourceDeleted` the last. (P12) `token.cancel()` on
    /// the actor silences the observation at once. (P8)
    ///
    /// - Parameters:
    ///   - target: Any actor. For state that is `@MainActor`, use `observe(buffering:)` with a `@MainActor` closure.
    ///   - options: What to hear.
    ///   - buffering: What becomes of changes while the actor is busy.
    ///   - body: Called under no lock. It may do anything but wait for its own actor.
    /// - Returns: The token that keeps the observation going.
    @inlinable
    public func observe<Target: Actor>(
        on target: Target,
        options: ObservationOptions = [],
        buffering: Buffering = .unbounded,
        _ body: @escaping @Sendable (isolated Target, Change<Value>) -> Void
    ) -> ObservationToken {
        let owner = WeakReference(target)
        let observation = ActorObservation<Target, Change<Value>>(target, buffering)
        observation.makeUser(owner: owner).setCallback(IsolatedCallback(body: body))
        return start(observation, options, owner: owner)
    }

    /// Calls `body` on the actor to which it belongs with every change that begins after this call
    /// returned: one at a time, in the order of the versions. (P1, P2, P4)
    ///
    /// That is the actor which the closure names, as in `{ @MainActor change in … }`, or else the one in
    /// whose code this call is written: closures and method references of an actor, or of a
    /// `@MainActor` type, run there. The change is put into the observer's mailbox, and the caller of
    /// the setter goes on. The actor is not retained by the observation, but by a closure that mentions
    /// it; when it is gone, the observation ends with `.ownerDeleted`. (P11)
    ///
    /// - Parameters:
    ///   - options: What to hear.
    ///   - buffering: What becomes of changes while the actor is busy.
    ///   - isolation: The caller's actor. Leave it out.
    ///   - body: Called under no lock. It may do anything but wait for its own actor.
    /// - Returns: The token that keeps the observation going.
    /// - Precondition: The closure names an actor, or the caller is on one.
    @inlinable
    public func observe(
        options: ObservationOptions = [],
        buffering: Buffering,
        isolation: (any Actor)? = #isolation,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Change<Value>) -> Void
    ) -> ObservationToken {
        let (observation, owner) = IsolationObservation.observing(body, in: isolation, buffering)
        return start(observation, options, owner: owner)
    }

    /// Observes with a delivery that is not inline.
    @inlinable
    internal func observe(
        _ delivery: Delivery,
        _ options: ObservationOptions,
        owner: WeakReference? = nil,
        _ callback: (Observer) -> Callback<Change<Value>>
    ) -> ObservationToken {
        let observation = delivery.makeObservation(of: Change<Value>.self)!
        let user = observation.makeUser(owner: owner)
        user.setCallback(callback(user))
        return start(observation, options, owner: owner)
    }

    /// Lets the property post its changes to an observation, from a version on; the initial value goes ahead of them. (P4)
    @inlinable
    internal func start(
        _ observation: OrderedObservation<Change<Value>>,
        _ options: ObservationOptions,
        owner: WeakReference? = nil
    ) -> ObservationToken {
        mutation.trapInsideBody(.observe)
        let poster = makePoster(options, owner: owner, isSerial: observation.isSerial) { posting in
            switch posting {
            case .wake: observation.wake()
            case .attend: observation.attend()
            case .change(let change): observation.post(change)
            }
        }
        let token = observation.join(poster)
        publish(poster) { present in
            if options.contains(.initial) { observation.post(.initial(present)) }
        }
        observation.hasJoined()
        return token
    }

    /// An observer that posts changes to a mailbox.
    @inlinable
    internal func makePoster(
        _ options: ObservationOptions,
        owner: WeakReference? = nil,
        isSerial: Bool = false,
        _ post: @escaping @Sendable (Posting<Value>) -> Void
    ) -> VersionedObserver {
        let poster = observers.makeVersionedObserver(
            owner: owner,
            hears: options.marks | ObserverState.isOrdered
                | (isSerial ? ObserverState.isSerial : 0)
        )
        poster.setCallback(Callback(post))
        return poster
    }
}

extension Change {
    /// The initial delivery.
    @inlinable
    internal static func initial(_ present: (value: Value, version: UInt64)) -> Change {
        Change(reason: .initial, old: nil, new: present.value, version: present.version)
    }
}
