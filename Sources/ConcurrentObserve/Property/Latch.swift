// SPDX-License-Identifier: Apache-2.0

public import Synchronization

/// Two words of memory and their version, read together without a lock, written one writer at a time.
///
/// Two slots are used alternately: version *n* is in slot *n* mod 2, and the next one is written to the other, so that a writer that is
/// descheduled half-way delays no reader. A reader copies its slot and then looks whether the version is still the same; it
/// repeats only if a whole change was published meanwhile. (The latch of Linux's seqlock.h, with one slot written per change;
/// orderings as in Boehm, "Can Seqlocks Get Along With Programming Language Memory Models?", MSPC 2012.)
@usableFromInline
internal struct Latch: ~Copyable, Sendable {
    /// The number of changes so far. The highest bit says that a commit has prepared the next one: see `resolve(_:)`.
    @usableFromInline let version: Atomic<UInt64>
    /// The address of the record of the thread that runs the body of a `modify` or of a commit under the writer's lock; with the lowest bit,
    /// of the one whose commit has prepared the next version, or had; or 0. Stored by that thread alone.
    @usableFromInline let owner = Atomic<UInt>(0)
    @usableFromInline let even: Slot
    @usableFromInline let odd: Slot

    @usableFromInline
    struct Words: BitwiseCopyable, Sendable {
        @usableFromInline var first: UInt
        @usableFromInline var second: UInt

        @inlinable @inline(__always)
        init(first: UInt = 0, second: UInt = 0) { (self.first, self.second) = (first, second) }
    }

    @usableFromInline
    struct Slot: ~Copyable, Sendable {
        @usableFromInline let first: Atomic<UInt>
        @usableFromInline let second: Atomic<UInt>

        @inlinable
        init(_ words: Words) {
            first = Atomic(words.first)
            second = Atomic(words.second)
        }

        // Relaxed, all: the version and the fences order them.
        @inlinable @inline(__always)
        borrowing func store(_ words: Words) {
            first.store(words.first, ordering: .relaxed)
            second.store(words.second, ordering: .relaxed)
        }
    }

    /// - Parameter spare: What is in the other slot before the first change.
    @inlinable
    init(_ words: Words, spare: Words) {
        version = Atomic(0)
        even = Slot(words)
        odd = Slot(spare)
    }

    /// The words in the slot of `version`: whole only if that is the version afterwards, too.
    ///
    /// Both slots are loaded and one is taken: they lie side by side, so that this is faster than a branch, or an address to wait for.
    @inlinable @inline(__always)
    borrowing func words(of version: UInt64, firstOnly: Bool) -> Words {
        let isEven = version & 1 == 0
        // Relaxed, all: the version and the fences order them.
        let firsts = (even.first.load(ordering: .relaxed), odd.first.load(ordering: .relaxed))
        let first = isEven ? firsts.0 : firsts.1
        if firstOnly { return Words(first: first) }
        let seconds = (even.second.load(ordering: .relaxed), odd.second.load(ordering: .relaxed))
        return Words(first: first, second: isEven ? seconds.0 : seconds.1)
    }

    /// The words and the version that they belong to. Any thread; lock-free.
    ///
    /// - Parameter firstOnly: Leaves out the second word. A constant, for those who never use it.
    @inlinable @inline(__always)
    borrowing func load(firstOnly: Bool = false) -> (words: Words, version: UInt64) {
        let (words, version, _) = loadWithWord(firstOnly: firstOnly)
        return (words, version)
    }

    /// The words, the version that they belong to, and what `version` was meanwhile: for `isPinned(_:)`.
    @inlinable @inline(__always)
    borrowing func loadWithWord(firstOnly: Bool) -> (words: Words, version: UInt64, word: UInt64) {
        // Acquire: pairs with the release in publish(_:); the slot of this version, and what its words point to, is complete.
        let before = version.load(ordering: .acquiring)
        let words = words(of: before, firstOnly: firstOnly)
        // A prepared version is never what it is without its mark: one comparison for both.
        let unprepared = before & ~Self.preparedMark
        return _fastPath(isStill(unprepared)) ? (words, unprepared, before) : Self.loadAgain(self)
    }

    /// The words of the present version. For the writer, under its lock: they stay what they are meanwhile.
    ///
    /// - Parameter firstOnly: As in ``load(firstOnly:)``.
    @inlinable @inline(__always)
    borrowing func wordsUnderLock(firstOnly: Bool) -> Words {
        // Relaxed: the writer's lock orders the changes.
        words(of: version.load(ordering: .relaxed), firstOnly: firstOnly)
    }

    /// Whether nothing that was read since `before` can be of a later version.
    @inlinable @inline(__always)
    borrowing func isStill(_ before: UInt64) -> Bool {
        // Acquire: pairs with the fence in publish(_:). If a word above was of a later change, the version below is later, too.
        atomicMemoryFence(ordering: .acquiring)
        // Relaxed: ordered by the fence.
        return version.load(ordering: .relaxed) == before
    }

    /// Publishes the next version; returns it. One writer at a time.
    @inlinable @inline(__always)
    borrowing func publish(_ words: Words) -> UInt64 {
        // Relaxed: the writer's lock orders the changes.
        let next = version.load(ordering: .relaxed) &+ 1
        // Release: the version before this one was published before its predecessor's slot is overwritten; pairs with the fence in load().
        atomicMemoryFence(ordering: .releasing)
        if next & 1 == 0 { even.store(words) } else { odd.store(words) }
        // Release: pairs with the acquire in load().
        version.store(next, ordering: .releasing)
        return next
    }
}
