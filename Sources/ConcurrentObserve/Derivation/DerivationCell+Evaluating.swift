// SPDX-License-Identifier: Apache-2.0

// A read looks whether the roots of the present evaluation have the versions still that it has read. If not, it
// evaluates, under no lock, and no thread waits for another: several may evaluate at once, each for itself. The first
// to commit over the evaluation with which it began publishes its result; the others take that, if it is current. A
// deadlock is impossible, since nothing is waited for. (P25)

extension DerivationCell {
    /// An evaluation that was current during the call.
    borrowing func refresh(_ derived: any DerivationNode) -> Present {
        while true {
            let base = load()
            if !base.isNone, isCurrent(base) { return base }
            let present = evaluate(after: base, derived)
            if !present.isNone { return present }
        }
    }

    /// Whether an evaluation is current. Under no lock.
    private borrowing func isCurrent(_ present: Present) -> Bool {
        #if INSTRUMENTED
        if mutant(.aDerivedValueStaysStale) { return true }
        #endif
        return present.isCurrent
    }

    /// Evaluates, and publishes; `none` if another thread was first.
    private borrowing func evaluate(after base: Present, _ derived: any DerivationNode) -> Present {
        EvaluationStack.current.perform(derived, place) { collector in
            collect(collector, after: base, derived)
            inject("derived.collected")
            return commit(collector, over: base, derived)
        }
    }

    /// Runs the function, or `base`'s if nothing that it reads has changed, until the result is of what was there together.
    private borrowing func collect(_ collector: Collector, after base: Present, _ derived: any DerivationNode) {
        var wait = Backoff()
        var failures = 0
        var watch: SelfWatch?
        while true {
            if failures >= Self.suspicious { watch = SelfWatch(derived, place, after: watch?.runs ?? 0) }
            collector.begin(after: base, watch: watch)
            defer { collector.endWatch() }
            if !base.isNone, stillReads(base, collector, derived) {
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
    /// To come: after several failures the function runs on copies, taken together under the locks of the sources that
    /// it has read. Today the double collect is repeated, with longer and longer pauses.
    private borrowing func pauseBeforeRetry(_ wait: inout Backoff) { wait.pause() }

    private borrowing func discard(_ collector: Collector, _ derived: any DerivationNode) {
        if !collector.outcome.isSame, !collector.outcome.isInline { derived.discard(collector.outcome.result) }
    }

    /// Whether all that the function has read is what it was, though roots have changed: the derived values among it,
    /// which are evaluated for that, in the order in which the function has read them. After the first that differs no
    /// other is: the function may not need it.
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
                guard step != ReadStep.other else { return false }
                let index = ReadStep.nodeIndex(step)
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
    private borrowing func commit(
        _ collector: Collector,
        over base: Present,
        _ derived: any DerivationNode
    ) -> Present {
        let new = collector.newSet(self)
        let set = new?.words ?? base.set
        var replaced = Replaced()
        lock.withLock {
            let before = replacedBy(base)
            guard isPresent(before) else { return }
            replaced = publish(set, collector, after: before)
            guard !collector.outcome.isSame else { return }
            replaced.hasAnnounced = derived.publishToObservers(collector.outcome.result, &replaced.announced)
        }
        withExtendedLifetime(new) {}
        if replaced.present.isNone {
            discard(collector, derived)
        } else {
            retire(replaced, of: derived, isInline: collector.outcome.isInline)
        }
        return replaced.present
    }

    /// What the commit of an evaluation that began with `base` replaces. Under the lock.
    private borrowing func replacedBy(_ base: Present) -> Present {
        #if INSTRUMENTED
        if mutant(.aStaleResultIsCommitted) { return load() }
        #endif
        return base
    }

    /// Whether an evaluation is the present one. Under the lock.
    borrowing func isPresent(_ base: Present) -> Bool {
        // Relaxed: the lock orders the changes.
        let address = present.load(ordering: .relaxed)
        if base.isNone { return address == 1 }
        return unsafe address & ~1 == UInt(bitPattern: base.set.memory) && base.set.sequence == base.sequence
    }
}
