// SPDX-License-Identifier: Apache-2.0

extension Derived {
    /// What observations and sequences of the value keep: one for all.
    @usableFromInline
    internal func keeper() -> DerivationKeeper {
        cell.lock.withLock {
            if let presentKeeper { return presentKeeper }
            let new = DerivationKeeper(of: self)
            presentKeeper = new
            return new
        }
    }

    /// Whether a model has the value: the observations end with it, and do not keep it.
    internal var isOfModel: Bool {
        // Relaxed: set before other threads receive the derived value.
        get { modelMark.load(ordering: .relaxed) }
        set { modelMark.store(newValue, ordering: .relaxed) }
    }

    /// Makes a successor, if the value has one, and says so to those who keep it. In the `deinit`.
    internal func isSucceeded(in keeper: DerivationKeeper) -> Bool {
        let successor = isOfModel ? nil : makeSuccessor()
        successor?.presentKeeper = keeper
        keeper.decide(successor)
        return successor != nil
    }

    private func makeSuccessor() -> Derived? {
        // A successor that is dropped has no source any more, or no observation.
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
