// SPDX-License-Identifier: Apache-2.0

/// The actor on which an observer's closure is called.
@usableFromInline
internal final class DeliveryIsolation: Sendable {
    /// The actor to which the closure itself is isolated; nil if the closure is isolated to no
    /// actor.
    @usableFromInline let own: (any Actor)?
    /// The actor that the caller of `observe` named, or the actor in whose code the call is. Nil if
    /// the closure has an actor of its own, or once this actor is gone. It is not retained. (P11)
    @usableFromInline weak let named: (any Actor)?
    /// A weak reference to the named actor, which is the owner of the observation; nil if `own` is
    /// not nil.
    @usableFromInline let owner: WeakReference?
    /// Adds up the counts of all observations of the actor; nil unless the actor is an
    /// `ObservationActor`.
    @usableFromInline let counts: DeliverySum?

    /// Makes the isolation of a closure that is itself isolated to an actor.
    @usableFromInline
    init(of own: any Actor) { (self.own, named, owner, counts) = (own, nil, nil, nil) }

    @usableFromInline
    init(to named: some Actor, counts: DeliverySum? = nil) {
        (own, self.named, owner, self.counts) = (nil, named, WeakReference(named), counts)
    }

    /// The actor; nil once it is gone.
    var actor: (any Actor)? { own ?? named }
}

extension CallbackForm where Event: Sendable {
    /// Makes a form from a closure that is isolated to the actor that it receives. The form must be
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

/// A reference that does not retain its actor. The observation's job retains the actor while it
/// calls the closure that uses this reference.
@safe @usableFromInline
internal struct UnretainedActor<Target: Actor>: Sendable {
    @usableFromInline unowned(unsafe) let actor: Target

    @inlinable
    init(_ actor: Target) { unsafe self.actor = actor }

    @inlinable
    var target: Target {
        // Safe: `OrderedObservation.runJob` retains the actor while it delivers, and only it
        // calls the closure.
        unsafe actor
    }
}

extension DeliveryIsolation {
    /// Returns where to call a closure: on `own`, the actor to which the closure is isolated, or
    /// else on `context`, the actor in whose code `observeIsolated` was called. Traps if both are
    /// nil.
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

/// Returns `body` without its isolation. The result must be called on the actor of `body`.
@inlinable
internal func withoutIsolation<Event>(
    _ body: @escaping @isolated(any) @Sendable (Event) -> Void
) -> @Sendable (Event) -> Void {
    // Safe: a closure that carries its isolation differs from another closure only in what the
    // compiler demands of callers, as in the standard library's `MainActor.assumeIsolated`.
    // `OrderedObservation` calls it on its own actor only.
    unsafe unsafeBitCast(body, to: (@Sendable (Event) -> Void).self)
}
