// SPDX-License-Identifier: Apache-2.0

/// An actor that calls observers one at a time, whichever threads make the changes.
///
/// Changes of one property are delivered in the order of their versions. Changes of several
/// properties are delivered in the order in which their observers' jobs come. A thread that makes a
/// change never waits for the actor. The observations do not retain the actor.
///
/// ```swift
/// let actor = ObservationActor(buffering: .latest)
/// let token = car.name.observe(delivery: .actor(actor)) { change in
///     print(change.new)
/// }
/// ```
public actor ObservationActor {
    /// Says which changes are kept for an observer that is too slow.
    public nonisolated let buffering: Buffering
    internal nonisolated let counts = DeliverySum()

    /// Makes an actor whose observers have mailboxes with this policy.
    ///
    /// - Parameter buffering: Which changes are kept for an observer that is too slow.
    public init(buffering: Buffering = .unbounded) {
        buffering.check()
        self.buffering = buffering
    }

    /// The sum of the counts of all this actor's observers, including those that have ended. (P1)
    public nonisolated var deliveryCounts: DeliveryCounts { counts.sum }
}
