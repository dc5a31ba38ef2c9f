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
        let observer = left.makeObserver([], owner: rightReference)
        let wayBack = right.attach(PropertyObserver([], .inline(.plain(callbackBackward(within: observer)))))
        // The token speaks for the left's death; the right's is that of an owner.
        wayBack.onEnd { end in if end == .sourceDeleted { observer.end(.ownerDeleted) } }
        observer.setCallback(
            Callback<Change<Left>> { [self] change in
                passForward(change)
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
        #if INSTRUMENTED
        if mutant(.aWayBackStandsAlone) { return }
        #endif
        wayBack.observer.feed(observer)
        observer.endIfRemoved(wayBack.observer)
    }
}

// MARK: - Both ways

extension TwoWayBinding {
    /// The closure of the way back, which runs as a visit of the observer whose token speaks for both.
    @inlinable
    func callbackBackward(within observer: Observer) -> @Sendable (Change<Right>) -> Void {
        #if INSTRUMENTED
        if mutant(.anEndedBindingGoesOnBackwards) { return callbackBackwardAlways() }
        #endif
        let binding = WeakReference(self)
        return { [agreement, side] change in
            Observer.visit(at: observer.address) { _ in
                // First: most often it is the echo of a change from the left.
                guard agreement.isNews(change.version, of: side.other) else { return }
                binding.object(as: TwoWayBinding.self)?.passBackward(change)
            }
        }
    }

    /// Passes a change of the left on to the right.
    @inlinable
    func passForward(_ change: Change<Left>) {
        let (value, version, isInitial) = (change.new, change.version, change.reason == .initial)
        guard isInitial || agreement.isNews(version, of: side),
            let right = rightReference.object(as: Observed<Right>.self)
        else { return }
        let arrival = Arrival(version, of: leftSide, isInitial: isInitial)
        let edge = Edge(self, keepsValue: keepsValue)
        switch arrival.decision(through: edge, to: rightSide) {
        case .over(let known):
            agreement.note(version, of: side, as: known)
        case .onward:
            right.receive(forward(value), through: edge, from: arrival) { [agreement, side] present in
                agreement.apply(version, of: side, toOtherAt: present, isInitial: isInitial)
            }
        case .around(let since):
            right.receive(forward(value), through: edge, from: arrival) { [agreement, side] present in
                if present == since {
                    return agreement.apply(version, of: side, toOtherAt: present, isInitial: isInitial)
                }
                agreement.note(version, of: side, as: since)
                return false
            }
        }
    }

    @inlinable
    func decisionBackward(_ arrival: Arrival, through edge: Edge) -> Arrival.Decision {
        #if INSTRUMENTED
        if mutant(.aBindingEchoes) { return arrival.echo(through: edge, to: leftSide) }
        #endif
        return arrival.decision(through: edge, to: leftSide)
    }

    /// Passes a change of the right on to the left.
    @inlinable
    func passBackward(_ change: Change<Right>) {
        let (value, version, side) = (change.new, change.version, side.other)
        guard let left = leftReference.object(as: Observed<Left>.self) else { return }
        let arrival = Arrival(version, of: rightSide, isInitial: false)
        let edge = Edge(self, keepsValue: keepsValue)
        switch decisionBackward(arrival, through: edge) {
        case .over(let known):
            agreement.note(version, of: side, as: known)
        case .around(let since):
            left.receive(backward(value), through: edge, from: arrival) { [agreement] present in
                if present == since {
                    return agreement.apply(version, of: side, toOtherAt: present, isInitial: false)
                }
                agreement.note(version, of: side, as: since)
                return false
            }
        case .onward:
            left.receive(backward(value), through: edge, from: arrival) { [agreement] present in
                agreement.apply(version, of: side, toOtherAt: present, isInitial: false)
            }
        }
    }
}
