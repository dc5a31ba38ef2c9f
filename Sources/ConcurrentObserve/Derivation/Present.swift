// SPDX-License-Identifier: Apache-2.0

/// An evaluation that is, or was, the present one of a derived value, which the caller retains.
@safe internal struct Present: ~Copyable {
    let set: SourceWords
    /// The set's sequence with which it was stored.
    let sequence: UInt64
    /// The number of its result among those that differ.
    let version: UInt64
    /// Its result. What the words reference is not retained.
    let words: Latch.Words
    /// Whether this retains the set, which the derived value does not keep.
    let keepsSet: Bool

    /// - Parameter keepsSet: Takes over a reference to the set.
    init(set: SourceWords, keepsSet: Bool, sequence: UInt64, version: UInt64, words: Latch.Words) {
        (self.set, self.keepsSet, self.sequence) = (set, keepsSet, sequence)
        (self.version, self.words) = (version, words)
    }

    deinit {
        if keepsSet { set.release() }
    }

    /// That before the first evaluation.
    static var none: Present {
        Present(set: .none, keepsSet: false, sequence: 1, version: 0, words: Latch.Words())
    }

    /// Whether there was no evaluation.
    var isNone: Bool { sequence & 1 == 1 }

    /// Whether it is the same evaluation.
    borrowing func isSame(_ other: borrowing Present) -> Bool { set == other.set && sequence == other.sequence }

    /// Whether the result is the function's at this moment: all that it was made of has the versions
    /// that were read. Under no lock: other sources run code of their own.
    var isCurrent: Bool {
        @inline(__always) get { areRootsCurrent && (!set.hasOthers || areOthersCurrent) && set.isStill(sequence) }
    }

    private var areRootsCurrent: Bool {
        @inline(__always) get {
            for index in 0..<set.count where SourceSet.version(at: set.address(index)) != set.rootVersion(index) {
                return false
            }
            return true
        }
    }

    @inline(never)
    private var areOthersCurrent: Bool {
        self.set.object.details!.others.enumerated().allSatisfy { index, source in
            source.version == set.otherVersion(index)
        }
    }
}
