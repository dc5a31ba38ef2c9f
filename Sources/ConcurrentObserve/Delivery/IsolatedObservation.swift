// SPDX-License-Identifier: Apache-2.0

/// Delivers events on an actor, one at a time, many in each job.
@usableFromInline
internal final class IsolatedObservation<Event: Sendable>: OrderedObservation<Event>, @unchecked Sendable {
    // Unchecked: it adds only constants.
    @usableFromInline let isolation: DeliveryIsolation
    @usableFromInline let deliver: Delivering

    @inlinable
    init(_ isolation: DeliveryIsolation, _ buffering: Buffering, _ succession: Succession<Event>?) {
        self.isolation = isolation
        deliver = Self.delivering
        super.init(buffering, succession)
    }

    @usableFromInline
    override func begin() {
        // Detached: the observer must not inherit the changing task's priority and task-local
        // values.
        Task.detached { [self] in
            // Between two jobs the actor is free, and not retained. So an actor that never empties
            // its mailbox may die, too. (P11)
            if await !runJob() { begin() }
        }
    }

    private func runJob() async -> Bool {
        guard let actor = isolation.actor else {
            observer?.end(.ownerDeleted)
            return true
        }
        return await run(on: actor)
    }

    private func run(on isolation: isolated any Actor) -> Bool { deliver(self, eventsPerJob) }
}

// MARK: - Closures that belong to an actor

extension CallbackForm where Event: Sendable {
    /// Makes a form from a closure that is isolated to the actor that it receives. It must be
    /// called on that actor only.
    @inlinable
    static func isolated<Target: Actor>(
        to target: Target,
        _ body: @escaping @Sendable (isolated Target, Event) -> Void
    ) -> CallbackForm {
        // Safe: a closure that is isolated to a parameter differs from another closure only in what
        // the compiler demands of callers.
        let body = unsafe unsafeBitCast(body, to: (@Sendable (Target, Event) -> Void).self)
        let reference = UnretainedActor(target)
        return .plain { event in body(reference.target, event) }
    }
}

/// An actor that the observation's job retains while this is used.
@safe @usableFromInline
internal struct UnretainedActor<Target: Actor>: Sendable {
    @usableFromInline unowned(unsafe) let actor: Target

    @inlinable
    init(_ actor: Target) { unsafe self.actor = actor }

    @inlinable
    var target: Target {
        // Safe: `IsolatedObservation.runJob()` retains the actor while it delivers, and only it
        // calls the closure.
        unsafe actor
    }
}

extension DeliveryIsolation {
    /// Returns where to call a closure: on the actor that it names, or else on the actor in whose
    /// code it was passed.
    ///
    /// A closure that does not mention its actor, and a method reference, arrive without isolation.
    /// The compiler accepts a method reference only in the code of its actor, which is `context`.
    @usableFromInline
    static func of(_ own: (any Actor)?, context: (any Actor)?) -> DeliveryIsolation {
        if let own { return DeliveryIsolation(of: own) }
        guard let context else {
            fatalError(
                """
                ConcurrentObserve: observeIsolated was given a closure that is isolated to no actor. Write it where the \
                actor's own code is, name the actor, as in { @MainActor change in … }, or use observe(on:), or \
                observe(delivery:) with .serial() or .queue(_:).
                """
            )
        }
        context.preconditionIsolated(
            "ConcurrentObserve: observeIsolated was given another actor than the caller's."
        )
        return DeliveryIsolation(to: context)
    }
}

/// Returns a closure without its isolation. It must be called on the closure's actor.
@inlinable
internal func withoutIsolation<Event>(
    _ body: @escaping @isolated(any) @Sendable (Event) -> Void
) -> @Sendable (Event) -> Void {
    // Safe: a closure that carries its isolation differs from another closure only in what the
    // compiler demands of callers, as in the standard library's `MainActor.assumeIsolated`.
    // `IsolatedObservation` calls it on its own actor only.
    unsafe unsafeBitCast(body, to: (@Sendable (Event) -> Void).self)
}
