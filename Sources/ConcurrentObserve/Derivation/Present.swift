// SPDX-License-Identifier: Apache-2.0

/// An evaluation that is, or was, the present one of a derived value, which the caller retains.
internal struct Present {
    let set: SourceWords
    /// Keeps a set that the derived value does not keep.
    let keeper: SourceSet?
    /// The set's sequence with which it was stored.
    let sequence: UInt64
    /// The number of its result among those that differ.
    let version: UInt64
    /// Its result. What the words reference is not retained.
    let words: Latch.Words

    /// That before the first evaluation.
    static var none: Present {
        Present(set: .none, keeper: nil, sequence: 1, version: 0, words: Latch.Words())
    }

    /// Whether there was no evaluation.
    var isNone: Bool { sequence & 1 == 1 }

    /// Whether it is the same evaluation.
    func isSame(_ other: Present) -> Bool { set == other.set && sequence == other.sequence }

    /// Whether the result is the function's at this moment: all that it was made of has the versions
    /// that were read. Under no lock: other sources run code of their own.
    var isCurrent: Bool {
        let words = set
        for index in 0..<words.count where SourceSet.version(at: words.address(index)) != words.rootVersion(index) {
            return false
        }
        if words.hasOthers, !areOthersCurrent { return false }
        return words.isStill(sequence)
    }

    @inline(never)
    private var areOthersCurrent: Bool {
        self.set.object.details!.others.enumerated().allSatisfy { index, source in
            source.version == set.otherVersion(index)
        }
    }
}
