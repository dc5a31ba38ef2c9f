// SPDX-License-Identifier: Apache-2.0

/// Calls observers one at a time, whatever threads make the changes: the serialising actor.
///
/// Changes of one property are delivered in the order of their versions, those of several in the order in which their observers' jobs
/// come. A thread that makes a change never waits for the actor. The actor is not retained by its observations.
///
/// ```swift
/// let actor = ObservationActor(buffering: .latest)
/// let token = car.name.observe(delivery: .actor(actor)) { change in
///     print(change.new)
/// }
/// ```
public actor ObservationActor {
    /// What becomes of the changes that an observer is too slow for.
    public nonisolated let buffering: Buffering
    internal nonisolated let counts = DeliverySum()

    /// Makes an actor whose observers have mailboxes of this policy.
    ///
    /// - Parameter buffering: What becomes of the changes that an observer is too slow for.
    public init(buffering: Buffering = .unbounded) {
        buffering.check()
        self.buffering = buffering
    }

    /// What has become of all events that this actor's observers were sent. (P1)
    public nonisolated var deliveryCounts: DeliveryCounts { counts.sum }
}
