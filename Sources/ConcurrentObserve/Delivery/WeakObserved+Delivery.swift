// SPDX-License-Identifier: Apache-2.0

/// A mailbox keeps references that keep nothing alive: what `body` is told is looked up when it is called. (P11)
extension WeakObserved {
    /// Calls `body` with every change that begins after this call returned, the referent's death included, as `delivery` says.
    /// See `observe(options:_:)` and `Observed.observe(options:delivery:_:)`.
    ///
    /// - Returns: The token that keeps the observation going.
    public func observe(
        options: ObservationOptions = [],
        delivery: Delivery,
        _ body: @escaping @Sendable (Change<Referent?>) -> Void
    ) -> ObservationToken {
        storage.observe(options: options, delivery: delivery) { (change: Change<WeakBox<Referent>>) in
            body(change.map(\.referent))
        }
    }

    /// The same, with a closure that also receives its observation, to end it from within.
    public func observe(
        options: ObservationOptions = [],
        delivery: Delivery,
        _ body: @escaping @Sendable (Change<Referent?>, ObservationHandle) -> Void
    ) -> ObservationToken {
        storage.observe(options: options, delivery: delivery) { change, observation in
            body(change.map(\.referent), observation)
        }
    }

    /// The same for as long as `owner` lives, too; `body` receives it. (P13)
    public func observe<Owner: AnyObject & Sendable>(
        owner: Owner,
        options: ObservationOptions = [],
        delivery: Delivery,
        _ body: @escaping @Sendable (Owner, Change<Referent?>) -> Void
    ) -> ObservationToken {
        storage.observe(owner: owner, options: options, delivery: delivery) { owner, change in
            body(owner, change.map(\.referent))
        }
    }

    /// Calls `body` on `target`, isolated to it, with every change, one at a time and in order. See `Observed`.
    public func observe<Target: Actor>(
        on target: Target,
        options: ObservationOptions = [],
        buffering: Buffering = .unbounded,
        _ body: @escaping @Sendable (isolated Target, Change<Referent?>) -> Void
    ) -> ObservationToken {
        storage.observe(on: target, options: options, buffering: buffering) { target, change in
            body(target, change.map(\.referent))
        }
    }

    /// The changes as an asynchronous sequence, in the order of the versions. See `Observed.changes(options:buffering:)`.
    public func changes(
        options: ObservationOptions = [],
        buffering: Buffering = .unbounded
    ) -> some AsyncSequence<Change<Referent?>, Never> & Sendable {
        storage.changes(options: options, buffering: buffering).map { $0.map(\.referent) }
    }

    /// The referents as an asynchronous sequence, nil when one has died. See `Observed.values(includingInitial:buffering:)`.
    public func values(
        includingInitial: Bool = false,
        buffering: Buffering = .unbounded
    ) -> some AsyncSequence<Referent?, Never> & Sendable {
        storage.values(includingInitial: includingInitial, buffering: buffering).map(\.referent)
    }
}
