// SPDX-License-Identifier: Apache-2.0

extension Collector {
    /// Marks the thread as under a lock while it compares two results.
    @usableFromInline
    func enterAsUnderLock() -> Bool {
        guard mutant(.resultsAreComparedUnderTheLock) else { return false }
        enterForbiddenForUserCode()
        return true
    }

    @usableFromInline
    func leaveAsUnderLock(_ isUnderLock: Bool) { if isUnderLock { leaveForbiddenForUserCode() } }
}

extension DerivationNode {
    /// Holds a lock while a function runs, as if no function ever needed what another thread
    /// evaluates.
    final func holdIfMutant() -> Bool {
        guard mutant(.anEvaluationHoldsALock) else { return false }
        evaluating.acquire()
        return true
    }

    /// Takes an error for a result that no change of a source concerns.
    final func errorStays(_ base: borrowing Present, _ collector: Collector) -> Bool {
        guard mutant(.anErrorStays), describe(base.words).hasPrefix("failure") else { return false }
        for index in 0..<base.set.count { collector.note(rootOf: base.set, index, base.set.rootVersion(index)) }
        collector.outcome.isSnapshot = true
        return true
    }
}

extension DerivedObservation {
    /// Ends the links when the closure is destroyed, and not before `cancel()` returns.
    func unlinkLate(_ observer: Observer) {
        _ = observer.whenFinished { [self] _ in
            observerHasEnded()
            leaveDerivedValue()
        }
    }
}
