// SPDX-License-Identifier: Apache-2.0

import Synchronization

// A commit changes several latches at once, in three steps:
// 1. It prepares each latch: it stores the next words in the spare slot, its thread in `owner`, and
//    a mark in the version.
// 2. It makes the `CommitDecision` of its thread. This changes all the latches at once.
// 3. It settles each latch: it stores the next version, without the mark.
//
// A latch has each prepared version only once, and every prepared version is settled. A reader
// loads the version's word, then the committer and its decision, and then the word again. If the
// word is still the same, the committer and the decision belong to this commit.
// (Models/Transaction.pml)

extension Latch {
    @inlinable @inline(__always)
    static var preparedMark: UInt64 { 1 << 63 }

    /// Whether `word` says that a commit has prepared the next version.
    @inlinable @inline(__always)
    static func isPrepared(_ word: UInt64) -> Bool { Int64(bitPattern: word) < 0 }

    /// Stores the next words in the slot that readers do not use yet. Requires the writer's lock.
    ///
    /// - Parameter committer: The address of the calling thread's record.
    @inlinable @inline(__always)
    borrowing func prepare(_ words: Words, by committer: UInt) {
        // Relaxed: the writer's lock orders the changes.
        let present = version.load(ordering: .relaxed)
        // Release: as in publish(_:).
        atomicMemoryFence(ordering: .releasing)
        if present & 1 == 0 { odd.store(words) } else { even.store(words) }
        // Relaxed: ordered by the store of the version.
        owner.store(committer | 1, ordering: .relaxed)
        // Release: pairs with the acquires in loadUnchecked(firstOnly:) and presentVersion.
        version.store(present | Self.preparedMark, ordering: .releasing)
    }

    /// Makes the next version the present one, once the decision is made. Requires the writer's
    /// lock.
    ///
    /// - Returns: The version.
    @inlinable @inline(__always) @discardableResult
    borrowing func settle() -> UInt64 {
        // Relaxed: the writer's lock orders the changes.
        let next = (version.load(ordering: .relaxed) & ~Self.preparedMark) &+ 1
        // Release: the decision is made before it; pairs with the acquires in
        // loadUnchecked(firstOnly:) and presentVersion.
        version.store(next, ordering: .releasing)
        return next
    }

    /// Whether `word`, which was loaded from `owner`, is the address of the record of a thread that
    /// runs the body of a `modify` or of a commit.
    @inlinable @inline(__always)
    static func isModifier(_ word: UInt) -> Bool { word != 0 && word & 1 == 0 }

    /// Returns the version that `word`, which has the mark, stands for: the next version if the
    /// commit has decided, otherwise the present version. The result is right only if `version`
    /// still holds `word` afterwards. Returns nil if `version` no longer holds `word`.
    private borrowing func resolve(_ word: UInt64) -> UInt64? {
        // Relaxed: the acquire that has loaded `word` pairs with the release in prepare(_:by:), and
        // the committer was stored before that release. Its lowest bit says that the thread has
        // prepared; the other bits are the address of the thread's record.
        let committer = owner.load(ordering: .relaxed)
        if committer & 1 == 0 { return nil }
        let version = word & ~Self.preparedMark
        return ThreadRecord.hasCommitted(committer ^ 1) ? version &+ 1 : version
    }

    /// The slow path of `loadWithWord(firstOnly:)`: a change came in between, or a commit has
    /// prepared the next version.
    @usableFromInline @inline(never)
    static func loadAgain(_ latch: borrowing Latch) -> (words: Words, version: UInt64, word: UInt64) {
        while true {
            // Acquire: as in loadUnchecked(firstOnly:).
            let before = latch.version.load(ordering: .acquiring)
            guard let version = isPrepared(before) ? latch.resolve(before) : before else { continue }
            let words = latch.words(of: version, firstOnly: false)
            if latch.isStill(before) { return (words, version, before) }
        }
    }

    /// The number of changes so far. Any thread; lock-free.
    @inlinable @inline(__always)
    var presentVersion: UInt64 {
        // Acquire: pairs with the releases in publish(_:), prepare(_:by:) and settle(); a read that
        // follows sees this version or a later one.
        let word = version.load(ordering: .acquiring)
        return _fastPath(!Self.isPrepared(word)) ? word : Self.resolvedVersion(self)
    }

    @usableFromInline @inline(never)
    static func resolvedVersion(_ latch: borrowing Latch) -> UInt64 {
        while true {
            // Acquire: as in presentVersion.
            let before = latch.version.load(ordering: .acquiring)
            if !isPrepared(before) { return before }
            guard let version = latch.resolve(before) else { continue }
            if latch.isStill(before) { return version }
        }
    }
}
