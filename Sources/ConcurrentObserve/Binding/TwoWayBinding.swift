// SPDX-License-Identifier: Apache-2.0

import ConcurrentObservePlatform

/// The state of a two-way binding, which its closure retains: weak references to both sides, and
/// their agreement.
///
/// The token belongs to an observer of the left side. A second observer, of the right side, passes
/// changes back. Its closure runs inside `Observer.visit` of the first observer, so the token's
/// `cancel` and `cancelAndWait` cover both directions. The second observer feeds the first one
/// (`Observer.feed`). Each side therefore counts the binding, and cancelling the observations of
/// either side ends both directions. (P8, P9)
@usableFromInline
internal final class TwoWayBinding<Left: Sendable, Right: Sendable>: Sendable {
    @usableFromInline let leftReference: WeakReference
    @usableFromInline let rightReference: WeakReference
    @usableFromInline let leftSide: SourceIdentity
    @usableFromInline let rightSide: SourceIdentity
    @usableFromInline let forward: @Sendable (Left) -> Right
    @usableFromInline let backward: @Sendable (Right) -> Left
    @usableFromInline let keepsValue: Bool
    /// The agreement, which all bindings of the pair share.
    @usableFromInline let agreement: Agreement
    /// The side that the left property has in the agreement.
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

    /// Starts both directions, and returns the token that stands for both. Before the function
    /// returns, the right property takes the value made from the left property's value.
    @inlinable
    func start(_ left: Observed<Left>, _ right: Observed<Right>) -> ObservationToken {
        let observer = left.makeObserver(.ofBinding, owner: rightReference)
        let wayBack = right.attach(PropertyObserver(.ofBinding, .inline(.plain(callbackBackward(within: observer)))))
        // The first observer ends by itself when the left property dies. When the right property
        // dies, the first observer ends as if its owner had died.
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

    /// Connects the right side's observer, whose token is `wayBack`, to `observer`, the left side's
    /// observer. The right side then counts the binding, too, and both observers end when the
    /// observations of either side are cancelled. Call this when the binding has begun. (P8)
    @usableFromInline
    static func join(_ wayBack: ObservationToken, to observer: Observer) {
        wayBack.observer.leaveTokenUncounted()
        wayBack.observer.feed(observer)
        observer.endIfRemoved(wayBack.observer)
    }
}

// MARK: - Both ways

extension TwoWayBinding {
    /// Makes the closure that passes changes of the right property back to the left property. The
    /// token of `observer` stands for both directions, so the closure does nothing once the
    /// observation of `observer` has ended.
    @inlinable
    func callbackBackward(within observer: Observer) -> @Sendable (Change<Right>) -> Void {
        let binding = WeakReference(self)
        return { [agreement, side] change in
            Observer.visit(at: observer.address) { _ in
                // This check comes first: most often the change is the echo of a change from the
                // left.
                guard agreement.isNews(change.version, of: side.other) else { return }
                binding.object(as: TwoWayBinding.self)?.passBackward(change)
            }
        }
    }

    /// Passes a change of the left property on to the right property. Must be called inside a call
    /// of the observer whose token stands for both directions: the hazard pointer `current` of the
    /// caller's frame names that observer.
    @inlinable
    func passForward(_ change: Change<Left>) {
        guard change.reason == .initial || agreement.isNews(change.version, of: side),
            let right = rightReference.object(as: Observed<Right>.self)
        else { return }
        pass(change, of: leftSide, side, to: right, rightSide, forward)
    }

    /// Passes a change of the right property on to the left property. Must be called inside a visit
    /// (`Observer.visit`) of the observer whose token stands for both directions.
    @inlinable
    func passBackward(_ change: Change<Right>) {
        guard let left = leftReference.object(as: Observed<Left>.self) else { return }
        pass(change, of: rightSide, side.other, to: left, leftSide, backward)
    }

    /// Passes a change of `side` on to the other side, if the propagation and the agreement allow
    /// it.
    @inlinable
    func pass<Source, Destination>(
        _ change: Change<Source>,
        of source: SourceIdentity,
        _ side: Agreement.Side,
        to destination: Observed<Destination>,
        _ destinationIdentity: SourceIdentity,
        _ transform: (Source) -> Destination
    ) {
        let (version, isInitial) = (change.version, change.reason == .initial)
        let arrival = DeliveryScope.arrival(version, of: source, isInitial: isInitial)
        let edge = Edge(self, keepsValue: keepsValue, isOfPair: true)
        var since: UInt64?
        switch arrival.decision(through: edge, to: destinationIdentity) {
        case .over(let known):
            return agreement.note(version, of: side, as: known)
        case .onward: break
        case .around(let known): since = known
        }
        destination.receive(transform(change.new), through: edge, from: arrival) { present in
            agreement.apply(version, of: side, toOtherAt: present, since: since, isInitial: isInitial)
        }
    }
}
