// SPDX-License-Identifier: Apache-2.0

extension Observed {
    /// How many observations of this property are going on. Notices owners that have died. (P13)
    ///
    /// Paths that lead through or to the property are observations of their roots, and not counted.
    ///
    /// - Complexity: O(*n*).
    public var observerCount: Int {
        guard let core = observers.existingCore else { return 0 }
        core.sweepOwners()
        return core.count { !$0.isWiring }
    }

    /// Ends every observation of this property, as if each was cancelled. Any thread, also inside a callback. (P8)
    ///
    /// Paths that lead through or to the property go on: they are observations of their roots.
    ///
    /// - Complexity: O(*n*).
    public func removeAllObservers() { observers.existingCore?.removeAll { !$0.isWiring } }

    /// Ends every observation of this property that was registered with `owner`, as if each was cancelled. (P8)
    ///
    /// - Complexity: O(*n*).
    public func removeAllObservers(ownedBy owner: AnyObject) {
        observers.existingCore?.removeAll(boundTo: owner) { !$0.isWiring }
    }
}

extension WeakObserved {
    /// Ends every observation of this property, as if each was cancelled. See `Observed.removeAllObservers()`. (P8)
    public func removeAllObservers() { storage.removeAllObservers() }

    /// Ends every observation of this property that was registered with `owner`, as if each was cancelled. (P8)
    public func removeAllObservers(ownedBy owner: AnyObject) { storage.removeAllObservers(ownedBy: owner) }
}

// MARK: - With the paths that begin here

extension Observed: ObservationSource {
    /// Ends every observation of this property, and every path that begins with it, as if each was cancelled. (P8)
    ///
    /// - Complexity: O(*n*).
    public func cancelAllObservations() { observers.existingCore?.removeAll { !$0.isInsidePath } }
}

extension WeakObserved: ObservationSource {
    /// Ends every observation of this property, and every path that begins with it, as if each was cancelled. (P8)
    ///
    /// - Complexity: O(*n*).
    public func cancelAllObservations() { storage.cancelAllObservations() }
}
