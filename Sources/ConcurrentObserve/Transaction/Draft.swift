// SPDX-License-Identifier: Apache-2.0

/// One member's part of a commit: the value that the body has set, as words, and later the words
/// that the change has replaced.
///
/// It is plain bits, whatever the property's type: the drafts of a commit lie side by side on its
/// thread's stack.
@safe @usableFromInline
internal struct Draft: BitwiseCopyable {
    /// Identifies the property, and orders the drafts.
    @usableFromInline let lockAddress: UInt
    /// The new value, once it is set. The draft owns its reference until it is prepared.
    @usableFromInline var words = Latch.Words()
    @usableFromInline var isSet = false
    /// Whether values may be references, which are retired when they are replaced.
    @usableFromInline var mayBeReference = true
    /// Whether the body may only read the property.
    @usableFromInline let isHeldStill: Bool
    /// The retained object to which a weak property will refer: see `keep(_:)`.
    var kept: UnsafeMutableRawPointer?
    /// The number of the commit, if it may be observed.
    var commit: UInt64 = 0
    /// Set while the commit is published: the words that were replaced, the version of the change,
    /// and the announcement, if the property is observed.
    var replaced = Latch.Words()
    var version: UInt64 = 0
    var announcement: UnsafeMutableRawPointer?

    @inline(__always)
    init(of member: Member) { (lockAddress, isHeldStill) = (member.lockAddress, member.isHeldStill) }

    /// Whether work is left that needs the property's type. Asked once the change is settled.
    @inline(__always)
    var isToBeAnnounced: Bool {
        // Safe: only compared.
        unsafe isSet && (mayBeReference || announcement != nil)
    }
}

extension Draft {
    /// Returns the index of the draft of the property with this lock address; nil if it is no
    /// member.
    ///
    /// - Complexity: O(log *n*): the drafts are in the order of their locks.
    static func index(of lockAddress: UInt, in drafts: UnsafeMutableBufferPointer<Draft>) -> Int? {
        var (low, high) = (0, drafts.count)
        while low < high {
            let middle = (low + high) / 2
            // Safe: within bounds.
            if unsafe drafts[middle].lockAddress < lockAddress { low = middle + 1 } else { high = middle }
        }
        // Safe: within bounds, if it is read.
        return unsafe low < drafts.count && drafts[low].lockAddress == lockAddress ? low : nil
    }
}

/// The new value of a commit's change, kept for its observers.
internal final class Announcement<Value: Sendable> {
    let new: Value
    /// The deliveries that are left for the paths which lead on from the property, once these are
    /// relinked. Nil before, and if no member may have mailboxes or links.
    var deferred: LinkDeliveries?

    init(_ new: Value) { self.new = new }
}
