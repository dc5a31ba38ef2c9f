// SPDX-License-Identifier: Apache-2.0

// How observations keep a derived value when the program has dropped it: see `DerivationKeeper`.

extension Derived {
    /// Returns the keeper, which all observations and sequences of the value share.
    @usableFromInline
    internal func keeper() -> DerivationKeeper {
        cell.lock.withLock {
            if let presentKeeper { return presentKeeper }
            let new = DerivationKeeper(of: self)
            presentKeeper = new
            return new
        }
    }

    /// Whether the value belongs to a model. Its observations then end with the model, and do not
    /// keep the value.
    internal var isOfModel: Bool {
        // Relaxed: set before other threads receive the derived value.
        get { modelMark.load(ordering: .relaxed) }
        set { modelMark.store(newValue, ordering: .relaxed) }
    }

    /// Makes a successor, if the value has one, and reports it to the keeper. Returns whether there
    /// is a successor. Called in the `deinit`.
    internal func isSucceeded(in keeper: DerivationKeeper) -> Bool {
        let successor = isOfModel ? nil : makeSuccessor()
        successor?.presentKeeper = keeper
        keeper.decide(successor)
        return successor != nil
    }

    private func makeSuccessor() -> Derived? {
        // A successor that names sources has none: it is dropped when a source or the last
        // observation has ended.
        if holdSources != nil { return nil }
        guard cell.namesSources else { return Derived(succeeding: self, nil) }
        let collector = Collector()
        collector.outcome.isWeakening = true
        cell.run(collector)
        return Derived(succeeding: self, collector.state.weakFunction)
    }
}

extension Derived: WeaklyNamed {
    var weakSource: WeakSource<Derived> {
        if isOfModel { return WeakSource(self) { $0 } }
        let keeper = keeper()
        return WeakSource(
            find: { keeper.node.map { $0 as! Derived } },
            hold: { held in
                guard let node = keeper.node else { return false }
                return held.add(node) && node.hold(&held)
            }
        )
    }
}
