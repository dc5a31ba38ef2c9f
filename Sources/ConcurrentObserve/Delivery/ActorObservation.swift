// SPDX-License-Identifier: Apache-2.0

/// Events are delivered on an actor, one at a time: many to a hop. The actor is not retained. (P11)
@usableFromInline
internal final class ActorObservation<Target: Actor, Event: Sendable>: OrderedObservation<Event>, @unchecked Sendable {
    // Unchecked: no state of its own but constants.
    @usableFromInline weak let target: Target?
    /// Delivers a hop's events. A closure made where the types are known, so that it is compiled for them.
    @usableFromInline let deliver: @Sendable (ActorObservation, isolated Target) -> Bool

    @inlinable
    init(_ target: Target, _ buffering: Buffering) {
        self.target = target
        deliver = { observation, target in
            observation.run(atMost: eventsPerHop) { observer, event in
                IsolatedCallback<Target, Event>.call(at: observer, on: target, with: event)
            }
        }
        if mutant(.anActorIsRetained) {
            Task.detached {
                try? await Task.sleep(for: .seconds(3600))
                withExtendedLifetime(target) {}
            }
        }
        super.init(buffering)
    }

    @usableFromInline
    override var holdsOwner: Bool { true }

    @usableFromInline
    override func begin() {
        // Detached: the changing task's priority and local values are not the observer's.
        Task.detached { [self] in
            inject("mailbox.hop")
            // The next hop begins when this one has let go of the actor: an actor that never gets on top of its mailbox may die, too. (P11)
            if await !hop() { begin() }
        }
    }

    private func hop() async -> Bool {
        guard let target else {
            if !mutant(.anActorsDeathGoesUnnoticed) { ownerIsGone() }
            return true
        }
        if mutant(.aHopDoesNotReachItsActor) { return withoutIsolation(deliver)(self, target) }
        return await run(on: target)
    }

    private func run(on target: isolated Target) -> Bool { deliver(self, target) }
}

/// Events are delivered on the actor to which a closure belongs: the one that it is isolated to, or
/// else the one whose code has passed it.
@usableFromInline
internal final class IsolationObservation<Event: Sendable>: OrderedObservation<Event>, @unchecked Sendable {
    // Unchecked: no state of its own but constants.
    /// The actor that the closure is isolated to, which it has captured.
    @usableFromInline let isolation: (any Actor)?
    /// Otherwise the actor that has passed the closure. It is not retained. (P11)
    @usableFromInline weak let context: (any Actor)?
    @usableFromInline let deliver: Delivering

    @inlinable
    init(_ isolation: (any Actor)?, context: (any Actor)?, _ buffering: Buffering) {
        self.isolation = isolation
        self.context = context
        deliver = Self.delivering
        super.init(buffering)
    }

    @usableFromInline
    override var holdsOwner: Bool { true }

    @usableFromInline
    override func begin() {
        Task.detached { [self] in
            // The actor is free, and not retained, between two hops.
            if await !hop() { begin() }
        }
    }

    private func hop() async -> Bool {
        guard let actor = isolation ?? context else {
            ownerIsGone()
            return true
        }
        if isolation == nil, mutant(.aMethodReferenceLeavesItsActor) { return deliver(self, eventsPerHop) }
        return await run(on: actor)
    }

    private func run(on isolation: isolated any Actor) -> Bool { deliver(self, eventsPerHop) }
}

extension IsolationObservation {
    /// An observation by `body`, which is complete but for its source, and its owner if it has one.
    ///
    /// A closure that does not mention its actor, and a method reference, arrive without isolation. The
    /// compiler accepts a method reference only in the code of its actor: that is `context`.
    @inlinable
    static func observing(
        _ body: @escaping @isolated(any) @Sendable (Event) -> Void,
        in context: (any Actor)?,
        _ buffering: Buffering
    ) -> (observation: IsolationObservation, owner: WeakReference?) {
        observing(isolation: (body.isolation, context), buffering, withoutIsolation(body))
    }

    /// An observation by a closure whose isolation was taken from it.
    @usableFromInline
    static func observing(
        isolation: (of: (any Actor)?, context: (any Actor)?),
        _ buffering: Buffering,
        _ body: @escaping @Sendable (Event) -> Void
    ) -> (observation: IsolationObservation, owner: WeakReference?) {
        let (isolation, context) = (isolation.of, isolation.of == nil ? isolation.context : nil)
        if isolation == nil {
            guard let context else { trapWithoutIsolation() }
            context.preconditionIsolated(
                "ConcurrentObserve: observe(buffering:) was given another actor than the caller's."
            )
        }
        let observation = IsolationObservation(
            isolation,
            context: context,
            buffering
        )
        let owner = context.map { WeakReference($0) }
        observation.makeUser(owner: owner).setCallback(Callback(body))
        return (observation, owner)
    }
}

@usableFromInline
internal func trapWithoutIsolation() -> Never {
    fatalError(
        """
        ConcurrentObserve: observe(buffering:) was given a closure that is isolated to no actor. Write it where the \
        actor's own code is, name the actor, as in { @MainActor change in … }, or use observe(on:), delivery: .serial() \
        or .queue(_:).
        """
    )
}
