// SPDX-License-Identifier: Apache-2.0

extension Collector {
    /// Runs the `==` of two results as under a lock.
    @usableFromInline
    func isEqualUnderLock<Value: Sendable>(_ value: Value, _ areEqual: (Value, Value) -> Bool) -> Bool {
        enterForbiddenForUserCode()
        defer { leaveForbiddenForUserCode() }
        return comparesEqual(value, areEqual)
    }
}

extension DerivationCell {
    /// Holds a lock while a function runs, as if no function ever needed what another thread
    /// evaluates.
    borrowing func holdIfMutant() -> Bool {
        guard mutant(.anEvaluationHoldsALock) else { return false }
        evaluating.acquire()
        return true
    }

    /// Publishes an evaluation over the present one, whatever it began with.
    borrowing func commitOverLater(
        _ collector: Collector,
        _ base: borrowing Present,
        _ derived: any DerivationNode
    ) -> Present {
        let new = collector.hasReadItsSet ? nil : collector.newSet(self)
        let set = new?.words ?? base.set
        let later = load()
        return withExtendedLifetime(new) {
            commit(collector, over: later, derived) { replaced in
                !later.isNone && later.set == set
                    ? publishAgain(collector, after: later, &replaced)
                    : publish(set, collector, after: later, &replaced)
            }
        }
    }

    /// Takes an error for a result that no change of a source concerns.
    borrowing func stillFails(_ base: borrowing Present, _ collector: Collector, _ derived: any DerivationNode) -> Bool
    {
        guard derived.describe(base.words).hasPrefix("failure") else { return readsTheSame(base, collector) }
        for index in 0..<base.set.count { collector.note(rootOf: base.set, index, base.set.rootVersion(index)) }
        collector.outcome.isSnapshot = true
        return true
    }
}

extension DerivedObservation {
    /// Makes the links that the sources hold retain the derived value.
    func retain(_ derived: any DerivationNode) { retained = derived }

    /// Ends the links when the closure is destroyed, and not before `cancel()` returns.
    func unlinkLate(_ observer: Observer) {
        _ = observer.whenFinished { [self] _ in
            observerHasEnded()
            leaveDerivedValue()
        }
    }
}
