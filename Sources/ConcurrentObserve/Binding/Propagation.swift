// SPDX-License-Identifier: Apache-2.0

/// One step of a change's propagation through bindings: the change that arrived at a binding, and
/// the change that the binding made from it.
///
/// Bindings run inline, so the whole propagation lies on one thread's stack. A binding delivers the
/// change that it makes in a `DeliveryScope` with the step. A binding that receives a change looks
/// for that scope. If there is none, a callback made the change, and a new propagation begins
/// there. A path or a group says which of its changes the step's change has caused. A path also
/// says which versions of its properties a change shows, whichever thread made it.
///
/// A change passes each one-way binding of its propagation at most once, and at most twice if it
/// comes from a group or a derived value. It may pass a two-way binding (a pair) again after a
/// one-way binding has made a new value: if a side corrects the value that it receives, its partner
/// receives the corrected value. With these limits, cycles end, and pairs agree.
internal struct Propagation {
    let origin: DeliveryScope
    let edge: Edge
    /// The version that the binding has made.
    let version: UInt64
    /// The property that the binding has changed.
    let destination: SourceIdentity
}

extension DeliveryScope {
    /// The step of a binding that made or caused the change; nil if no binding did, so that a new
    /// propagation begins here.
    fileprivate var propagation: Propagation? {
        // Safe: a step is on this thread's stack until the delivery of its change has ended, and so
        // is every step before it.
        unsafe step?.assumingMemoryBound(to: Propagation.self).pointee
    }
}

/// A binding, as a propagation identifies it.
@usableFromInline
internal struct Edge {
    /// The binding's address. It identifies the binding, and is only compared.
    fileprivate let binding: ObjectIdentifier
    /// Whether the binding passes values on unchanged, without a transform.
    fileprivate let keepsValue: Bool
    /// Whether the binding is two-way, so that its sides agree.
    fileprivate let isOfPair: Bool

    @usableFromInline
    init(_ binding: AnyObject, keepsValue: Bool, isOfPair: Bool) {
        (self.binding, self.keepsValue, self.isOfPair) = (ObjectIdentifier(binding), keepsValue, isOfPair)
    }
}

extension DeliveryScope {
    /// Returns the scope of a change that a binding receives on this thread.
    ///
    /// - Parameter isInitial: Whether it is an initial delivery, which goes to one observer, and
    ///   which no step caused.
    @usableFromInline
    static func arrival(_ version: UInt64, of source: SourceIdentity, isInitial: Bool) -> DeliveryScope {
        let found = current(version, of: source)
        if let found, !isInitial { return found }
        return DeliveryScope(version, of: source, showing: found?.shown)
    }

    /// Runs `delivery` in a new scope. `delivery` delivers the change that the binding `edge` has
    /// made from the change of this scope: `version` of `destination`.
    @usableFromInline
    func propagate(
        through edge: Edge,
        to destination: SourceIdentity,
        version: UInt64,
        _ delivery: () -> Void
    ) {
        let step = Propagation(origin: self, edge: edge, version: version, destination: destination)
        // Safe: the step is kept until the scope has ended.
        unsafe withUnsafePointer(to: step) { step in
            unsafe DeliveryScope(version, of: destination, madeBy: UnsafeRawPointer(step)).perform(delivery)
        }
    }
}

// MARK: - Deciding

extension DeliveryScope {
    /// Says how a binding must treat a change.
    @usableFromInline
    enum Decision {
        /// Pass the change on.
        case onward
        /// Pass the change on if the destination is still at the version `since`, which the same
        /// change has made or a path has shown. The change comes back through a cycle with another
        /// value, and must not undo what another thread has set since.
        case around(since: UInt64)
        /// Do not pass the change on: it has passed this binding before, or comes back unchanged to
        /// the destination. The destination already has the change, as the version `knownAs`.
        case over(knownAs: UInt64)
    }

    /// Decides whether the change of this scope may pass the binding `edge`, which leads to
    /// `destination`.
    ///
    /// - Complexity: O(*n*) in the steps of its propagation.
    @usableFromInline
    func decision(through edge: Edge, to destination: SourceIdentity) -> Decision {
        if isCombined { return decisionAfterGroup(through: edge) }
        var (isSame, passes) = (edge.keepsValue, 0)
        var since: UInt64?
        // True if a one-way binding has made a value since the change passed this pair: the partner
        // does not know that value. The change passes each one-way binding once, so its propagation
        // ends. (P3)
        var isCorrected = false
        var (known, keepsValue, next) = (version(of: destination), keepsValue, propagation)
        while true {
            if since == nil, let known {
                if isSame && known.isValue { return .over(knownAs: known.number) }
                since = known.number
            }
            isSame = isSame && keepsValue
            guard let propagation = next else { break }
            isCorrected = isCorrected || edge.isOfPair && !propagation.edge.isOfPair
            if propagation.edge.binding == edge.binding, !isCorrected { passes += 1 }
            isSame = isSame && propagation.edge.keepsValue
            known = propagation.origin.version(of: destination)
            (keepsValue, next) = (propagation.origin.keepsValue, propagation.origin.propagation)
        }
        guard let since else { return .onward }
        return passes < 1 ? .around(since: since) : .over(knownAs: since)
    }

    /// Decides whether the change of this scope may pass `edge`, if a group or a derived value made
    /// it. The value of such a change is made from other values, too. If one change reaches several
    /// members, the group changes several times in a row, and every binding must pass on the last
    /// of these changes. The change may therefore pass a binding twice, whatever version the
    /// destination has.
    private func decisionAfterGroup(through edge: Edge) -> Decision {
        var passes = 0
        var next = propagation
        while let propagation = next {
            if propagation.edge.binding == edge.binding { passes += 1 }
            next = propagation.origin.propagation
        }
        return passes < 2 ? .onward : .over(knownAs: version)
    }

    /// Returns the version of `property` that this change made, or from which this change was made,
    /// and whether this change carries the value of that version. Returns nil if there is no such
    /// version. If a path made the change, `shown` has the version.
    private func version(of property: SourceIdentity) -> (number: UInt64, isValue: Bool)? {
        if isCombined { return nil }
        if let known = shown?.version(of: property) { return known }
        guard let propagation else { return source == property ? (version, true) : nil }
        return propagation.destination == property ? (propagation.version, keepsValue) : nil
    }
}

extension Observed {
    /// Sets the property for the binding `edge`, if `condition` holds, and notifies the property's
    /// observers. `arrival` is the scope of the change that the binding has received. The caller
    /// must hold no lock. (P5)
    ///
    /// - Parameter condition: Called with the property's version, under its mutation lock. It must
    ///   run no user code, and count no reference, because other threads wait for the lock.
    @inlinable
    internal func receive(
        _ value: Value,
        through edge: Edge,
        from arrival: DeliveryScope,
        if condition: (_ present: UInt64) -> Bool
    ) {
        guard let replaced = publish(value, if: condition) else { return }
        // An observer that registers from now on begins at this version or a later one. Without
        // observers no callback reads the scope.
        if observers.isPossiblyObserved {
            arrival.propagate(through: edge, to: observers.identity, version: replaced.version) {
                announce(replaced, value)
            }
        }
        replaced.retire()
    }
}
