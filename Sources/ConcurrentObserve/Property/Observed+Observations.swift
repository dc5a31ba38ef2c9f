// SPDX-License-Identifier: Apache-2.0

extension Observed: ObservationSource {
    /// The number of observations of this property that are going on, including paths that begin
    /// with it and groups that have it as a member. Ends those whose owners have died. (P8, P13)
    ///
    /// A path from another object that leads through or to the property counts as an observation of
    /// its root, and not here. An observed derived value counts once, however many observers it
    /// has, until the call that ends its last observation has returned. (P24)
    ///
    /// - Complexity: O(*n*) on average.
    public var observationCount: Int {
        guard let core = observers.existingCore else { return 0 }
        core.sweepOwners()
        return core.observationCount { !$0.isForeign || $0.isOfDerivedValue }
    }

    /// Ends every observation of this property, of groups that have it as a member, and of paths
    /// that begin with it, as if each was cancelled. Any thread, also inside a callback; never
    /// waits. (P8)
    ///
    /// - Complexity: O(*n*).
    public func cancelAllObservations() { observers.existingCore?.removeAll { $0.isForeign ? nil : .cancelled } }

    /// Ends every observation that was registered with `owner`, of this property and of groups that
    /// have it as a member, as if each was cancelled. (P8)
    ///
    /// - Complexity: O(*n*).
    public func cancelAllObservations(ownedBy owner: AnyObject) {
        observers.existingCore?.removeAll(boundTo: owner) { !$0.isForeign }
    }
}

extension WeakObserved: ObservationSource {
    /// The number of observations of this property that are going on, including paths that begin
    /// with it and groups that have it as a member. Ends those whose owners have died. (P8, P13)
    ///
    /// - Complexity: O(*n*) on average.
    public var observationCount: Int { storage.observationCount }

    /// Ends every observation of this property, of groups that have it as a member, and of paths
    /// that begin with it, as if each was cancelled. Any thread, also inside a callback; never
    /// waits. (P8)
    ///
    /// - Complexity: O(*n*).
    public func cancelAllObservations() { storage.cancelAllObservations() }

    /// Ends every observation that was registered with `owner`, of this property and of groups that
    /// have it as a member, as if each was cancelled. (P8)
    ///
    /// - Complexity: O(*n*).
    public func cancelAllObservations(ownedBy owner: AnyObject) { storage.cancelAllObservations(ownedBy: owner) }
}
