// SPDX-License-Identifier: Apache-2.0

public import Synchronization

/// A sequence latch: two words of memory and their version. Readers load them together without a
/// lock; one writer at a time replaces them, under the *writer's lock* (the property's
/// `MutationLock`).
///
/// Two slots are used alternately: version *n* is in slot *n* mod 2, and the next one is written to
/// the other slot. A writer that is descheduled half-way therefore delays no reader. A reader
/// copies its slot and then checks that the version is still the same; it repeats only if a whole
/// change was published in between. (The latch of Linux's seqlock.h, with one slot written per
/// change; orderings as in Boehm, "Can Seqlocks Get Along With Programming Language Memory
/// Models?", MSPC 2012.)
@usableFromInline
internal struct Latch: ~Copyable, Sendable {
    /// The number of changes so far. If the highest bit is set, a commit has prepared the next
    /// change: see `resolve(_:)`.
    @usableFromInline let version: Atomic<UInt64>
    /// The address of a thread's record, or 0. If the lowest bit is clear, the thread runs the body
    /// of a `modify` or of a commit under the writer's lock. If the lowest bit is set, the thread's
    /// commit has prepared the next version, or had prepared an earlier version. A thread stores
    /// only its own address, and 0 when its body ends.
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

    /// Makes a latch whose present words are `words`.
    ///
    /// - Parameter spare: The words in the other slot before the first change.
    @inlinable
    init(_ words: Words, spare: Words, version: UInt64) {
        self.version = Atomic(version)
        let isEven = version & 1 == 0
        even = Slot(isEven ? words : spare)
        odd = Slot(isEven ? spare : words)
    }

    /// Returns the words in the slot of `version`. They belong together only if the version is
    /// still the same afterwards. If `firstOnly` is true, the second word is not loaded.
    ///
    /// The function loads both slots and takes one of them. They lie side by side, so this is
    /// faster than a branch, or than a computed address.
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

    /// Returns the present words, and the version that they belong to. Any thread; lock-free.
    ///
    /// - Parameter firstOnly: Leaves out the second word. Pass a constant.
    @inlinable @inline(__always)
    borrowing func load(firstOnly: Bool = false) -> (words: Words, version: UInt64) {
        let (words, version, _) = loadWithWord(firstOnly: firstOnly)
        return (words, version)
    }

    /// Returns the present words and their version. Also returns the word that `version` held,
    /// which may have the mark of a prepared version: `ValueCell.isPinned(_:)` needs this word.
    @inlinable @inline(__always)
    borrowing func loadWithWord(firstOnly: Bool) -> (words: Words, version: UInt64, word: UInt64) {
        let (words, before) = loadUnchecked(firstOnly: firstOnly)
        // One comparison for both: if `before` has the mark, the version is never equal to
        // `unprepared`.
        let unprepared = before & ~Self.preparedMark
        return _fastPath(isStill(unprepared)) ? (words, unprepared, before) : Self.loadAgain(self)
    }

    /// Returns the word that `version` holds, and the words in the slot of that version. The words
    /// belong together only if the first word has no `preparedMark`, and `isStill` finds it again
    /// afterwards.
    @inlinable @inline(__always)
    borrowing func loadUnchecked(firstOnly: Bool) -> (words: Words, word: UInt64) {
        // Acquire: pairs with the releases in publish(_:), prepare(_:by:) and settle(); the slot of
        // this version, and what its words point to, is complete.
        let before = version.load(ordering: .acquiring)
        return (words(of: before, firstOnly: firstOnly), before)
    }

    /// Returns the words of the present version. The caller must hold the writer's lock, so no
    /// other thread replaces them.
    ///
    /// - Parameter firstOnly: Leaves out the second word. Pass a constant.
    @inlinable @inline(__always)
    borrowing func wordsLocked(firstOnly: Bool) -> Words {
        // Relaxed: the writer's lock orders the changes.
        words(of: version.load(ordering: .relaxed), firstOnly: firstOnly)
    }

    /// Whether `version` still holds `before`. If so, nothing that was read after the load of
    /// `before` belongs to a later version.
    @inlinable @inline(__always)
    borrowing func isStill(_ before: UInt64) -> Bool {
        // Acquire: pairs with the fences in publish(_:) and prepare(_:by:). If a word that was read
        // belongs to a later change, the load below finds a later version, too.
        atomicMemoryFence(ordering: .acquiring)
        // Relaxed: ordered by the fence.
        return version.load(ordering: .relaxed) == before
    }

    /// Publishes `words` as the next version, and returns the version. Requires the writer's lock.
    @inlinable @inline(__always)
    borrowing func publish(_ words: Words) -> UInt64 {
        // Relaxed: the writer's lock orders the changes.
        let next = version.load(ordering: .relaxed) &+ 1
        // Release: the present version was published before the slot of its predecessor is
        // overwritten; pairs with the fence in isStill(_:).
        atomicMemoryFence(ordering: .releasing)
        if next & 1 == 0 { even.store(words) } else { odd.store(words) }
        // Release: pairs with the acquires in loadUnchecked(firstOnly:) and presentVersion.
        version.store(next, ordering: .releasing)
        return next
    }
}
