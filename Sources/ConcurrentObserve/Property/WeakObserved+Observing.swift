// SPDX-License-Identifier: Apache-2.0

extension WeakObserved {
    /// Calls `body` with every change that begins after this call returned, the referent's death included. (P1, P4, P12)
    ///
    /// As `Observed.observe(options:_:)`, with these particulars. `body` is told the referents themselves and holds them while
    /// it runs. When the referent has died, it is told `.valueChanged` with nil as the new value and nil as the old one, which is gone; no prior delivery
    /// announces it. The old value of any change, and that of `.sourceDeleted`, is nil if that referent has died meanwhile.
    ///
    /// - Parameters:
    ///   - options: What to hear.
    ///   - body: Called under no lock, possibly on several threads at once. It may do anything, block included: it then delays
    ///     its own thread only.
    /// - Returns: The token that keeps the observation going. It retains neither the property nor its referent. (P11)
    /// - Complexity: O(1) amortised.
    public func observe(
        options: ObservationOptions = [],
        _ body: @escaping @Sendable (Change<Referent?>) -> Void
    ) -> ObservationToken {
        storage.observe(options: options) { (change: Change<WeakBox<Referent>>) in body(change.map(\.referent)) }
    }

    /// The same, with a closure that also receives its observation, to end it from within, the initial delivery included.
    public func observe(
        options: ObservationOptions = [],
        _ body: @escaping @Sendable (Change<Referent?>, ObservationHandle) -> Void
    ) -> ObservationToken {
        storage.observe(options: options) { change, observation in body(change.map(\.referent), observation) }
    }

    /// The same for as long as `owner` lives; `body` receives it. (P13)
    ///
    /// The owner is not retained. Once its `deinit` has begun, `body` is not called any more, and the observation ends with
    /// `.ownerDeleted` at the next change, `isActive` or `drain`, or when enough others were registered. A referent that is the owner
    /// of an observation is not told of its own death.
    public func observe<Owner: AnyObject & Sendable>(
        owner: Owner,
        options: ObservationOptions = [],
        _ body: @escaping @Sendable (Owner, Change<Referent?>) -> Void
    ) -> ObservationToken {
        storage.observe(owner: owner, options: options) { owner, change in body(owner, change.map(\.referent)) }
    }

    /// Calls `body` with every new value, nil when the referent has died: those of the changes that begin after this call returned.
    ///
    /// - Parameters:
    ///   - includingInitial: Whether to begin with the present value, before the call returns. (P4)
    ///   - body: As in `observe(options:_:)`. It is not called when the property is gone: see `ObservationToken.onEnd(_:)`.
    public func observeValues(
        includingInitial: Bool = false,
        _ body: @escaping @Sendable (Referent?) -> Void
    ) -> ObservationToken {
        storage.observeValues(includingInitial: includingInitial) { box in body(box.referent) }
    }
}
