// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension DerivationCell {
    /// The result and the set that a commit has replaced.
    struct Replaced {
        /// The replaced result. `hasWords` is false if the result stays.
        var words = Latch.Words()
        var hasWords = false
        /// The replaced result of the property that the user's observers observe.
        var announced = Latch.Words()
        var hasAnnounced = false
        /// The address of the replaced set, if it must be retired; else 0.
        var set: UInt = 0
    }

    /// Stores an evaluation in the present set. A result that differs is a change for the
    /// observers. The caller must hold `lock`.
    @inline(__always)
    borrowing func publishAgain(
        _ collector: Collector,
        after base: borrowing Present,
        _ replaced: inout Replaced
    ) -> Present {
        let (set, isSame) = (base.set, collector.outcome.isSame)
        let version = isSame ? base.version : base.version &+ 1
        let words = isSame ? base.words : collector.outcome.result
        (replaced.words, replaced.hasWords) = (base.words, !isSame)
        let sequence = set.store { set in collector.store(in: set, version, words) }
        if !isSame { announce(words, &replaced) }
        if base.keepsSet { set.retain() }
        return Present(set: set, keepsSet: base.keepsSet, sequence: sequence, version: version, words: words)
    }

    /// Stores an evaluation in another set, and makes that the present one. A result that differs
    /// is a change for the observers. The caller must hold `lock`.
    @inline(never)
    borrowing func publish(
        _ set: SourceWords,
        _ collector: Collector,
        after base: borrowing Present,
        _ replaced: inout Replaced
    ) -> Present {
        let isSame = collector.outcome.isSame
        let version = base.isNone ? 0 : isSame ? base.version : base.version + 1
        let words = isSame ? base.words : collector.outcome.result
        if !base.isNone {
            (replaced.words, replaced.hasWords) = (base.words, !isSame)
            base.set.clear()
        }
        let sequence = set.store { set in collector.store(in: set, version, words) }
        replaced.set = replace(with: set.object)
        if !isSame { announce(words, &replaced) }
        // Another thread may retire the set, if the derived value does not keep it.
        set.retain()
        return Present(set: set, keepsSet: true, sequence: sequence, version: version, words: words)
    }

    private borrowing func announce(_ words: Latch.Words, _ replaced: inout Replaced) {
        guard let announced = withObservation({ $0.publish(words) }) ?? nil else { return }
        (replaced.announced, replaced.hasAnnounced) = (announced, true)
    }

    /// Makes `set` the present one. Returns the address of the previous set if the caller must
    /// retire it, else 0. The caller must hold `lock`.
    @inline(never)
    private borrowing func replace(with set: SourceSet) -> UInt {
        let address = unsafe UInt(bitPattern: set.words.memory)
        precondition(
            address == UInt(bitPattern: ObjectIdentifier(set)) + SourceWords.distance,
            "the words of a set are not where readers look for them"
        )
        // Relaxed, all: the lock orders the changes.
        let before = present.load(ordering: .relaxed)
        var isKept = isKept(set)
        if !isKept, !set.words.hasOthers, keptCount < Self.mostKept {
            // Safe, all: a kept set is released with the derived value.
            let first = kept.load(ordering: .relaxed)
            if first != 0 { set.header.next = unsafe SourceWords.object(at: first).takeRetainedValue() }
            _ = unsafe Unmanaged.passRetained(set)
            // Release: pairs with the acquire in forEachKept(_:); the link is complete.
            kept.store(address, ordering: .releasing)
            isKept = true
        }
        if !isKept { _ = unsafe Unmanaged.passRetained(set) }
        // Release: pairs with the acquires in look(firstOnly:), load() and loadSlowly().
        present.store(isKept ? address : address | 1, ordering: .releasing)
        return before & 1 == 1 && before != 1 ? (before & ~1) &- SourceWords.distance : 0
    }

    /// The largest number of sets that are kept. Most functions read two or three different sets.
    private static var mostKept: Int { 4 }

    private borrowing func forEachKept(_ body: (SourceSet) -> Bool) -> SourceSet? {
        // Acquire: pairs with the release in replace(with:).
        let first = kept.load(ordering: .acquiring)
        // Safe: kept as long as the derived value.
        var next = first == 0 ? nil : unsafe SourceWords.object(at: first).takeUnretainedValue()
        while let set = next {
            if body(set) { return set }
            next = set.header.next
        }
        return nil
    }
    private borrowing func isKept(_ set: SourceSet) -> Bool { forEachKept { $0 === set } != nil }

    private var keptCount: Int {
        var count = 0
        _ = forEachKept { _ in
            count += 1
            return false
        }
        return count
    }

    /// Returns the kept set for what was read, if there is one.
    borrowing func find(_ collection: Collected) -> SourceSet? { forEachKept(collection.isOf) }

    /// Retires what a commit has replaced: it is destroyed when no reader uses it any more. The
    /// caller must hold no lock.
    borrowing func retire(_ replaced: Replaced, of derived: any DerivationNode, isInline: Bool) {
        if !isInline {
            if replaced.hasAnnounced { derived.retire(replaced.announced) }
            if replaced.hasWords { derived.retire(replaced.words) }
        }
        if replaced.set != 0 {
            // The set may own other sources, of any type, so releasing it may run user code.
            ThreadRecord.retireForDeinitThreads(
                reference: replaced.set,
                from: UInt(bitPattern: ObjectIdentifier(derived))
            )
        }
    }
}
