// SPDX-License-Identifier: Apache-2.0

/// The state of a two-way binding, which its closure retains: weak references to both sides, and
/// their agreement.
///
/// The token belongs to an observer of the left side. A second observer, of the right side, passes
/// changes back. Its closure runs as a visit of the first observer, so the token's `cancel` and
/// `cancelAndWait` cover both directions. The second observer feeds the first one: so each side
/// counts the binding, and cancelling the observations of either side ends both directions. (P8,
/// P9)
@usableFromInline
internal final class TwoWayBinding<Left: Sendable, Right: Sendable>: Sendable {
    @usableFromInline let leftReference: WeakReference
    @usableFromInline let rightReference: WeakReference
    @usableFromInline let leftSide: SourceIdentity
    @usableFromInline let rightSide: SourceIdentity
    @usableFromInline let forward: @Sendable (Left) -> Right
    @usableFromInline let backward: @Sendable (Right) -> Left
    @usableFromInline let keepsValue: Bool
    /// The agreement, which all bindings of the pair share, and which of its sides the left is.
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
        // The agreement has made the cores, whose addresses identify the sides.
        (leftSide, rightSide) = (left.observers.identity, right.observers.identity)
    }

    deinit { if !Fork.isInChild { Agreements.leave(agreement) } }

    /// Starts both directions. The right takes the left's value before this returns.
    @inlinable
    func start(_ left: Observed<Left>, _ right: Observed<Right>) -> ObservationToken {
        let observer = left.makeObserver(.ofBinding, owner: rightReference)
        let wayBack = right.attach(PropertyObserver(.ofBinding, .inline(.plain(callbackBackward(within: observer)))))
        // The first observer ends with the left by itself. The right's death ends it as that of an
        // owner.
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

    /// Makes the right count the binding, and ends both observers when the observations of either
    /// side are cancelled. Call it when the binding has begun. (P8)
    @usableFromInline
    static func join(_ wayBack: ObservationToken, to observer: Observer) {
        wayBack.observer.leaveTokenUncounted()
        wayBack.observer.feed(observer)
        observer.endIfRemoved(wayBack.observer)
    }
}

// MARK: - Both ways

extension TwoWayBinding {
    /// Makes the closure of the way back. It runs as a visit of `observer`, whose token stands for
    /// both directions.
    @inlinable
    func callbackBackward(within observer: Observer) -> @Sendable (Change<Right>) -> Void {
        let binding = WeakReference(self)
        return { [agreement, side] change in
            Observer.visit(at: observer.address) { address in
                // Before anything else: most often it is the echo of a change from the left.
                guard agreement.isNews(change.version, of: side.other) else { return }
                binding.object(as: TwoWayBinding.self)?.passBackward(change, by: address)
            }
        }
    }

    /// Passes a change of the left on to the right.
    ///
    /// - Parameter observer: The address of the observer whose token stands for both directions. A
    ///   frame has it as current.
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
    /// - Parameter observer: The address of the observer whose token stands for both directions. A
    ///   frame has it as current.
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
