// SPDX-License-Identifier: Apache-2.0

public import Synchronization

/// The sources that evaluations of one derived value have read, in one order, and the last of these
/// evaluations: its result, and the versions that it has read.
///
/// The evaluation is in a sequence lock: a thread that finds the sequence even, and the same
/// afterwards, has read one evaluation. It is replaced in place, by one thread at a time. It stays
/// true for its versions forever: a reader that finds these versions present need not know whether
/// there is a later set.
@safe @usableFromInline
internal final class SourceSet: ManagedBuffer<SourceSet.Header, UInt64> {
    // Any thread may use a set: it has constants, `next` is stored before the set is published, and
    // the words are atomic.

    @usableFromInline
    struct Header {
        /// Weak references to the sources of the set, and the order in which they were read. Nil if
        /// there are only roots, and the function itself keeps them alive.
        let details: SourceDetails?
        /// The kept set that was added before this one.
        var next: SourceSet?
    }

    /// The index of each word.
    @usableFromInline
    enum Place {
        @usableFromInline static var sequence: Int { 0 }
        /// The number of roots, in the upper half the number of derived values, and the marks of
        /// `SourceWords`.
        @usableFromInline static var counts: Int { 1 }
        @usableFromInline static var first: Int { 2 }
        @usableFromInline static var second: Int { 3 }
        /// The version of the result. It counts only results that differ.
        @usableFromInline static var version: Int { 4 }
        /// Two words for each root: the address of its version, and the version that was read. Then
        /// come the versions of the derived values, then those of other sources. If derived values
        /// were read, and no other sources, the steps come last: see `StepWords`.
        @usableFromInline static var roots: Int { 5 }
    }

    /// Makes a set without an evaluation.
    ///
    /// - Parameter isSnapshot: Whether the function reads all that it needs before it computes.
    static func make(_ addresses: [UInt], _ details: SourceDetails?, isSnapshot: Bool) -> SourceSet {
        let (count, nodes) = (addresses.count, details?.nodes.count ?? 0)
        let hasOthers = details.map { !$0.others.isEmpty } ?? false
        let steps = details.map { nodes > 0 && !hasOthers ? StepWords.made(of: $0) : [] } ?? []
        let firstStep = Place.roots + 2 * count + nodes + (details?.others.count ?? 0)
        let size = firstStep + steps.count
        let buffer = SourceSet.create(minimumCapacity: size) { _ in Header(details: details, next: nil) }
        // Safe: `create` makes an object of the class that it is called on.
        let set = unsafe unsafeDowncast(buffer, to: SourceSet.self)
        let memory = unsafe set.words.memory
        // Safe: the capacity is at least `size`.
        unsafe memory.initialize(repeating: 0, count: size)
        unsafe memory[Place.sequence] = 1
        unsafe memory[Place.counts] =
            UInt64(count) | UInt64(nodes) << 32 | (hasOthers ? SourceWords.othersMark : 0)
            | (isSnapshot ? SourceWords.snapshotMark : 0)
        for (index, address) in addresses.enumerated() { unsafe memory[Place.roots + 2 * index] = UInt64(address) }
        for (index, word) in steps.enumerated() { unsafe memory[firstStep + index] = word }
        return set
    }

    /// The words, which live as long as the set.
    var words: SourceWords { unsafe SourceWords(withUnsafeMutablePointerToElements { unsafe $0 }) }

    var details: SourceDetails? { header.details }

    /// Returns the present version of a root.
    ///
    /// - Parameter address: The address of the version in the root's memory.
    @inlinable @inline(__always)
    static func version(at address: UInt) -> UInt64 {
        // Safe: the function, or a `RootReference` of the caller's set, keeps the memory. The
        // version is the latch's first member.
        unsafe UnsafePointer<Latch>(bitPattern: address).unsafelyUnwrapped.pointee.presentVersion
    }

    /// Returns the word of a root's version. It equals a version that was read if that version is
    /// the present one. It equals none while a commit has prepared the next version.
    @inlinable @inline(__always)
    static func word(at address: UInt) -> UInt64 {
        // Safe: as above. Acquire: pairs with the releases in Latch.publish(_:), prepare(_:by:) and
        // settle().
        unsafe UnsafePointer<Atomic<UInt64>>(bitPattern: address).unsafelyUnwrapped.pointee.load(ordering: .acquiring)
    }

    @inlinable @inline(__always)
    static func atomic(_ memory: UnsafePointer<UInt64>, _ place: Int) -> UnsafePointer<Atomic<UInt64>> {
        // Safe: the caller keeps the set; a word and an atomic word have the same layout.
        unsafe UnsafeRawPointer(memory + place).assumingMemoryBound(to: Atomic<UInt64>.self)
    }
}
