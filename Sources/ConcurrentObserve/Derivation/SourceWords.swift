// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The words of a set of sources. A thread reads them without counting a reference.
///
/// The derived value keeps the set, or the caller does.
@safe internal struct SourceWords {
    let memory: UnsafeMutablePointer<UInt64>

    init(_ memory: UnsafeMutablePointer<UInt64>) { unsafe self.memory = unsafe memory }

    /// The distance in bytes from the object to its words.
    static var distance: UInt { 32 }

    /// Stands for no set. Its words are not followed.
    static var none: SourceWords { unsafe SourceWords(UnsafeMutablePointer(bitPattern: 8).unsafelyUnwrapped) }

    private typealias Place = SourceSet.Place

    /// The set.
    var object: SourceSet { unsafe Self.object(at: UInt(bitPattern: memory)).takeUnretainedValue() }

    // Safe, both: the set is alive.
    func retain() { _ = unsafe Self.object(at: UInt(bitPattern: memory)).retain() }
    @inline(never) func release() { unsafe Self.object(at: UInt(bitPattern: memory)).release() }

    /// Returns the set whose words are at `address`.
    static func object(at address: UInt) -> Unmanaged<SourceSet> {
        // Safe: callers follow it while the set is kept or pinned.
        unsafe .fromOpaque(UnsafeRawPointer(bitPattern: address &- distance).unsafelyUnwrapped)
    }

    var count: Int { Int(truncatingIfNeeded: unsafe memory[Place.counts] & 0xFFFF_FFFF) }
    var nodeCount: Int { Int(truncatingIfNeeded: unsafe memory[Place.counts] >> 32 & 0x3FFF_FFFF) }
    /// Whether the set has sources whose roots are not known.
    var hasOthers: Bool { unsafe memory[Place.counts] & Self.othersMark != 0 }
    /// Whether the function reads all that it needs before it computes.
    var isSnapshot: Bool { unsafe memory[Place.counts] & Self.snapshotMark != 0 }

    static var othersMark: UInt64 { 1 << 63 }
    static var snapshotMark: UInt64 { 1 << 62 }

    /// The reads of the function, in order. Only if derived values were read, and no other sources.
    var steps: StepWords { unsafe StepWords(memory + Place.roots + 2 * count + nodeCount) }

    func address(_ index: Int) -> UInt { UInt(unsafe memory[Place.roots + 2 * index]) }

    /// The version of a root that the evaluation has read.
    func rootVersion(_ index: Int) -> UInt64 { word(Place.roots + 2 * index + 1) }
    func nodeVersion(_ index: Int) -> UInt64 { word(Place.roots + 2 * count + index) }
    func otherVersion(_ index: Int) -> UInt64 { word(Place.roots + 2 * count + nodeCount + index) }

    static func == (left: SourceWords, right: SourceWords) -> Bool { unsafe left.memory == right.memory }
}

// MARK: - The evaluation

extension SourceWords {
    /// Loads a word of the evaluation. It belongs to that evaluation only if the sequence is the
    /// same afterwards.
    func word(_ place: Int) -> UInt64 {
        // Relaxed: the sequence and the fences order it.
        unsafe SourceSet.atomic(memory, place).pointee.load(ordering: .relaxed)
    }

    /// The sequence. It is odd while an evaluation is being stored, and while there is none.
    var sequence: UInt64 {
        // Acquire: pairs with the release in store(_:).
        unsafe SourceSet.atomic(memory, Place.sequence).pointee.load(ordering: .acquiring)
    }

    /// Whether all words loaded since the sequence was `before` belong to one evaluation.
    func isStill(_ before: UInt64) -> Bool {
        // Acquire: pairs with the fence in beginStoring(). If a loaded word belongs to a later
        // evaluation, the sequence below is later, too.
        atomicMemoryFence(ordering: .acquiring)
        // Relaxed: ordered by the fence.
        return unsafe SourceSet.atomic(memory, Place.sequence).pointee.load(ordering: .relaxed) == before
    }

    /// Whether the evaluation with this sequence is still in the set. Call it after a pin of what
    /// the evaluation references.
    @inline(__always)
    func hasNow(_ sequence: UInt64) -> Bool {
        // Relaxed: after the pin, by the light barrier. The thread that retires the reference has
        // stored the next sequence before.
        unsafe SourceSet.atomic(memory, Place.sequence).pointee.load(ordering: .relaxed) == sequence
    }

    /// Replaces the evaluation, and returns the new sequence. The caller must hold the derived
    /// value's lock.
    func store(_ body: (SourceWords) -> Void) -> UInt64 {
        let odd = beginStoring()
        body(self)
        // Release: pairs with the acquires in `sequence` and in DerivationCell.look(firstOnly:).
        unsafe SourceSet.atomic(memory, Place.sequence).pointee.store(odd &+ 1, ordering: .releasing)
        return odd &+ 1
    }

    /// Marks the set as superseded: the present evaluation is in another set. The caller must hold
    /// the derived value's lock.
    func clear() { _ = beginStoring() }

    private func beginStoring() -> UInt64 {
        let atomic = unsafe SourceSet.atomic(memory, Place.sequence)
        // Relaxed: the lock orders the changes.
        let odd = unsafe atomic.pointee.load(ordering: .relaxed) | 1
        unsafe atomic.pointee.store(odd, ordering: .relaxed)
        // Release: a reader that loads a word stored below finds the odd sequence, too; pairs with
        // the fences in isStill(_:) and in DerivationCell.look(firstOnly:).
        atomicMemoryFence(ordering: .releasing)
        return odd
    }

    /// Stores a word of the evaluation. Called inside store(_:).
    func setWord(_ place: Int, _ word: UInt64) {
        // Relaxed: ordered by the fence and the sequence.
        unsafe SourceSet.atomic(memory, place).pointee.store(word, ordering: .relaxed)
    }
}
