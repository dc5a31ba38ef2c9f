// SPDX-License-Identifier: Apache-2.0

extension ConcurrentObservable {
    /// Calls `body` with every change of the property that `path` leads to, wherever it leads, as
    /// `delivery` says: in the order of the path's versions. See `observe(_:options:_:)` and
    /// `Observed.observe(options:delivery:_:)`. What waits for its delivery keeps no referent of a
    /// weak property at the end of the path. (P11)
    ///
    /// - Returns: The token that keeps the observation going.
    @inlinable
    public func observe<Value: Sendable>(
        _ path: PathTo<Self, Value>,
        options: ObservationOptions = [],
        delivery: Delivery,
        _ body: @escaping @Sendable (Change<Value>) -> Void
    ) -> ObservationToken {
        guard !delivery.isInline else { return observe(path, options: options, body) }
        return observe(path, options, delivery) { _ in Callback(body) }
    }

    /// The same, with a closure that also receives its observation, to end it from within.
    @inlinable
    public func observe<Value: Sendable>(
        _ path: PathTo<Self, Value>,
        options: ObservationOptions = [],
        delivery: Delivery,
        _ body: @escaping @Sendable (Change<Value>, ObservationHandle) -> Void
    ) -> ObservationToken {
        guard !delivery.isInline else { return observe(path, options: options, body) }
        return observe(path, options, delivery) { observer in
            let handle = ObservationHandle(observer)
            return Callback { change in body(change, handle) }
        }
    }

    /// The same for as long as `owner` lives, too; `body` receives it. (P13)
    @inlinable
    public func observe<Owner: AnyObject & Sendable, Value: Sendable>(
        _ path: PathTo<Self, Value>,
        owner: Owner,
        options: ObservationOptions = [],
        delivery: Delivery,
        _ body: @escaping @Sendable (Owner, Change<Value>) -> Void
    ) -> ObservationToken {
        guard !delivery.isInline else { return observe(path, owner: owner, options: options, body) }
        let reference = WeakReference(owner)
        return observe(path, options, delivery, owner: reference) { observer in
            .bound(to: reference, of: observer, body)
        }
    }

    /// Calls `body` on `target`, isolated to it, with every change of the property that `path` leads to. See `Observed`.
    @inlinable
    public func observe<Target: Actor, Value: Sendable>(
        _ path: PathTo<Self, Value>,
        on target: Target,
        options: ObservationOptions = [],
        buffering: Buffering = .unbounded,
        _ body: @escaping @Sendable (isolated Target, Change<Value>) -> Void
    ) -> ObservationToken {
        if let kept = ObservedPath<Self, Self>.root[keyPath: path].kept {
            return kept.observe(from: self, on: target, options, buffering, body)
        }
        let owner = WeakReference(target)
        let observation = ActorObservation<Target, Change<Value>>(target, buffering)
        observation.makeUser(owner: owner).setCallback(IsolatedCallback(body: body))
        return start(observation, path, options, owner: owner)
    }

    /// Calls `body` on the actor to which it belongs with every change of the property that `path` leads
    /// to. See `Observed.observe(options:buffering:isolation:_:)`.
    ///
    /// - Parameters:
    ///   - path: The steps, as in `\.engine.rpm`.
    ///   - options: What to hear.
    ///   - buffering: What becomes of changes while the actor is busy.
    ///   - isolation: The caller's actor. Leave it out.
    ///   - body: Called under no lock. It may do anything but wait for its own actor.
    /// - Returns: The token that keeps the observation going.
    /// - Precondition: The closure names an actor, or the caller is on one.
    @inlinable
    public func observe<Value: Sendable>(
        _ path: PathTo<Self, Value>,
        options: ObservationOptions = [],
        buffering: Buffering,
        isolation: (any Actor)? = #isolation,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Change<Value>) -> Void
    ) -> ObservationToken {
        if let kept = ObservedPath<Self, Self>.root[keyPath: path].kept {
            let isolation = (of: body.isolation, context: isolation)
            return kept.observe(from: self, isolation: isolation, options, buffering, withoutIsolation(body))
        }
        let (observation, owner) = IsolationObservation.observing(body, in: isolation, buffering)
        return start(observation, path, options, owner: owner)
    }

    @inlinable
    internal func observe<Value: Sendable>(
        _ path: PathTo<Self, Value>,
        _ options: ObservationOptions,
        _ delivery: Delivery,
        owner: WeakReference? = nil,
        _ callback: (Observer) -> Callback<Change<Value>>
    ) -> ObservationToken {
        if let kept = ObservedPath<Self, Self>.root[keyPath: path].kept {
            return kept.observe(from: self, options, delivery, owner: owner, callback)
        }
        let observation = delivery.makeObservation(of: Change<Value>.self)!
        let user = observation.makeUser(owner: owner)
        user.setCallback(callback(user))
        return start(observation, path, options, owner: owner)
    }

    @inlinable
    internal func start<Value: Sendable>(
        _ observation: OrderedObservation<Change<Value>>,
        _ path: PathTo<Self, Value>,
        _ options: ObservationOptions,
        owner: WeakReference? = nil
    ) -> ObservationToken {
        let steps = ObservedPath<Self, Self>.root[keyPath: path]
        if let property = steps.directProperty(of: self) {
            return property.start(observation, options, owner: owner)
        }
        return startAlong(steps, observation, options, owner: owner)
    }

    @usableFromInline
    internal func startAlong<Value: Sendable>(
        _ path: ObservedPath<Self, Value>,
        _ observation: OrderedObservation<Change<Value>>,
        _ options: ObservationOptions,
        owner: WeakReference?
    ) -> ObservationToken {
        var token: ObservationToken?
        let order = VersionOrder<Value>(options) { change in observation.post(change) }
        let posting = PathPosting(
            put: order.put,
            wake: observation.wake,
            attend: observation.attend,
            isSerial: observation.isSerial
        )
        let inner = post(path, options, owner: owner, posting) { poster in token = observation.join(poster) }
        observation.hasJoined()
        _ = token!.observer.whenFinished { _ in withExtendedLifetime(inner) {} }
        return token!
    }

    /// Observes a path of several steps for a mailbox.
    ///
    /// - Parameter prepare: Receives the path's observer before it is called.
    internal func post<Value: Sendable>(
        _ path: ObservedPath<Self, Value>,
        _ options: ObservationOptions,
        owner: WeakReference? = nil,
        _ posting: PathPosting<Value>,
        _ prepare: (Observer) -> Void
    ) -> ObservationToken {
        observe(along: path, options: options, owner: owner, posting: posting) { poster in
            prepare(poster)
            // The initial value, and what is told ahead.
            return Callback { change in
                posting.put(change)
                posting.attend()
            }
        }
    }
}
