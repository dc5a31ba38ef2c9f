// SPDX-License-Identifier: Apache-2.0

/// An actor that calls observers one at a time, whichever threads make the changes.
///
/// Changes of one property are delivered in the order of their versions. Changes of several
/// properties are delivered in the order in which the actor runs the jobs of their observers. A
/// thread that makes a change never waits for the actor. The observations do not retain the actor.
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

/// Adds up the counts of all observations of an actor, including those that have ended.
@usableFromInline
internal final class DeliverySum: @unchecked Sendable {
    // Unchecked: everything mutable is guarded by `lock`.

    private let lock = SourceLock()
    private var live: [ObjectIdentifier: DeliveryCounter] = [:]
    /// The counters of observations that have ended, but may still have pending events.
    private var ending: [DeliveryCounter] = []
    /// The sum of the counts that will not change any more.
    private var past = DeliveryCounts(sent: 0, received: 0, dropped: 0)

    var sum: DeliveryCounts { lock.withLock { (ending + live.values).reduce(past) { $0 + $1.counts } } }

    /// Adds the observation of `user`, whose counts are in `counter`. The counts stay in the sum
    /// when the observation has ended.
    @usableFromInline
    func add(_ user: Observer, _ counter: DeliveryCounter) {
        lock.withLock { live[ObjectIdentifier(counter)] = counter }
        _ = user.whenFinished { [weak self] _ in self?.settle(counter) }
    }

    private func settle(_ counter: DeliveryCounter) {
        lock.withLock {
            guard live.removeValue(forKey: ObjectIdentifier(counter)) != nil else { return }
            ending.append(counter)
            ending.removeAll { counter in
                let counts = counter.counts
                guard counts.pending == 0 else { return false }
                past = past + counts
                return true
            }
        }
    }
}

extension DeliveryCounts {
    fileprivate static func + (left: DeliveryCounts, right: DeliveryCounts) -> DeliveryCounts {
        DeliveryCounts(
            sent: left.sent &+ right.sent,
            received: left.received &+ right.received,
            dropped: left.dropped &+ right.dropped
        )
    }
}
