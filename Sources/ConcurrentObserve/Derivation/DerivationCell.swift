// SPDX-License-Identifier: Apache-2.0

public import Synchronization

/// The part of a derived value that does not depend on its type: the function and the present
/// evaluation.
///
/// The evaluation is in a `DependencySet`. The derived value keeps its first four sets as long as
/// it lives, so that a reader looks into them without a read section and a pin. Further sets are
/// not kept, since a function may read different sources each time. Sets with sources whose roots
/// are not known are not kept either. Such a set is retired when it is replaced, and its readers
/// pin it.
@safe @usableFromInline
internal struct DerivationCell: ~Copyable, Sendable {
    /// The address of the present set's words. The lowest bit is set if readers must not look at
    /// them directly: there is no set yet, or it must be pinned. Stored under `lock`.
    @usableFromInline let present = Atomic<UInt>(1)
    /// The address of the words of the kept set that was added last, or 0. Kept sets are linked.
    /// Stored under `lock`.
    let kept = Atomic<UInt>(0)
    /// Reads, computes, and hands the result to the collector.
    private let function: @Sendable (Collector) -> Void
    let place: DerivationPlace
    /// Whether the function names its sources. Then it can make a function that references them
    /// weakly: see `Collector.weaken`.
    let namesSources: Bool
    /// No user code runs under this lock. The locks of the observed property and of its mailboxes
    /// are taken inside.
    @usableFromInline let lock = SourceLock()

    @usableFromInline
    init(_ place: DerivationPlace, namesSources: Bool, _ function: @escaping @Sendable (Collector) -> Void) {
        (self.place, self.namesSources, self.function) = (place, namesSources, function)
    }

    /// Makes the cell of a successor, which takes over the evaluation and the observers. The
    /// `deinit` of the other derived value has begun.
    ///
    /// - Parameter function: The successor's function; nil if it is the same.
    init(succeeding other: borrowing DerivationCell, _ function: (@Sendable (Collector) -> Void)?) {
        self.init(other.place, namesSources: false, function ?? other.function)
        // Relaxed, all: no other thread has either cell. The references move with the addresses.
        present.store(other.present.exchange(1, ordering: .relaxed), ordering: .relaxed)
        kept.store(other.kept.exchange(0, ordering: .relaxed), ordering: .relaxed)
    }

    deinit {
        // Safe: no thread has the derived value any more.
        let address = present.load(ordering: .relaxed)
        if address & 1 == 1, address != 1 { unsafe DependencyWords.object(at: address & ~1).release() }
        let first = kept.load(ordering: .relaxed)
        if first != 0 { unsafe DependencyWords.object(at: first).release() }
    }

    func run(_ collector: Collector) { function(collector) }
}

// MARK: - Reading

/// The result of a direct look at the present evaluation.
@safe @usableFromInline
internal struct CleanRead {
    @usableFromInline let words: Latch.Words
    @usableFromInline let sequence: UInt64
    /// The words of the set.
    @usableFromInline let memory: UnsafePointer<UInt64>

    @inlinable @inline(__always)
    init(_ words: Latch.Words, _ sequence: UInt64, _ memory: UnsafePointer<UInt64>) {
        self.words = words
        self.sequence = sequence
        unsafe self.memory = unsafe memory
    }

    /// Whether the evaluation is still in its set. Call it after a pin.
    @inlinable @inline(__always)
    var isStill: Bool {
        // Relaxed: after the pin, by the light barrier, as in ValueCell.isPinned(_:).
        unsafe DependencySet.atomic(memory, DependencySet.Place.sequence).pointee.load(ordering: .relaxed) == sequence
    }
}

extension DerivationCell {
    /// Returns the words of the present evaluation, if a direct look shows that it is current; else
    /// nil. Counts no reference and takes no lock.
    ///
    /// - Parameter firstOnly: Leaves out the second word. Pass a constant.
    @inlinable @inline(__always)
    borrowing func look(firstOnly: Bool) -> CleanRead? {
        // Acquire: pairs with the release in replace(with:); the words of the set are complete.
        let address = present.load(ordering: .acquiring)
        if address & 1 == 1 { return nil }
        // Safe: the caller retains the derived value, which keeps the set. The set or the function
        // keeps the memory of the roots.
        let memory = unsafe UnsafePointer<UInt64>(bitPattern: address).unsafelyUnwrapped
        // Acquire: pairs with the release in DependencyWords.store(_:).
        let before = unsafe DependencySet.atomic(memory, DependencySet.Place.sequence).pointee.load(
            ordering: .acquiring
        )
        // Constant, both: the number of roots, and the addresses of their versions.
        let count = UInt32(truncatingIfNeeded: unsafe memory[DependencySet.Place.counts])
        var root = unsafe memory + DependencySet.Place.roots
        for _ in 0..<count {
            // Relaxed: the sequence and the fence order it.
            let version = unsafe DependencySet.atomic(root, 1).pointee.load(ordering: .relaxed)
            if unsafe DependencySet.word(at: UInt(root.pointee)) != version { return nil }
            unsafe root += 2
        }
        // Relaxed, both: the sequence and the fence order them.
        let first = unsafe DependencySet.atomic(memory, DependencySet.Place.first).pointee.load(ordering: .relaxed)
        let second =
            firstOnly
            ? 0 : unsafe DependencySet.atomic(memory, DependencySet.Place.second).pointee.load(ordering: .relaxed)
        // Acquire: pairs with the fence in DependencyWords.beginStoring(). If a loaded word belongs
        // to a later evaluation, the sequence below is later, too.
        atomicMemoryFence(ordering: .acquiring)
        // Relaxed: ordered by the fence. Odd: an evaluation is being stored, or another set has
        // replaced this one.
        let after = unsafe DependencySet.atomic(memory, DependencySet.Place.sequence).pointee.load(ordering: .relaxed)
        guard after == before && before & 1 == 0 else { return nil }
        return unsafe CleanRead(Latch.Words(first: UInt(first), second: UInt(second)), before, memory)
    }

    /// Returns the present evaluation, which need not be current.
    @inline(__always)
    borrowing func load() -> Present {
        // Acquire: pairs with the release in replace(with:).
        let address = present.load(ordering: .acquiring)
        if address & 1 == 0, let present = load(address) { return present }
        return loadSlowly()
    }

    @inline(never)
    private borrowing func loadSlowly() -> Present {
        while true {
            // Acquire: pairs with the release in replace(with:).
            let address = present.load(ordering: .acquiring)
            if address == 1 { return .none }
            if let present = address & 1 == 1 ? loadPinned(address) : load(address) { return present }
            // Another thread is publishing another set, or another evaluation of this one.
            lock.withLock {}
        }
    }

    /// Returns the evaluation of a set that the derived value keeps, or that the caller has
    /// retained. Returns nil if another evaluation was published during the call, or is being
    /// published.
    ///
    /// - Parameter keepsSet: Whether the returned evaluation takes over the caller's reference.
    @inline(__always)
    private borrowing func load(_ address: UInt, keepsSet: Bool = false) -> Present? {
        // Safe: the derived value keeps the set, or the caller does.
        let set = unsafe DependencyWords(UnsafeMutablePointer(bitPattern: address & ~1).unsafelyUnwrapped)
        let sequence = set.sequence
        let words = Latch.Words(
            first: UInt(set.word(DependencySet.Place.first)),
            second: UInt(set.word(DependencySet.Place.second))
        )
        let version = set.word(DependencySet.Place.version)
        guard sequence & 1 == 0, set.isStill(sequence) else { return nil }
        return Present(set: set, keepsSet: keepsSet, sequence: sequence, version: version, words: words)
    }

    /// Returns the evaluation of a set that may be retired at any time. Returns nil if another set
    /// or evaluation was published during the call.
    private borrowing func loadPinned(_ address: UInt) -> Present? {
        guard pinAndRetain(address) else { return nil }
        if let present = load(address, keepsSet: true) { return present }
        unsafe DependencyWords(UnsafeMutablePointer(bitPattern: address & ~1).unsafelyUnwrapped).release()
        return nil
    }

    /// Retains a set that may be retired at any time. Returns false if another set is present.
    private borrowing func pinAndRetain(_ address: UInt) -> Bool {
        let set = address & ~1
        return ThreadRecord.withCopyPin { pin in
            // Relaxed: as in ValueCell.isPinned(_:). If the set is still present, the pin keeps it.
            let object = pin.protect(
                set &- DependencyWords.distance,
                ifStill: { present.load(ordering: .relaxed) == address }
            )
            guard object != nil else { return false }
            // Safe: the pin keeps the set.
            unsafe DependencyWords(UnsafeMutablePointer(bitPattern: set).unsafelyUnwrapped).retain()
            return true
        }
    }
}
