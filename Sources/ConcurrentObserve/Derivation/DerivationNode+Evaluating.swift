// SPDX-License-Identifier: Apache-2.0

// A *root* is a property that stores its own value. A read of a derived value checks whether the
// roots still have the versions that the present evaluation has read. If not, the reader evaluates,
// under no lock. Several threads may evaluate at once. The first to commit over the evaluation with
// which it began publishes its result. The others take that result if it is current, or evaluate
// again. No thread waits for another thread's evaluation, so there is no deadlock. (P25)

extension DerivationNode {
    /// Returns an evaluation that was current during the call. Returns `none` if the evaluation was
    /// not published, and has moved `reader` to copies: then `reader` needs a result on its copies.
    ///
    /// After `mostLosses` commits that failed because another thread was first, the call takes the
    /// present evaluation unchecked. That evaluation began with an evaluation that was published
    /// after this call's first `load()`, and therefore during the call. Its snapshot therefore held
    /// during the call, even if a source has changed since. (P22)
    ///
    /// - Parameter reader: The collector of the function that reads this derived value with its
    ///   `Reader`; nil if there is none.
    @inline(__always)
    final func refresh(for reader: Collector? = nil) -> Present {
        var losses = 0
        while true {
            let base = load()
            if losses == Self.mostLosses || !base.isNone && isCurrent(base) { return base }
            let present = evaluate(after: base, reader != nil)
            if !present.isNone || reader?.isOnCopies ?? false { return present }
            losses += 1
        }
    }

    private static var mostLosses: Int { 2 }

    /// Whether an evaluation is current. The caller must hold no lock.
    ///
    /// If a source has no known roots, reading its version runs code of its own type. That code may
    /// need this derived value, which then needs itself. Therefore such a check is entered on the
    /// evaluation stack, which detects this. If the thread is already evaluating this derived
    /// value, the function checks nothing and returns false: the present evaluation was not
    /// current. (P25)
    final func isCurrent(_ present: borrowing Present) -> Bool {
        if !present.set.hasOthers { return present.isCurrent }
        var isCurrent = false
        if EvaluationStack.current.isInside(address) { return false }
        _ = EvaluationStack.current.perform(self) { collector in
            collector.begin(lookingAt: present)
            isCurrent = present.isCurrent
            return .none
        }
        return isCurrent
    }

    /// Evaluates the derived value, and publishes the result. Returns `none` if another evaluation
    /// was published first.
    private final func evaluate(after base: borrowing Present, _ hasReader: Bool) -> Present {
        return EvaluationStack.current.perform(self, hasReader: hasReader) { collector in
            collect(collector, after: base)
            return commit(collector, over: base)
        }
    }

    /// Repeats the function until all values it read were present at one moment. Does not run the
    /// function if nothing that it reads itself has changed: then the result of `base` stays.
    ///
    /// After several failures the function runs on copies, which were present together. Then a run
    /// fails only if it reads a property that has no copy yet, or one that cannot be copied, such
    /// as one of a type that the library does not know. (P25)
    @inline(__always)
    private final func collect(_ collector: Collector, after base: borrowing Present) {
        var failures = 0
        var watch: SelfWatch?
        while true {
            collector.begin(after: base)
            if !base.isNone, base.set.nodeCount > 0, !collector.isOnCopies, stillReads(base, collector) {
                collector.outcome.isSame = true
            } else {
                collector.evaluate(self)
            }
            if collector.outcome.isSnapshot || collector.isConsistent { break }
            discard(collector)
            if let watch, watch.isHopeless {
                if collector.report(watch, after: base, self) { break }
                discard(collector)
            }
            failures += 1
            collector.endWatch()
            collector.pauseAndRestart()
            if failures >= Self.suspicious {
                watch = SelfWatch(self, after: watch?.runs ?? 0)
                collector.state.watch = watch
            }
        }
        collector.endWatch()
    }

    /// The number of failures after which a `SelfWatch` checks whether the function sets a property
    /// that it reads.
    private static var suspicious: Int { 2 }

    final func discard(_ collector: Collector) {
        if !collector.outcome.isSame, !collector.outcome.isInline { discard(collector.outcome.result) }
    }

    /// Whether all derived values and properties that the function itself reads are unchanged,
    /// although a root has changed. To find out, it evaluates these derived values, in the order in
    /// which the function has read them. It stops at the first one that differs, because the
    /// function may not need the later ones.
    ///
    /// A function that reads all that it needs before it computes checks this itself: see
    /// `Collector.readsTheSame`.
    private final func stillReads(_ base: borrowing Present, _ collector: Collector) -> Bool {
        let set = base.set
        guard !set.isSnapshot, let details = set.object.details else { return false }
        let isSame = details.steps.allSatisfy { step in
            guard step < 0 else {
                let (index, version) = (Int(step), set.rootVersion(Int(step)))
                collector.note(rootOf: set, index, version)
                return DependencySet.version(at: set.address(index)) == version
            }
            // The version of another source does not say whether the values behind it have changed.
            guard step != ReadStep.other else { return false }
            let index = ReadStep.nodeIndex(step)
            return details.nodes[index].node.map { collector.read($0) { $0.version } } == set.nodeVersion(index)
        }
        if !isSame { collector.restart() }
        return isSame
    }
}
