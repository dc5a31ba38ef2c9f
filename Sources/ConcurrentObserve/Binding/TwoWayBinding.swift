// SPDX-License-Identifier: Apache-2.0

/// What the closure of a two-way binding keeps: both sides, weakly, and what they have agreed upon.
///
/// One observation of the left carries the token; another, of the right, brings the way back. It runs as a visit of the first,
/// so that the token's `cancel` and `cancelAndWait` speak for both. It feeds the first: either side counts the binding, and
/// cancelling its observations ends both. (P8, P9)
@usableFromInline
internal final class TwoWayBinding<Left: Sendable, Right: Sendable>: Sendable {
    @usableFromInline let leftReference: WeakReference
    @usableFromInline let rightReference: WeakReference
    @usableFromInline let leftSide: SourceIdentity
    @usableFromInline let rightSide: SourceIdentity
    @usableFromInline let forward: @Sendable (Left) -> Right
    @usableFromInline let backward: @Sendable (Right) -> Left
    @usableFromInline let keepsValue: Bool
    /// What all bindings of the two share, and which side of it the left is.
    @usableFromInline let agreement: Agreement
    @usableFromInline let side: Agreement.Side

    @inlinable
    init(
        _ left: Observed<Left>,
        _ right: Observed<Right>,
        keepsValue: Bool,
        forward: @escaping @Sendable (Left) -> Right,
        backward: @escaping @Sendable (Right) -> Left
    ) {
        (leftReference, rightReference) = (WeakReference(left), WeakReference(right))
        (self.forward, self.backward, self.keepsValue) = (forward, backward, keepsValue)
        (agreement, side) = Agreements.join(left, right, keepsValue: keepsValue)
        // The agreement has made what identifies them.
        (leftSide, rightSide) = (left.observers.identity, right.observers.identity)
    }

    deinit { Agreements.leave(agreement) }

    /// Starts both directions; the right takes the left's value before this returns.
    @inlinable
    func start(_ left: Observed<Left>, _ right: Observed<Right>) -> ObservationToken {
        let observer = left.makeObserver(.ofBinding, owner: rightReference)
        let wayBack = right.attach(PropertyObserver(.ofBinding, .inline(.plain(callbackBackward(within: observer)))))
        // The token speaks for the left's death; the right's is that of an owner.
        wayBack.onEnd { end in if end == .sourceDeleted { observer.end(.ownerDeleted) } }
        let address = observer.address
        observer.setCallback(
            Callback<Change<Left>> { [self] change in
                passForward(change, by: address)
                withExtendedLifetime(wayBack) {}
            }
        )
        let token = left.start(observer, .initial)
        Self.join(wayBack, to: observer)
        return token
    }

    /// Has the way back count as the binding, and both end together, whichever side's observations
    /// are cancelled. When the binding has begun. (P8)
    @usableFromInline
    static func join(_ wayBack: ObservationToken, to observer: Observer) {
        wayBack.observer.feed(observer)
        observer.endIfRemoved(wayBack.observer)
    }
}

// MARK: - Both ways

extension TwoWayBinding {
    /// The closure of the way back, which runs as a visit of the observer whose token speaks for both.
    @inlinable
    func callbackBackward(within observer: Observer) -> @Sendable (Change<Right>) -> Void {
        let binding = WeakReference(self)
        return { [agreement, side] change in
            Observer.visit(at: observer.address) { address in
                // First: most often it is the echo of a change from the left.
                guard agreement.isNews(change.version, of: side.other) else { return }
                binding.object(as: TwoWayBinding.self)?.passBackward(change, by: address)
            }
        }
    }

    /// Passes a change of the left on to the right.
    ///
    /// - Parameter observer: The address of the observer whose token speaks for both ways: a frame has it as current.
    @inlinable
    func passForward(_ change: Change<Left>, by observer: UInt) {
        let (value, version, isInitial) = (change.new, change.version, change.reason == .initial)
        guard isInitial || agreement.isNews(version, of: side),
            let right = rightReference.object(as: Observed<Right>.self)
        else { return }
        let arrival = Arrival(version, of: leftSide, change.commitNumber, isInitial: isInitial)
        let edge = Edge(self, keepsValue: keepsValue, isOfPair: true)
        switch arrival.decision(through: edge, to: rightSide) {
        case .over(let known):
            agreement.note(version, of: side, as: known)
        case .onward:
            let claim = TwoWayClaim(agreement, version, of: side, since: nil, isInitial: isInitial)
            right.receive(forward(value), through: edge, from: arrival, by: observer, if: claim)
        case .around(let since):
            let claim = TwoWayClaim(agreement, version, of: side, since: since, isInitial: isInitial)
            right.receive(forward(value), through: edge, from: arrival, by: observer, if: claim)
        }
    }

    @inlinable
    func decisionBackward(_ arrival: Arrival, through edge: Edge) -> Arrival.Decision {
        return arrival.decision(through: edge, to: leftSide)
    }

    /// Passes a change of the right on to the left.
    ///
    /// - Parameter observer: As in ``passForward(_:by:)``.
    @inlinable
    func passBackward(_ change: Change<Right>, by observer: UInt) {
        let (value, version, side) = (change.new, change.version, side.other)
        guard let left = leftReference.object(as: Observed<Left>.self) else { return }
        let arrival = Arrival(version, of: rightSide, change.commitNumber, isInitial: false)
        let edge = Edge(self, keepsValue: keepsValue, isOfPair: true)
        switch decisionBackward(arrival, through: edge) {
        case .over(let known):
            agreement.note(version, of: side, as: known)
        case .onward:
            let claim = TwoWayClaim(agreement, version, of: side, since: nil, isInitial: false)
            left.receive(backward(value), through: edge, from: arrival, by: observer, if: claim)
        case .around(let since):
            let claim = TwoWayClaim(agreement, version, of: side, since: since, isInitial: false)
            left.receive(backward(value), through: edge, from: arrival, by: observer, if: claim)
        }
    }
}
