// SPDX-License-Identifier: Apache-2.0

/// What a commit knows of one of its members: the value that the body has set, as words, then what the change has replaced.
///
/// Nothing but bits, whatever the property's type: the drafts of a commit lie side by side on its thread's stack.
@safe @usableFromInline
internal struct Draft: BitwiseCopyable {
    /// Names the property, and orders the drafts.
    @usableFromInline let lockAddress: UInt
    /// The new value, once set; the draft owns its reference until it is prepared.
    @usableFromInline var words = Latch.Words()
    @usableFromInline var isSet = false
    /// Whether values may be references, which are retired when they are replaced.
    @usableFromInline var mayBeReference = true
    /// Whether the body may read the property only.
    @usableFromInline let isHeldStill: Bool
    /// The object that a weak property is to refer to, retained: see `keep(_:)`.
    var kept: UnsafeMutableRawPointer?
    /// The number of the commit, if it may be observed.
    var commit: UInt64 = 0
    /// Once settled: what was replaced, the number of the change, and what is to be delivered of it, if the property is observed.
    var replaced = Latch.Words()
    var version: UInt64 = 0
    var announcement: UnsafeMutableRawPointer?

    @inline(__always)
    init(of member: Member) { (lockAddress, isHeldStill) = (member.lockAddress, member.isHeldStill) }

    /// Once settled: whether the property's type is needed for what is left to do.
    @inline(__always)
    var isToBeAnnounced: Bool {
        // Safe: compared alone.
        unsafe isSet && (mayBeReference || announcement != nil)
    }
}

extension Draft {
    /// Where the draft of a property is; nil if it is no member.
    ///
    /// - Complexity: O(log *n*): the drafts have the order of their locks.
    static func index(of lockAddress: UInt, in drafts: UnsafeMutableBufferPointer<Draft>) -> Int? {
        var (low, high) = (0, drafts.count)
        while low < high {
            let middle = (low + high) / 2
            // Safe: within bounds.
            if unsafe drafts[middle].lockAddress < lockAddress { low = middle + 1 } else { high = middle }
        }
        // Safe: within bounds, where it is looked at.
        return unsafe low < drafts.count && drafts[low].lockAddress == lockAddress ? low : nil
    }
}

/// A change of a commit, kept for its observers.
internal final class Announcement<Value: Sendable> {
    let new: Value
    /// What is left to do for the paths that lead on from the property, once they are relinked; nil before, and where no binding
    /// receives the commit.
    var deferred: LinkDeliveries?

    init(_ new: Value) { self.new = new }
}
