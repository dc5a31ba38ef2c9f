// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension DerivationCell {
    /// What a commit has replaced.
    struct Replaced {
        /// The result, if another takes its place.
        var words = Latch.Words()
        var hasWords = false
        /// The result that the observers' property had.
        var announced = Latch.Words()
        var hasAnnounced = false
        /// A set that is not kept.
        var set: UInt = 0
    }

    /// Stores an evaluation of the present set, and makes its result a change for the observers. Under the lock.
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

    /// Stores an evaluation of another set, which is then present, and makes its result a change for the observers. Under the lock.
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
        // Another thread may retire it, if it is not kept.
        set.retain()
        return Present(set: set, keepsSet: true, sequence: sequence, version: version, words: words)
    }

    private borrowing func announce(_ words: Latch.Words, _ replaced: inout Replaced) {
        guard let announced = withObservation({ $0.publish(words) }) ?? nil else { return }
        (replaced.announced, replaced.hasAnnounced) = (announced, true)
    }

    /// Has another set be present. Returns the one before, if it is to be retired. Under the lock.
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
            // Safe, all: released with the derived value.
            let first = kept.load(ordering: .relaxed)
            if first != 0 { set.header.next = unsafe SourceWords.object(at: first).takeRetainedValue() }
            _ = unsafe Unmanaged.passRetained(set)
            // Release: pairs with the acquire in forEachKept(_:); the link is complete.
            kept.store(address, ordering: .releasing)
            isKept = true
        }
        if !isKept { _ = unsafe Unmanaged.passRetained(set) }
        // Release: pairs with the acquires of the readers.
        present.store(isKept ? address : address | 1, ordering: .releasing)
        return before & 1 == 1 && before != 1 ? (before & ~1) &- SourceWords.distance : 0
    }

    /// So many sets are kept: most functions know two or three ways.
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

    /// The set that is kept of what was read, if there is one.
    borrowing func find(_ collection: Collected) -> SourceSet? { forEachKept(collection.isOf) }

    /// Has what was replaced destroyed when no reader uses it any more. Under no lock.
    borrowing func retire(_ replaced: Replaced, of derived: any DerivationNode, isInline: Bool) {
        if !isInline {
            if replaced.hasAnnounced { derived.retire(replaced.announced) }
            if replaced.hasWords { derived.retire(replaced.words) }
        }
        if replaced.set != 0 {
            // It may have other sources, of any type.
            ThreadRecord.retireForDeinitThreads(
                reference: replaced.set,
                from: UInt(bitPattern: ObjectIdentifier(derived))
            )
        }
    }
}
