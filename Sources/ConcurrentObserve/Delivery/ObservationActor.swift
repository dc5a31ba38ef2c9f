// SPDX-License-Identifier: Apache-2.0

/// Calls observers one at a time, whatever threads make the changes: the serialising actor.
///
/// Changes of one property are heard in the order of their versions, those of several in the order in which their observers' turns come. Whoever makes a
/// change never waits for the actor. The actor is not retained by its observations.
///
/// ```swift
/// let actor = ObservationActor(buffering: .latest)
/// let token = actor.observe(car.name) { change in print(change.new ?? "") }
/// ```
public actor ObservationActor {
    /// What becomes of the changes that an observer is too slow for.
    public nonisolated let buffering: Buffering
    private nonisolated let counts = Counts()

    /// Makes an actor whose observers have mailboxes of this policy.
    ///
    /// - Parameter buffering: What becomes of the changes that an observer is too slow for.
    public init(buffering: Buffering = .unbounded) {
        buffering.check()
        self.buffering = buffering
    }

    /// Calls `body` on this actor with every change of `property` that begins after this call returned. See `Observed.observe(on:options:buffering:_:)`.
    public nonisolated func observe<Value: Sendable>(
        _ property: Observed<Value>,
        options: ObservationOptions = [],
        _ body: @escaping @Sendable (Change<Value>) -> Void
    ) -> ObservationToken {
        counting(property.observe(on: self, options: options, buffering: buffering) { _, change in body(change) })
    }

    /// Calls `body` on this actor with every change of the property that `path` leads to from `root`.
    public nonisolated func observe<Root: ConcurrentObservable, Value: Sendable>(
        _ root: Root,
        _ path: PathTo<Root, Value>,
        options: ObservationOptions = [],
        _ body: @escaping @Sendable (Change<Value>) -> Void
    ) -> ObservationToken {
        counting(root.observe(path, on: self, options: options, buffering: buffering) { _, change in body(change) })
    }

    /// Calls `body` on this actor with every event of `registry`.
    public nonisolated func observe<Event: Sendable>(
        _ registry: ObserverRegistry<Event>,
        _ body: @escaping @Sendable (Event) -> Void
    ) -> ObservationToken {
        counting(registry.observe(on: self, buffering: buffering) { _, event in body(event) })
    }

    /// What has become of all events that this actor's observers were sent. (P1)
    public nonisolated var deliveryCounts: DeliveryCounts { counts.sum }

    /// Adds an observation's counts to the actor's, for good.
    private nonisolated func counting(_ token: ObservationToken) -> ObservationToken {
        guard let counter = token.observer.deliveryCounter else { return token }
        counts.begin(counter)
        token.onEnd { [weak self] _ in self?.counts.settle(counter) }
        return token
    }

    /// The counts of all observations of an actor.
    private final class Counts: @unchecked Sendable {
        // Unchecked: everything mutable is guarded by `lock`.

        /// Held by no thread while the process forks. (P18)
        private let lock = SourceLock()
        private var live: [ObjectIdentifier: DeliveryCounter] = [:]
        /// Those of observations that have ended, while some of what they were sent may still be pending.
        private var ending: [DeliveryCounter] = []
        /// The sum of those to which nothing comes any more.
        private var past = DeliveryCounts(sent: 0, received: 0, dropped: 0)

        var sum: DeliveryCounts { lock.withLock { (ending + live.values).reduce(past) { $0 + $1.counts } } }

        func begin(_ counter: DeliveryCounter) { lock.withLock { live[ObjectIdentifier(counter)] = counter } }

        func settle(_ counter: DeliveryCounter) {
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
