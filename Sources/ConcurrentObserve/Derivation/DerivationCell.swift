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
    let kept = Atomic<UInt>(0)
    /// What there is of the derived value while it is observed, retained, or 0. Stored under `lock`.
    private let observationAddress = Atomic<UInt>(0)
    /// Reads and computes, and hands the result to the collector.
    private let function: @Sendable (Collector) -> Void
    let place: DerivationPlace
    /// Whether the function names its sources: then it can be asked for one that refers to them weakly. See `WeakSource`.
    let namesSources: Bool
    /// No user code runs inside; the locks of the property that is observed, and of its mailboxes, are taken inside. No
    /// thread holds it while the process forks: a child may be the first to read a value that another thread was
    /// publishing. (P18)
    @usableFromInline let lock = SourceLock()

    @usableFromInline
    init(_ place: DerivationPlace, namesSources: Bool, _ function: @escaping @Sendable (Collector) -> Void) {
        (self.place, self.namesSources, self.function) = (place, namesSources, function)
    }

    /// The cell of the successor of a derived value whose `deinit` has begun: takes over the evaluation and the observers.
    ///
    /// - Parameter function: The successor's function, if it is not the same.
    init(succeeding other: borrowing DerivationCell, _ function: (@Sendable (Collector) -> Void)?) {
        self.init(other.place, namesSources: false, function ?? other.function)
        // Relaxed, all: no other thread has either. The references move with the addresses.
        present.store(other.present.exchange(1, ordering: .relaxed), ordering: .relaxed)
        kept.store(other.kept.exchange(0, ordering: .relaxed), ordering: .relaxed)
        observationAddress.store(other.observationAddress.exchange(0, ordering: .relaxed), ordering: .relaxed)
    }

    deinit {
        // Safe: no thread has the derived value any more.
        let address = present.load(ordering: .relaxed)
        if address & 1 == 1, address != 1 { unsafe SourceWords.object(at: address & ~1).release() }
        let first = kept.load(ordering: .relaxed)
        if first != 0 { unsafe SourceWords.object(at: first).release() }
        setObservation(nil)
    }

    func run(_ collector: Collector) { function(collector) }

    /// What there is of the derived value while it is observed. Under the lock.
    var observation: DerivedObservation? { withObservation { $0 } }

    /// Calls `body` with that, and counts no reference. Under the lock, or for the last who has the derived value.
    borrowing func withObservation<Result>(_ body: (DerivedObservation) -> Result) -> Result? {
        // Relaxed: the lock orders the changes.
        let address = observationAddress.load(ordering: .relaxed)
        guard address != 0 else { return nil }
        // Safe: retained, as long as the lock is held.
        return unsafe Unmanaged<DerivedObservation>.fromOpaque(UnsafeRawPointer(bitPattern: address).unsafelyUnwrapped)
            ._withUnsafeGuaranteedRef { body($0) }
    }

    /// Under the lock, or for the last who has the derived value.
    borrowing func setObservation(_ new: DerivedObservation?) {
        // Relaxed, both: the lock orders the changes.
        let before = observationAddress.load(ordering: .relaxed)
        observationAddress.store(
            unsafe UInt(bitPattern: new.map { unsafe Unmanaged.passRetained($0).toOpaque() }),
            ordering: .relaxed
        )
        // Safe: the reference that was stored here. Never the last: the caller has one.
        if before != 0 {
            unsafe Unmanaged<DerivedObservation>.fromOpaque(UnsafeRawPointer(bitPattern: before).unsafelyUnwrapped)
                .release()
        }
    }
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
        // Acquire: pairs with the release in replace(with:); what the set says is complete.
        let address = present.load(ordering: .acquiring)
        if address & 1 == 1 { return nil }
        // Safe: the set is kept as long as the derived value, which the caller retains, and its roots' memory as long as the set.
        let memory = unsafe UnsafePointer<UInt64>(bitPattern: address).unsafelyUnwrapped
        // Acquire: pairs with the release in SourceWords.store(_:).
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
        let second =
            firstOnly ? 0 : unsafe SourceSet.atomic(memory, SourceSet.Place.second).pointee.load(ordering: .relaxed)
        // Acquire: pairs with the fence in SourceWords.beginStoring(). If a word was of a later evaluation, the sequence
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
        return after == before && before & 1 == 0
    }

    /// Whether a value is taken to be current whatever has changed: never.
    @inlinable @inline(__always)
    static var takesAnyVersion: Bool {
        return false
    }

    /// The present evaluation, which need not be current.
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
            // A thread is about to publish: another set, or another evaluation of this one.
            lock.withLock {}
        }
    }

    /// The evaluation of a set that is kept as long as the derived value, or by a reference that this takes over; nil if another is
    /// published meanwhile.
    @inline(__always)
    private borrowing func load(_ address: UInt, keepsSet: Bool = false) -> Present? {
        // Safe: the set is kept.
        let set = unsafe SourceWords(UnsafeMutablePointer(bitPattern: address & ~1).unsafelyUnwrapped)
        let sequence = set.sequence
        let words = Latch.Words(
            first: UInt(set.word(SourceSet.Place.first)),
            second: UInt(set.word(SourceSet.Place.second))
        )
        let version = set.word(SourceSet.Place.version)
        guard sequence & 1 == 0, set.isStill(sequence) else { return nil }
        return Present(set: set, keepsSet: keepsSet, sequence: sequence, version: version, words: words)
    }

    /// The evaluation of a set that may be retired at any time; nil if another is present meanwhile.
    private borrowing func loadPinned(_ address: UInt) -> Present? {
        guard pinAndRetain(address) else { return nil }
        if let present = load(address, keepsSet: true) { return present }
        unsafe SourceWords(UnsafeMutablePointer(bitPattern: address & ~1).unsafelyUnwrapped).release()
        return nil
    }

    /// Retains such a set; false if another is present meanwhile.
    private borrowing func pinAndRetain(_ address: UInt) -> Bool {
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
        guard present.load(ordering: .relaxed) == address else { return false }
        // Safe: the pin keeps the set.
        unsafe SourceWords(UnsafeMutablePointer(bitPattern: address & ~1).unsafelyUnwrapped).retain()
        return true
    }
}
