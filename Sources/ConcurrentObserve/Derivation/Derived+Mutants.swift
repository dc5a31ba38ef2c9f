// SPDX-License-Identifier: Apache-2.0

#if INSTRUMENTED
extension Derived {
    /// Runs the `==` of two results under the lock.
    func isSameUnderLock(_ before: Value, _ value: Value) -> Bool {
        lock.withLock { areEqual.map { $0(before, value) } ?? false }
    }

    /// Takes an error for a result that no change of a source concerns.
    func stillFails(_ before: EvaluationRecord, _ collector: Collector) -> Bool {
        guard "\(before.of(Value.self).value)".hasPrefix("failure") else { return readsTheSame(before, collector) }
        for index in before.versions.indices { collector.note(rootOf: before, index) }
        collector.isSnapshot = true
        return true
    }
}

extension DerivedObservation {
    /// Has what the sources hold retain the derived value.
    func retain(_ derived: Derived<Value>) { retained = derived }

    /// Forgets all but the last of the changes.
    func onlyLast(_ changes: [Change<Value>]) -> [Change<Value>] { changes.suffix(1) }
}
#endif
