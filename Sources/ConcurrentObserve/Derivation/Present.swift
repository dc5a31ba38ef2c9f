// SPDX-License-Identifier: Apache-2.0

/// An evaluation that is, or was, the present one of a derived value. The caller retains the
/// derived value.
@safe internal struct Present: ~Copyable {
    let set: SourceWords
    /// The set's sequence after the evaluation was stored.
    let sequence: UInt64
    /// The version of the result. It counts only results that differ.
    let version: UInt64
    /// The result. What the words reference is not retained.
    let words: Latch.Words
    /// Whether this evaluation retains the set, because the derived value does not keep it.
    let keepsSet: Bool

    /// - Parameter keepsSet: Whether the evaluation takes over a reference to the set.
    init(set: SourceWords, keepsSet: Bool, sequence: UInt64, version: UInt64, words: Latch.Words) {
        (self.set, self.keepsSet, self.sequence) = (set, keepsSet, sequence)
        (self.version, self.words) = (version, words)
    }

    deinit {
        if keepsSet { set.release() }
    }

    /// Stands for no evaluation.
    static var none: Present {
        Present(set: .none, keepsSet: false, sequence: 1, version: 0, words: Latch.Words())
    }

    /// Whether this stands for no evaluation.
    var isNone: Bool { sequence & 1 == 1 }

    /// Whether both are the same evaluation.
    borrowing func isSame(_ other: borrowing Present) -> Bool { set == other.set && sequence == other.sequence }

    /// Whether the result is current: all that it was made from still has the versions that were
    /// read. The caller must hold no lock, since other sources run code of their own.
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
