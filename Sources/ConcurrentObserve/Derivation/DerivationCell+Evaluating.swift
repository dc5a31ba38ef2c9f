// SPDX-License-Identifier: Apache-2.0

// A read looks whether the roots of the present evaluation have the versions still that it has read. If not, it
// evaluates, under no lock, and no thread waits for another: several may evaluate at once, each for itself. The first
// to commit over the evaluation with which it began publishes its result; the others take that, if it is current. A
// deadlock is impossible, since nothing is waited for. (P25)

extension DerivationCell {
    /// An evaluation that was current during the call; `none` if a reader is given, and has an answer that is not published.
    borrowing func refresh(_ derived: any DerivationNode, for reader: Collector? = nil) -> Present {
        let base = load()
        if !base.isNone, isCurrent(base, derived) { return base }
        let present = evaluate(after: base, derived, for: reader)
        return present.isNone ? refreshAgain(derived, for: reader) : present
    }

    /// After another thread was first.
    @inline(never)
    private borrowing func refreshAgain(_ derived: any DerivationNode, for reader: Collector?) -> Present {
        var losses = 1
        while true {
            if reader?.state.ring?.answer != nil { return .none }
            let base = load()
            if losses == Self.mostLosses || isCurrent(base, derived) { return base }
            let present = evaluate(after: base, derived, for: reader)
            if !present.isNone { return present }
            losses += 1
        }
    }

    /// If so many evaluations were published while the call made one, the last of them has begun when the first was there, and so during
    /// the call: its snapshot is one that held during the call, though a source may have changed since. (P22)
    private static var mostLosses: Int { 2 }

    /// Whether an evaluation is current. Under no lock.
    private borrowing func isCurrent(_ present: borrowing Present, _ derived: any DerivationNode) -> Bool {
        return present.set.hasOthers ? areOthersCurrent(present, derived) : present.isCurrent
    }

    /// Other sources run code of their own, which may need this value: then the look is a step of a ring, as an evaluation is. (P25)
    @inline(never)
    private borrowing func areOthersCurrent(_ present: borrowing Present, _ derived: any DerivationNode) -> Bool {
        var isCurrent = false
        _ = EvaluationStack.current.perform(derived, place) { collector in
            collector.begin(lookingAt: present)
            isCurrent = present.isCurrent
            return .none
        }
        return isCurrent
    }

    /// Evaluates, and publishes; `none` if another thread was first.
    private borrowing func evaluate(
        after base: borrowing Present,
        _ derived: any DerivationNode,
        for reader: Collector?
    ) -> Present {
        return EvaluationStack.current.perform(derived, place, for: reader) { collector in
            collect(collector, after: base, derived)
            if let reader, collector.isInsideRing {
                reader.answer(CopiedResult(derived, collector))
                return .none
            }
            return commit(collector, over: base, derived)
        }
    }

    /// Runs the function, or `base`'s if nothing that it reads has changed, until the result is of what was there together.
    @inline(__always)
    private borrowing func collect(
        _ collector: Collector,
        after base: borrowing Present,
        _ derived: any DerivationNode
    ) {
        collector.begin(after: base, watch: nil)
        if collectOnce(collector, after: base, derived) { return }
        collectAgain(collector, after: base, derived)
    }

    /// Returns whether the result is of what was there together.
    @inline(__always)
    private borrowing func collectOnce(
        _ collector: Collector,
        after base: borrowing Present,
        _ derived: any DerivationNode
    ) -> Bool {
        if !base.isNone, !collector.outcome.isOnCopies, stillReads(base, collector, derived) {
            collector.outcome.isSame = true
        } else {
            ThreadRecord.withUserCode { run(collector) }
        }
        return collector.outcome.isSnapshot || collector.isConsistent
    }

    /// After several failures the function runs on copies, which were present together: then it fails again only where it reads
    /// what it has not read before, or what cannot be copied, as a property of a type that the library does not know. (P25)
    @inline(never)
    private borrowing func collectAgain(
        _ collector: Collector,
        after base: borrowing Present,
        _ derived: any DerivationNode
    ) {
        var wait = Backoff()
        var failures = 0
        var watch: SelfWatch?
        var isDone = false
        repeat {
            discard(collector, derived)
            failures += 1
            collector.endWatch()
            collector.noteFailure()
            wait.pause()
            if failures >= Self.suspicious, Fork.generation == 0 {
                watch = SelfWatch(derived, place, after: watch?.runs ?? 0)
            }
            collector.begin(after: base, watch: watch)
            isDone = collectOnce(collector, after: base, derived)
            if !isDone, watch?.isHopeless == true {
                discard(collector, derived)
                isDone = collector.report(after: base, derived)
            }
        } while !isDone
        collector.endWatch()
    }

    /// After so many failures the function may be one that sets what it reads. In the child of a fork none is suspected: to look at a
    /// source waits for ever where a thread that does not exist there was changing it. (P18)
    private static var suspicious: Int { 2 }

    private borrowing func discard(_ collector: Collector, _ derived: any DerivationNode) {
        if !collector.outcome.isSame, !collector.outcome.isInline { derived.discard(collector.outcome.result) }
    }

    /// Whether all that the function has read is what it was, though roots have changed: the derived values among it,
    /// which are evaluated for that, in the order in which the function has read them. After the first that differs no
    /// other is: the function may not need it.
    /// A function that reads all that it needs before it computes does that itself: see `Collector.readsTheSame`.
    private borrowing func stillReads(
        _ base: borrowing Present,
        _ collector: Collector,
        _ derived: any DerivationNode
    ) -> Bool {
        let set = base.set
        if set.nodeCount == 0 || set.isSnapshot { return false }
        if readsTheSame(base, collector) { return true }
        collector.restart()
        return false
    }

    borrowing func readsTheSame(_ base: borrowing Present, _ collector: Collector) -> Bool {
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
    @inline(__always)
    private borrowing func commit(
        _ collector: Collector,
        over base: borrowing Present,
        _ derived: any DerivationNode
    ) -> Present {
        if !collector.hasReadItsSet { return commitOther(collector, over: base, derived) }
        return commit(collector, over: base, derived) { replaced in publishAgain(collector, after: base, &replaced) }
    }

    /// An evaluation that has read something else than the one before.
    @inline(never)
    private borrowing func commitOther(
        _ collector: Collector,
        over base: borrowing Present,
        _ derived: any DerivationNode
    ) -> Present {
        guard let new = collector.newSet(self) else {
            return commit(collector, over: base, derived) { replaced in publishAgain(collector, after: base, &replaced)
            }
        }
        return withExtendedLifetime(new) {
            commit(collector, over: base, derived) { replaced in publish(new.words, collector, after: base, &replaced) }
        }
    }

    @inline(__always)
    borrowing func commit(
        _ collector: Collector,
        over base: borrowing Present,
        _ derived: any DerivationNode,
        _ publish: (inout Replaced) -> Present
    ) -> Present {
        var replaced = Replaced()
        let present = lock.withLock { isPresent(base) ? publish(&replaced) : .none }
        if present.isNone {
            discard(collector, derived)
        } else if !collector.outcome.isInline || replaced.set != 0 {
            retire(replaced, of: derived, isInline: collector.outcome.isInline)
        }
        return present
    }

    /// Whether an evaluation is the present one. Under the lock.
    borrowing func isPresent(_ base: borrowing Present) -> Bool {
        // Relaxed: the lock orders the changes.
        let address = present.load(ordering: .relaxed)
        if base.isNone { return address == 1 }
        return unsafe address & ~1 == UInt(bitPattern: base.set.memory) && base.set.sequence == base.sequence
    }
}
