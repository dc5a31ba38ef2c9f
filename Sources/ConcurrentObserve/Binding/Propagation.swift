// SPDX-License-Identifier: Apache-2.0

/// One step of a change's propagation through bindings: the change that arrived at a binding, and
/// the change that the binding has made of it.
///
/// Deliveries are inline, so the whole propagation lies on one thread's stack. A binding that makes
/// a change announces it with the step as the thread's context. A binding that receives a change
/// looks whether that step made it. If the change is another one, a callback has made it: a new
/// propagation begins there. A path or a group says which of its changes has come of the step's.
/// A path also says which versions of its properties a change shows, whatever thread has made it.
///
/// A change passes each one-way binding of its propagation at most once, and twice where it comes
/// from a group. It passes a pair again after a one-way binding has made a value: a side that
/// corrects what it receives corrects its partner. That is why cycles end, and pairs agree.
internal final class Propagation: AnnouncedChange, @unchecked Sendable {
    // Unchecked: constants only.
    fileprivate let step: Step

    /// What a propagation is made of, if it is asked for.
    fileprivate struct Step: ContextStep {
        let origin: Arrival
        let edge: Edge
        /// What the binding has made.
        let version: UInt64
        /// Of which property.
        let destination: SourceIdentity

        func makeContext() -> DeliveryContext { Propagation(self) }
    }

    fileprivate init(_ step: Step) {
        self.step = step
        super.init(step.version, of: step.destination)
    }

    fileprivate var origin: Arrival { step.origin }
    fileprivate var edge: Edge { step.edge }
}

/// A binding, as a propagation knows it.
@usableFromInline
internal struct Edge {
    /// Compared, not followed.
    fileprivate let binding: ObjectIdentifier
    /// Whether the value arrives as it was: there is no transform.
    fileprivate let keepsValue: Bool
    /// Whether the binding is two-way: its sides agree.
    fileprivate let isOfPair: Bool

    @usableFromInline
    init(_ binding: AnyObject, keepsValue: Bool, isOfPair: Bool) {
        (self.binding, self.keepsValue, self.isOfPair) = (ObjectIdentifier(binding), keepsValue, isOfPair)
    }

    /// Whether a change that has passed `other` may pass this pair again.
    fileprivate func isCorrected(by other: Edge) -> Bool {
        return isOfPair && !other.isOfPair
    }
}

/// A change that a binding receives, and how it came there.
///
/// It does not depend on the values' types, so it is compiled once, and called.
@usableFromInline
internal struct Arrival {
    /// What was changed: it exists while its change is being announced.
    private let source: SourceIdentity
    private let version: UInt64
    /// The step that made the change; nil where a propagation begins.
    private let propagation: Propagation?
    /// Whether it carries the value that the step has made.
    private let keepsValue: Bool
    /// Whether a group has made it of the step's.
    private let isCombined: Bool
    /// What it shows, if it is a path's.
    private let shown: ShownVersion?
    /// The number of the commit that has made it, or 0.
    fileprivate let commit: UInt64

    /// A change of a source that is being delivered on this thread.
    ///
    /// - Parameters:
    ///   - commit: The number of the commit that has made it, or 0.
    ///   - isInitial: It is delivered to one observer alone, and no step made it.
    @usableFromInline
    init(_ version: UInt64, of source: SourceIdentity, _ commit: UInt64, isInitial: Bool) {
        (self.version, self.source, self.commit) = (version, source, commit)
        let announced = AnnouncedChange.current(version, of: source)
        let made = isInitial ? nil : announced
        propagation = made?.original as? Propagation
        keepsValue = made?.keepsValue ?? true
        isCombined = made?.isCombined ?? false
        shown = announced?.shown
    }

    /// Whether a commit has made it.
    @usableFromInline var isOfCommit: Bool { commit != 0 }

    /// Runs `announcement` of the change that `edge` has made of this one.
    @usableFromInline
    func propagate(
        through edge: Edge,
        to destination: SourceIdentity,
        version: UInt64,
        _ announcement: () -> Void
    ) {
        let step = Propagation.Step(origin: self, edge: edge, version: version, destination: destination)
        DeliveryContext.perform(for: step, announcement)
    }
}

// MARK: - Deciding

extension Arrival {
    /// What a binding may do with a change.
    @usableFromInline
    enum Decision {
        /// Pass it on.
        case onward
        /// Pass it on if its destination is still at this version, which the same change has made,
        /// or which a path has shown: it comes round a cycle with another value, and must not undo
        /// what others have set meanwhile.
        case around(since: UInt64)
        /// Nothing. It has passed here before, or comes back unchanged to the property where it was
        /// this version.
        case over(knownAs: UInt64)
    }

    /// Whether the change may pass `edge`.
    ///
    /// - Complexity: O(*n*) in the length of its propagation.
    @usableFromInline
    func decision(through edge: Edge, to destination: SourceIdentity) -> Decision {
        if isCombined { return decisionAfterGroup(through: edge) }
        var (isSame, passes) = (edge.keepsValue, 0)
        var since: UInt64?
        // A one-way binding has made a value since the change passed this pair: it is news for the
        // partner. The change passes each one-way binding once, so its propagation ends. (P3)
        var isCorrected = false
        // Not the arrivals themselves: a copy would count their references.
        var (known, keepsValue, next) = (version(of: destination), keepsValue, propagation)
        while true {
            if since == nil, let known {
                if isSame && known.isValue { return .over(knownAs: known.number) }
                since = known.number
            }
            isSame = isSame && keepsValue
            guard let propagation = next else { break }
            isCorrected = isCorrected || edge.isCorrected(by: propagation.edge)
            if propagation.edge.binding == edge.binding, !isCorrected { passes += 1 }
            isSame = isSame && propagation.edge.keepsValue
            known = propagation.origin.version(of: destination)
            (keepsValue, next) = (propagation.origin.keepsValue, propagation.origin.propagation)
        }
        guard let since else { return .onward }
        return Self.mayPass(after: passes) ? .around(since: since) : .over(knownAs: since)
    }

    /// The change of a member is not the group's: the group has other values, too, and they come
    /// one after the other if the same change reaches several members. What came first has values
    /// that are replaced at once, and everything that has followed them must follow the last ones.
    /// So such a change passes a binding twice, whatever it finds at the destination.
    private func decisionAfterGroup(through edge: Edge) -> Decision {
        var passes = 0
        var arrival = self
        while let propagation = arrival.propagation {
            if propagation.edge.binding == edge.binding { passes += 1 }
            arrival = propagation.origin
        }
        return passes < 2 ? .onward : .over(knownAs: version)
    }

    /// The version that the change is of a property, or was made of, and whether it carries that
    /// version's value; nil if it is none. What a step or a setter has made of the property may
    /// arrive as the change of a path.
    private func version(of property: SourceIdentity) -> (number: UInt64, isValue: Bool)? {
        if isCombined { return nil }
        if let known = shown?.version(of: property) { return known }
        guard let propagation else { return source == property ? (version, true) : nil }
        return propagation.isOf(property) ? (propagation.version, keepsValue) : nil
    }

    /// Whether a change may pass a binding that it has passed so often.
    private static func mayPass(after passes: Int) -> Bool {
        return passes < 1
    }
}

extension Observed {
    /// Sets the property for a binding if its claim holds under the property's lock, and notifies its
    /// observers. What is made of a commit that the thread announces waits for the rest of it. (P21)
    /// Under no lock. (P5)
    ///
    /// - Parameter observer: The address of the binding's observer, which a frame has as current.
    @inlinable
    internal func receive<Claim: BindingClaim>(
        _ value: Value,
        through edge: Edge,
        from arrival: Arrival,
        by observer: UInt,
        if claim: Claim
    ) {
        if arrival.isOfCommit, carry(value, through: edge, from: arrival, by: observer, if: claim) { return }
        guard let replaced = publish(value, if: { claim.holds(at: $0) }) else { return }
        // An observer that is registered from now on has a later version than this. Without
        // observers no callback asks for the context.
        if observers.isPossiblyObserved {
            arrival.propagate(through: edge, to: observers.identity, version: replaced.version) {
                announce(replaced, value)
            }
        }
        replaced.retire()
    }

    /// Leaves the change to the commit that the calling thread carries on, if it is of that.
    @usableFromInline @inline(never)
    internal func carry<Claim: BindingClaim>(
        _ value: Value,
        through edge: Edge,
        from arrival: Arrival,
        by observer: UInt,
        if claim: Claim
    ) -> Bool {
        guard let carried = CarriedCommit.taking(arrival.commit) else { return false }
        carried.add(
            BoundChange(value, for: self, by: Observer.held(at: observer), through: edge, from: arrival, if: claim)
        )
        return true
    }
}
