// SPDX-License-Identifier: Apache-2.0

public import Synchronization

/// What a derived value consists of, whatever its type: its function, and its present evaluation.
///
/// The evaluation is in a `SourceSet`. Sets are kept as long as the derived value, so that a reader needs no read
/// section and no pin to look into one. A derived value that reads ever other sources would have too many: from the
/// fifth on, and where there are sources whose roots are not known, a set is retired when it is replaced, and its
/// readers pin it.
@safe @usableFromInline
internal struct DerivationCell: ~Copyable, Sendable {
    /// The address of the words of the present set. The lowest bit says that a short look at them does not do: there is
    /// no set yet, or it must be pinned. Stored under `lock`.
    @usableFromInline let present = Atomic<UInt>(1)
    /// The sets that are kept, linked. Stored under `lock`.
    private let kept = Atomic<UInt>(0)
    /// Reads and computes, and hands the result to the collector.
    private let function: @Sendable (Collector) -> Void
    let place: DerivationPlace
    /// No user code runs inside; the locks of the property that is observed, and of its mailboxes, are taken inside. No
    /// thread holds it while the process forks: a child may be the first to read a value that another thread was
    /// publishing. (P18)
    @usableFromInline let lock = SourceLock()

    @usableFromInline
    init(_ place: DerivationPlace, _ function: @escaping @Sendable (Collector) -> Void) {
        (self.place, self.function) = (place, function)
    }

    deinit {
        // Safe: no thread has the derived value any more.
        let address = present.load(ordering: .relaxed)
        if address & 1 == 1, address != 1 { unsafe SourceWords.object(at: address & ~1).release() }
        let first = kept.load(ordering: .relaxed)
        if first != 0 { unsafe SourceWords.object(at: first).release() }
    }

    func run(_ collector: Collector) { function(collector) }
}

// MARK: - Reading

/// What a short look at the present evaluation has found.
@safe @usableFromInline
internal struct CleanRead {
    @usableFromInline let words: Latch.Words
    @usableFromInline let sequence: UInt64
    /// Of the set.
    @usableFromInline let memory: UnsafePointer<UInt64>

    @inlinable @inline(__always)
    init(_ words: Latch.Words, _ sequence: UInt64, _ memory: UnsafePointer<UInt64>) {
        self.words = words
        self.sequence = sequence
        unsafe self.memory = unsafe memory
    }

    /// Whether the evaluation is the present one of its set, after a pin.
    @inlinable @inline(__always)
    var isStill: Bool {
        // Relaxed: after the pin, by the light barrier, as in ValueCell.isPinned(_:).
        unsafe SourceSet.atomic(memory, SourceSet.Place.sequence).pointee.load(ordering: .relaxed) == sequence
    }
}

extension DerivationCell {
    /// The words of the present evaluation, if it is current and a short look says so. Counts no reference, takes no lock.
    @inlinable @inline(__always)
    borrowing func look(firstOnly: Bool) -> CleanRead? {
        // Acquire: pairs with the release in replace(_:with:); what the set says is complete.
        let address = present.load(ordering: .acquiring)
        if address & 1 == 1 { return nil }
        // Safe: the set is kept as long as the derived value, which the caller retains, and its roots' memory as long as the set.
        let memory = unsafe UnsafePointer<UInt64>(bitPattern: address).unsafelyUnwrapped
        // Acquire: pairs with the release in SourceSet.store(_:).
        let before = unsafe SourceSet.atomic(memory, SourceSet.Place.sequence).pointee.load(ordering: .acquiring)
        // Constant, both: how many roots, and where their versions are.
        let count = UInt32(truncatingIfNeeded: unsafe memory[SourceSet.Place.counts])
        var root = unsafe memory + SourceSet.Place.roots
        for _ in 0..<count {
            // Relaxed: the sequence and the fence order it.
            let version = unsafe SourceSet.atomic(root, 1).pointee.load(ordering: .relaxed)
            if unsafe SourceSet.word(at: UInt(root.pointee)) != version, !Self.takesAnyVersion { return nil }
            unsafe root += 2
        }
        // Relaxed, both: as above.
        let first = unsafe SourceSet.atomic(memory, SourceSet.Place.first).pointee.load(ordering: .relaxed)
        inject("derived.look")
        let second =
            firstOnly ? 0 : unsafe SourceSet.atomic(memory, SourceSet.Place.second).pointee.load(ordering: .relaxed)
        // Acquire: pairs with the fence in SourceSet.beginStoring(). If a word was of a later evaluation, the sequence
        // is later, too.
        atomicMemoryFence(ordering: .acquiring)
        // Relaxed: ordered by the fence. Odd: an evaluation is being stored, or is of another set.
        let after = unsafe SourceSet.atomic(memory, SourceSet.Place.sequence).pointee.load(ordering: .relaxed)
        if !Self.isWhole(before, after) { return nil }
        return unsafe CleanRead(Latch.Words(first: UInt(first), second: UInt(second)), before, memory)
    }

    /// Whether all that was read between two looks at a sequence is of one evaluation.
    @inlinable @inline(__always)
    static func isWhole(_ before: UInt64, _ after: UInt64) -> Bool {
        #if INSTRUMENTED
        if mutant(.aDerivedReadIsTorn) { return true }
        #endif
        return after == before && before & 1 == 0
    }

    /// Whether a value is taken to be current whatever has changed: never.
    @inlinable @inline(__always)
    static var takesAnyVersion: Bool {
        #if INSTRUMENTED
        if mutant(.aDerivedValueStaysStale) { return true }
        #endif
        return false
    }

    /// The present evaluation, which need not be current.
    borrowing func load() -> Present {
        while true {
            // Acquire: pairs with the release in replace(with:).
            let address = present.load(ordering: .acquiring)
            if address == 1 { return .none }
            let keeper = address & 1 == 1 ? pinnedSet(address) : nil
            if address & 1 == 1, keeper == nil { continue }
            // Safe: kept as long as the derived value, or by the reference.
            let set = unsafe SourceWords(UnsafeMutablePointer(bitPattern: address & ~1).unsafelyUnwrapped)
            let sequence = set.sequence
            if sequence & 1 == 1 {
                // A thread is about to publish: another set, or another evaluation of this one.
                lock.withLock {}
                continue
            }
            let words = Latch.Words(
                first: UInt(set.word(SourceSet.Place.first)),
                second: UInt(set.word(SourceSet.Place.second))
            )
            let version = set.word(SourceSet.Place.version)
            if set.isStill(sequence) {
                return Present(set: set, keeper: keeper, sequence: sequence, version: version, words: words)
            }
        }
    }

    /// A set that may be retired at any time; nil if another is present meanwhile.
    @inline(never)
    private borrowing func pinnedSet(_ address: UInt) -> SourceSet? {
        // Safe: records are never freed; the frame is this reader's until leaveFrame().
        let record = unsafe ThreadRecord.current
        let frame = unsafe record.enterFrame()
        defer {
            unsafe frame.pointee.unpin()
            unsafe record.leaveFrame()
        }
        unsafe ValueCell<Int>.storePin((address & ~1) &- SourceWords.distance, in: frame)
        AsymmetricBarrier.light(fenced: AsymmetricBarrier.needsFences)
        // Relaxed: as in ValueCell.isPinned(_:); the pin keeps the set.
        guard present.load(ordering: .relaxed) == address else { return nil }
        return unsafe SourceWords.object(at: address & ~1).takeUnretainedValue()
    }
}

// MARK: - Replacing

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
        /// The evaluation that was committed; `none` if none was.
        var present = Present.none
    }

    /// Stores an evaluation of `set`, which is then present. Under the lock.
    borrowing func publish(_ set: SourceWords, _ collector: Collector, after base: Present) -> Replaced {
        let isSame = collector.outcome.isSame
        let isNew = base.isNone || !(base.set == set)
        let version = base.isNone ? 0 : isSame ? base.version : base.version + 1
        let words = isSame ? base.words : collector.outcome.result
        var replaced = Replaced()
        if !base.isNone {
            (replaced.words, replaced.hasWords) = (base.words, !isSame)
            if isNew { base.set.clear() }
        }
        let sequence = set.store { set in collector.store(in: set, version, words) }
        if isNew { replaced.set = replace(with: set.object) }
        replaced.present = Present(
            set: set,
            keeper: isNew ? set.object : base.keeper,
            sequence: sequence,
            version: version,
            words: words
        )
        return replaced
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
