// SPDX-License-Identifier: Apache-2.0

extension Observed: ObservationSource {
    /// How many observations of this property are going on, paths that begin with it included, and
    /// those of groups of which it is a member. Notices owners that have died. (P8, P13)
    ///
    /// A path that leads through or to the property from another object is an observation of its
    /// root, and not counted. A derived value that is observed counts once, however many observe it, until the call has returned that
    /// ends its last observation. (P24)
    ///
    /// - Complexity: O(*n*) on average.
    public var observationCount: Int {
        guard let core = observers.existingCore else { return 0 }
        core.sweepOwners()
        return core.observationCount { !$0.isForeign || $0.isOfDerivedValue }
    }

    /// Ends every observation of this property, of groups of which it is a member, and of paths that
    /// begin with it, as if each was cancelled. Any thread, also inside a callback; never waits. (P8)
    ///
    /// - Complexity: O(*n*).
    public func cancelAllObservations() { observers.existingCore?.removeAll { $0.isForeign ? nil : .cancelled } }

    /// Ends every observation of this property that was registered with `owner`, and those of groups
    /// of which it is a member, as if each was cancelled. (P8)
    ///
    /// - Complexity: O(*n*).
    public func cancelAllObservations(ownedBy owner: AnyObject) {
        observers.existingCore?.removeAll(boundTo: owner) { !$0.isForeign }
    }
}

extension WeakObserved: ObservationSource {
    /// How many observations of this property are going on, paths that begin with it included, and
    /// those of groups of which it is a member. Notices owners that have died. (P8, P13)
    ///
    /// - Complexity: O(*n*) on average.
    public var observationCount: Int { storage.observationCount }

    /// Ends every observation of this property, of groups of which it is a member, and of paths that
    /// begin with it, as if each was cancelled. Any thread, also inside a callback; never waits. (P8)
    ///
    /// - Complexity: O(*n*).
    public func cancelAllObservations() { storage.cancelAllObservations() }

    /// Ends every observation of this property that was registered with `owner`, and those of groups
    /// of which it is a member, as if each was cancelled. (P8)
    ///
    /// - Complexity: O(*n*).
    public func cancelAllObservations(ownedBy owner: AnyObject) { storage.cancelAllObservations(ownedBy: owner) }
}
