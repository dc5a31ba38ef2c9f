// SPDX-License-Identifier: Apache-2.0

// A read looks whether the roots of the present evaluation have the versions still that it has read. If not, it evaluates, under no
// lock, and no thread waits for another: several may evaluate at once, each for itself. The first to commit over the evaluation with which it
// began publishes its result; the others take that, if it is current. A deadlock is impossible, since nothing is waited for. (P25)

extension DerivationCell {
    /// An evaluation that was current during the call.
    borrowing func refresh(_ derived: any DerivationNode) -> Present {
        while true {
            let base = load()
            if let base, isCurrent(base) { return base }
            if let present = evaluate(after: base, derived) { return present }
        }
    }

    /// Whether an evaluation is current. Under no lock.
    private borrowing func isCurrent(_ present: Present) -> Bool {
        #if INSTRUMENTED
        if mutant(.aDerivedValueStaysStale) { return true }
        #endif
        return present.isCurrent
    }

    /// Evaluates, and publishes; nil if another thread was first.
    private borrowing func evaluate(after base: Present?, _ derived: any DerivationNode) -> Present? {
        let stack = EvaluationStack.current
        let collector = stack.enter(derived, place)
        defer { stack.leave() }
        collect(collector, after: base, derived)
        inject("derived.collected")
        return commit(collector, over: base, derived)
    }

    /// Runs the function, or `base`'s if nothing that it reads has changed, until the result is of what was there together.
    private borrowing func collect(_ collector: Collector, after base: Present?, _ derived: any DerivationNode) {
        var wait = Backoff()
        var failures = 0
        while true {
            let watch = failures < Self.suspicious ? nil : SelfWatch(derived, place)
            defer { watch?.end() }
            collector.begin(after: base, watch: watch)
            if let base, stillReads(base, collector, derived) {
                collector.outcome.isSame = true
            } else {
                collector.restart()
                ThreadRecord.withUserCode { run(collector) }
            }
            inject("derived.evaluated")
            if collector.outcome.isSnapshot || collector.isConsistent { return }
            discard(collector, derived)
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
    private borrowing func pauseBeforeRetry(_ wait: inout Backoff) { wait.pause() }

    private borrowing func discard(_ collector: Collector, _ derived: any DerivationNode) {
        if !collector.outcome.isSame, !collector.outcome.isInline { derived.discard(collector.outcome.result) }
    }

    /// Whether all that the function has read is what it was, though roots have changed: the derived values among it, which are evaluated
    /// for that, in the order in which the function has read them. After the first that differs no other is: the function may not need it.
    private borrowing func stillReads(_ base: Present, _ collector: Collector, _ derived: any DerivationNode) -> Bool {
        #if INSTRUMENTED
        if mutant(.anErrorStays) { return stillFails(base, collector, derived) }
        #endif
        return readsTheSame(base, collector)
    }

    borrowing func readsTheSame(_ base: Present, _ collector: Collector) -> Bool {
        let set = base.set
        guard set.nodeCount > 0, let details = set.object.details else { return false }
        for step in details.steps {
            if step >= 0 {
                let index = Int(step)
                let version = set.rootVersion(index)
                guard SourceSet.version(at: set.address(index)) == version else { return false }
                collector.note(rootOf: set, index, version)
            } else {
                // The version of another source does not say whether what it is made of has changed.
                guard step != Step.other else { return false }
                let index = Step.nodeIndex(step)
                guard let node = details.nodes[index].node else { return false }
                guard node.note(in: collector) == set.nodeVersion(index) else { return false }
            }
        }
        return true
    }
}

// MARK: - Committing

extension DerivationCell {
    /// Publishes an evaluation, unless another was published since `base`. Puts a change of the value into the mailboxes, and
    /// leaves its announcement to the thread that has changed a source. (P2)
    private borrowing func commit(_ collector: Collector, over base: Present?, _ derived: any DerivationNode)
        -> Present?
    {
        let new = collector.newSet(self)
        let set = new?.words ?? base!.set
        let replaced = lock.withLock { () -> Replaced? in
            guard let before = stillPresent(base) else { return nil }
            var replaced = publish(set, collector, after: before.base)
            if !collector.outcome.isSame { replaced.announced = derived.publishToObservers(collector.outcome.result) }
            return replaced
        }
        withExtendedLifetime(new) {}
        guard let replaced else {
            discard(collector, derived)
            return nil
        }
        retire(replaced, of: derived, isInline: collector.outcome.isInline)
        return replaced.present
    }

    private struct Before { let base: Present? }

    /// What the commit replaces: `base`, or nothing if another evaluation is present. Under the lock.
    private borrowing func stillPresent(_ base: Present?) -> Before? {
        #if INSTRUMENTED
        if mutant(.aStaleResultIsCommitted) { return Before(base: underLock()) }
        #endif
        guard isPresent(base) else { return nil }
        return Before(base: base)
    }

    /// Whether an evaluation is the present one; nil is that before the first. Under the lock.
    borrowing func isPresent(_ base: Present?) -> Bool {
        // Relaxed: the lock orders the changes.
        let address = present.load(ordering: .relaxed)
        guard let base else { return address == 1 }
        return unsafe address & ~1 == UInt(bitPattern: base.set.memory) && base.set.sequence == base.sequence
    }

    #if INSTRUMENTED
    /// The present evaluation. Under the lock: nothing is being stored.
    private borrowing func underLock() -> Present? { load() }
    #endif
}
