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
        if mutant("an actor is retained") {
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
            if !mutant("an actor's death goes unnoticed") { ownerIsGone() }
            return true
        }
        if mutant("a hop does not reach its actor") { return withoutIsolation(deliver)(self, target) }
        return await run(on: target)
    }

    private func run(on target: isolated Target) -> Bool { deliver(self, target) }
}

/// Events are delivered wherever a closure is isolated to: on a global actor, on an actor that it has captured, or, if to none, on any
/// thread of the concurrency runtime.
@usableFromInline
internal final class IsolationObservation<Event: Sendable>: OrderedObservation<Event>, @unchecked Sendable {
    // Unchecked: no state of its own but constants.
    @usableFromInline let isolation: (any Actor)?
    @usableFromInline let deliver: Delivering

    @inlinable
    init(_ isolation: (any Actor)?, _ buffering: Buffering) {
        self.isolation = isolation
        deliver = Self.delivering
        super.init(buffering)
    }

    @usableFromInline
    override func begin() {
        Task.detached { [self] in await run(on: isolation) }
    }

    private func run(on isolation: isolated (any Actor)?) {
        if !deliver(self, eventsPerHop) { begin() }
    }
}
