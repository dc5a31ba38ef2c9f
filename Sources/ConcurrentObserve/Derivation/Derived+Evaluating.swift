// SPDX-License-Identifier: Apache-2.0

// A read looks whether the roots of the present evaluation have the versions still that it has read. If not, it evaluates, under no
// lock, and no thread waits for another: several may evaluate at once, each for itself. The first to commit over the evaluation with which it
// began publishes its result; the others take that, if it is current. A deadlock is impossible, since nothing is waited for. (P25)

extension Derived: DerivationNode {
    func currentRecord() -> EvaluationRecord { evaluation() }

    /// An evaluation that was current during the call.
    func evaluation() -> Evaluation<Value> {
        while true {
            let base = cell.load().value
            if isCurrent(base) { return base.of(Value.self) }
            let evaluation = EvaluationFrame.perform(self, file, line) { evaluate(after: base) }
            inject("derived.collected")
            if commit(evaluation, over: base) { return evaluation }
        }
    }

    /// Whether an evaluation is current: it may be `none`, which never is. Under no lock.
    func isCurrent(_ record: EvaluationRecord) -> Bool {
        #if INSTRUMENTED
        if mutant(.aDerivedValueStaysStale) { return !record.isNone }
        #endif
        return record.isCurrent
    }

    /// A new evaluation: of the function, or of `base` if nothing that the function reads has changed.
    private func evaluate(after base: EvaluationRecord) -> Evaluation<Value> {
        var wait = Backoff()
        var failures = 0
        while true {
            let watch = failures < Self.suspicious ? nil : SelfWatch(self, file, line)
            let collector = Collector(watch: watch)
            defer { watch?.end() }
            let result = result(after: base, collector)
            inject("derived.evaluated")
            if collector.isSnapshot || collector.isConsistent {
                return Evaluation(result.value, result.version, collector.finish(after: base))
            }
            failures += 1
            pauseBeforeRetry(&wait)
        }
    }

    /// After so many failures the function may be one that sets what it reads.
    private static var suspicious: Int { 2 }

    /// What is done when sources keep changing while the function runs. Others make progress meanwhile: each failure is a change.
    ///
    /// To come: after several failures the function runs on copies, taken together under the locks of the sources that it has read. Today the double
    /// collect is repeated, with longer and longer pauses.
    private func pauseBeforeRetry(_ wait: inout Backoff) { wait.pause() }

    private func result(after base: EvaluationRecord, _ collector: Collector) -> (value: Value, version: UInt64) {
        let before = base.isNone ? nil : base.of(Value.self)
        if let before, stillReads(before, collector) { return (before.value, before.version) }
        collector.clear()
        let value = ThreadRecord.withUserCode { function(collector) }
        guard let before else { return (value, 0) }
        if isSame(before.value, value) { return (before.value, before.version) }
        return (value, before.version + 1)
    }

    private func isSame(_ before: Value, _ value: Value) -> Bool {
        #if INSTRUMENTED
        if mutant(.resultsAreComparedUnderTheLock) { return isSameUnderLock(before, value) }
        #endif
        guard let areEqual, !countsEqual else { return false }
        return ThreadRecord.withUserCode { areEqual(before, value) }
    }

    /// Whether a result that equals the one before is a change all the same: never.
    private var countsEqual: Bool {
        #if INSTRUMENTED
        if mutant(.anEqualResultIsAChange) { return true }
        #endif
        return false
    }

    /// Whether all that the function has read is what it was, though roots have changed: the derived values among it, which are evaluated
    /// for that, in the order in which the function has read them. After the first that differs no other is: the function may not need it.
    private func stillReads(_ before: EvaluationRecord, _ collector: Collector) -> Bool {
        #if INSTRUMENTED
        if mutant(.anErrorStays) { return stillFails(before, collector) }
        #endif
        return readsTheSame(before, collector)
    }

    func readsTheSame(_ before: EvaluationRecord, _ collector: Collector) -> Bool {
        if before.steps.isEmpty { return false }
        for step in before.steps {
            switch step {
            case .root(let index):
                guard SourceSet.version(at: before.sources.addresses[index]) == before.versions[index] else {
                    return false
                }
                collector.note(rootOf: before, index)
            case .other:
                // Its version does not say whether what it is made of has changed.
                return false
            case .derived(let reference, let version):
                guard let node = reference.node else { return false }
                let record = node.currentRecord()
                guard record.version == version else { return false }
                collector.note(node, record)
            }
        }
        return true
    }
}

// MARK: - Committing

extension Derived {
    /// What a commit has replaced.
    private struct Replaced: ~Copyable {
        var record: EvaluationCell.Replaced
        var value: ValueCell<Value>.Replaced?
    }

    /// Publishes an evaluation, unless another was published since `base`. Puts a change of the value into the mailboxes, and
    /// leaves its announcement to the thread that has changed a source. (P2)
    private func commit(_ evaluation: Evaluation<Value>, over base: EvaluationRecord) -> Bool {
        let words = cell.encode(evaluation)
        let replaced = lock.withLock { () -> Replaced? in
            guard isPresent(base) else { return nil }
            let record = cell.publish(words)
            return Replaced(record: record, value: publishToObservers(evaluation, after: base))
        }
        guard var replaced else {
            EvaluationCell.Encoding.discard(words)
            return false
        }
        if let value = replaced.value.take() { value.retire() }
        replaced.record.retire()
        return true
    }

    /// Whether no evaluation was published since `base`, which the caller retains. Under the lock.
    private func isPresent(_ base: EvaluationRecord) -> Bool {
        #if INSTRUMENTED
        if mutant(.aStaleResultIsCommitted) { return true }
        #endif
        return cell.isPresent(base)
    }

    /// Under the lock.
    private func publishToObservers(
        _ evaluation: Evaluation<Value>,
        after base: EvaluationRecord
    ) -> ValueCell<Value>.Replaced? {
        guard let observation, evaluation.version != base.version || base.isNone else { return nil }
        return observation.publish(evaluation.value)
    }
}
