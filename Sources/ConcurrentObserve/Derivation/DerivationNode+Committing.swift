// SPDX-License-Identifier: Apache-2.0

import Synchronization

// Several threads may evaluate a derived value at once. Each begins with the evaluation that is
// present then, its *base*. The first thread that commits over its base publishes its result. A
// *set* is a `DependencySet`, which stores an evaluation. The comment at the top of `Derived.swift`
// explains this folder.

extension DerivationNode {
    /// The result and the set that a commit has replaced.
    struct Replaced {
        /// The replaced result; nil if the result stays.
        var words: Latch.Words?
        /// The replaced result of the property that the user's observers observe; nil if the result
        /// stays, or the value is not observed.
        var announced: Latch.Words?
        /// The address of the replaced set, if it must be retired; else 0.
        var set: UInt = 0
    }

    /// Publishes the evaluation that `collector` has collected, and returns it. If another
    /// evaluation was published since `base`, publishes nothing and returns `none`. Puts a change
    /// of the value into the mailboxes. Another thread may announce the change: see the comment at
    /// the top of `Derived.swift`. (P2)
    @inline(__always)
    final func commit(_ collector: Collector, over base: borrowing Present) -> Present {
        let other = collector.hasReadItsSet ? nil : collector.otherSet(self)
        let set = other?.words ?? collector.state.base!
        var replaced = Replaced()
        let recording = ObservationScope.recordingNumber
        let present = lock.withLock {
            guard isPresentLocked(base) else { return Present.none }
            if recording != 0 || notes != nil { noteRunLocked(of: collector, after: base, in: recording) }
            return publish(set, collector, after: base, &replaced)
        }
        if collector.state.notes != nil { collector.release(collector.state.notes.take()) }
        if present.isNone {
            discard(collector)
        } else if !collector.outcome.isInline || replaced.set != 0 {
            retire(replaced, isInline: collector.outcome.isInline)
        }
        withExtendedLifetime(other) {}
        return present
    }

    /// Whether `base` is still the present evaluation: `present` refers to its set, and the set's
    /// sequence is the same. The caller must hold `lock`.
    final func isPresentLocked(_ base: borrowing Present) -> Bool {
        // Relaxed: the lock orders the changes.
        let address = present.load(ordering: .relaxed)
        if base.isNone { return address == 1 }
        return unsafe address & ~1 == UInt(bitPattern: base.set.memory) && base.set.sequence == base.sequence
    }

    /// Stores an evaluation in `set`, makes `set` the present set, and returns the evaluation.
    /// Notes in `replaced` the words and the set that the caller must retire. If the result differs
    /// from the one in `base`, it is a change for the observers. The caller must hold `lock`.
    @inline(__always)
    private final func publish(
        _ set: DependencyWords,
        _ collector: Collector,
        after base: borrowing Present,
        _ replaced: inout Replaced
    ) -> Present {
        let isSame = collector.outcome.isSame
        let version = base.isNone ? 0 : isSame ? base.version : base.version &+ 1
        let words = isSame ? base.words : collector.outcome.result
        let isOther = base.isNone || set != base.set
        if !isSame, !base.isNone { replaced.words = base.words }
        if isOther, !base.isNone { base.set.clear() }
        let sequence = set.store { set in collector.store(in: set, version, words) }
        if isOther { replaced.set = replace(with: set.object) }
        if !isSame { replaced.announced = observation?.publish(words) }
        // Another thread may retire the set, if the derived value does not keep it.
        let owner = isOther || base.retainsSet ? set.object : nil
        return Present(set: set, sequence: sequence, version: version, words: words, owner: owner)
    }

    /// Makes `set` the present one. Returns the address of the previous set if the caller must
    /// retire it, else 0. The caller must hold `lock`.
    @inline(never)
    private final func replace(with set: DependencySet) -> UInt {
        let address = unsafe UInt(bitPattern: set.words.memory)
        precondition(
            address == UInt(bitPattern: ObjectIdentifier(set)) + DependencyWords.distance,
            "the words of a set are not where readers look for them"
        )
        // Relaxed, all: the lock orders the changes.
        let before = present.load(ordering: .relaxed)
        let keptSets = keptSets
        var isKept = keptSets.contains { $0 === set }
        if !isKept, set.words.isReusable, keptSets.count < Self.mostKept {
            set.header.next = kept
            kept = set
            isKept = true
        }
        // Safe: the reference is released with the derived value, or after another set has replaced
        // this one.
        if !isKept { _ = unsafe Unmanaged.passRetained(set) }
        // Release: pairs with the acquires in look(firstOnly:) and load().
        present.store(isKept ? address : address | 1, ordering: .releasing)
        return before & 1 == 1 && before != 1 ? (before & ~1) &- DependencyWords.distance : 0
    }

    /// The largest number of sets that are kept. Most functions read two or three different sets.
    private static var mostKept: Int { 4 }

    /// The sets that the derived value keeps as long as it exists, the latest first. The caller
    /// must hold `lock`.
    private final var keptSets: [DependencySet] {
        kept.map { Array(sequence(first: $0) { $0.header.next }) } ?? []
    }

    /// Returns the kept set that names the sources that were read; nil if there is none.
    final func find(_ collection: Collected) -> DependencySet? {
        lock.withLock { keptSets }.first(where: collection.isOf)
    }

    /// Retires the results and the set that a commit has replaced. They are destroyed when no
    /// reader uses them any more. The caller must hold no lock.
    final func retire(_ replaced: Replaced, isInline: Bool) {
        if !isInline {
            if let words = replaced.announced { retire(words) }
            if let words = replaced.words { retire(words) }
        }
        if replaced.set != 0 {
            // The set may own other sources, of any type, so releasing it may run user code.
            ThreadRecord.retireForDeinitThreads(reference: replaced.set, from: address)
        }
    }
}
