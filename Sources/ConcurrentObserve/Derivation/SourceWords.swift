// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The words of a set of sources: what is found without counting a reference.
///
/// The set is kept by its derived value, or by the caller.
@safe internal struct SourceWords {
    let memory: UnsafeMutablePointer<UInt64>

    init(_ memory: UnsafeMutablePointer<UInt64>) { unsafe self.memory = unsafe memory }

    /// How far the words are from the object.
    static var distance: UInt { 32 }

    /// Those of no set, which are not followed.
    static var none: SourceWords { unsafe SourceWords(UnsafeMutablePointer(bitPattern: 8).unsafelyUnwrapped) }

    private typealias Place = SourceSet.Place

    /// The set.
    var object: SourceSet { unsafe Self.object(at: UInt(bitPattern: memory)).takeUnretainedValue() }

    // Safe, both: the set is there.
    func retain() { _ = unsafe Self.object(at: UInt(bitPattern: memory)).retain() }
    @inline(never) func release() { unsafe Self.object(at: UInt(bitPattern: memory)).release() }

    /// The set whose words are there.
    static func object(at address: UInt) -> Unmanaged<SourceSet> {
        // Safe: callers follow it while the set is kept or pinned.
        unsafe .fromOpaque(UnsafeRawPointer(bitPattern: address &- distance).unsafelyUnwrapped)
    }

    var count: Int { Int(truncatingIfNeeded: unsafe memory[Place.counts] & 0xFFFF_FFFF) }
    var nodeCount: Int { Int(truncatingIfNeeded: unsafe memory[Place.counts] >> 32 & 0x3FFF_FFFF) }
    /// Whether there are sources whose roots are not known.
    var hasOthers: Bool { unsafe memory[Place.counts] & Self.othersMark != 0 }
    /// Whether the function reads all that it needs before it computes.
    var isSnapshot: Bool { unsafe memory[Place.counts] & Self.snapshotMark != 0 }

    static var othersMark: UInt64 { 1 << 63 }
    static var snapshotMark: UInt64 { 1 << 62 }

    /// What the function has read, in order, if derived values are among that, and no others.
    var steps: StepWords { unsafe StepWords(memory + Place.roots + 2 * count + nodeCount) }

    func address(_ index: Int) -> UInt { UInt(unsafe memory[Place.roots + 2 * index]) }

    /// The version that the evaluation has read of a root.
    func rootVersion(_ index: Int) -> UInt64 { word(Place.roots + 2 * index + 1) }
    func nodeVersion(_ index: Int) -> UInt64 { word(Place.roots + 2 * count + index) }
    func otherVersion(_ index: Int) -> UInt64 { word(Place.roots + 2 * count + nodeCount + index) }

    static func == (left: SourceWords, right: SourceWords) -> Bool { unsafe left.memory == right.memory }
}

// MARK: - The evaluation

extension SourceWords {
    /// A word of the evaluation. Whole only if the sequence is the same afterwards.
    func word(_ place: Int) -> UInt64 {
        // Relaxed: the sequence and the fences order it.
        unsafe SourceSet.atomic(memory, place).pointee.load(ordering: .relaxed)
    }

    /// Odd while an evaluation is being stored, and while there is none.
    var sequence: UInt64 {
        // Acquire: pairs with the release in store(_:).
        unsafe SourceSet.atomic(memory, Place.sequence).pointee.load(ordering: .acquiring)
    }

    /// Whether what was read since `before` is of one evaluation.
    func isStill(_ before: UInt64) -> Bool {
        // Acquire: pairs with the fence in beginStoring(). If a word was of a later evaluation, the sequence below is later, too.
        atomicMemoryFence(ordering: .acquiring)
        // Relaxed: ordered by the fence.
        return unsafe SourceSet.atomic(memory, Place.sequence).pointee.load(ordering: .relaxed) == before
    }

    /// Whether the evaluation is still the one of a sequence, after a pin of what it references.
    @inline(__always)
    func hasNow(_ sequence: UInt64) -> Bool {
        // Relaxed: after the pin, by the light barrier. The thread that retires the reference has stored the next sequence before.
        unsafe SourceSet.atomic(memory, Place.sequence).pointee.load(ordering: .relaxed) == sequence
    }

    /// Replaces the evaluation; returns the new sequence. Under the derived value's lock.
    func store(_ body: (SourceWords) -> Void) -> UInt64 {
        let odd = beginStoring()
        body(self)
        // Release: pairs with the acquire in the readers.
        unsafe SourceSet.atomic(memory, Place.sequence).pointee.store(odd &+ 1, ordering: .releasing)
        return odd &+ 1
    }

    /// There is no evaluation any more: a later one is of another set. Under the derived value's lock.
    func clear() { _ = beginStoring() }

    private func beginStoring() -> UInt64 {
        let atomic = unsafe SourceSet.atomic(memory, Place.sequence)
        // Relaxed: the lock orders the changes.
        let odd = unsafe atomic.pointee.load(ordering: .relaxed) | 1
        unsafe atomic.pointee.store(odd, ordering: .relaxed)
        // Release: a reader that finds a word of those that follow finds the odd sequence, too; pairs with the fences
        // of the readers.
        atomicMemoryFence(ordering: .releasing)
        return odd
    }

    /// Inside store(_:).
    func setWord(_ place: Int, _ word: UInt64) {
        // Relaxed: ordered by the fence and the sequence.
        unsafe SourceSet.atomic(memory, place).pointee.store(word, ordering: .relaxed)
    }
}
