// SPDX-License-Identifier: Apache-2.0

/// The drafts that the body of a commit reads and sets: one for each member of the group. (P19)
///
/// ```swift
/// Group(from.balance, to.balance).commit { transaction in
///     transaction[from.balance] -= 10
///     transaction[to.balance] += 10
/// }
/// ```
///
/// Only the body may use it, on its own thread.
@safe
public struct Transaction: ~Copyable {
    @usableFromInline internal let drafts: UnsafeMutableBufferPointer<Draft>

    internal init(_ drafts: UnsafeMutableBufferPointer<Draft>) { unsafe self.drafts = drafts }

    /// The draft of a member. Reading it returns the value that the body has set, or else the
    /// present value, which no other thread changes while the body runs. Setting it makes a change,
    /// even to an equal value, which is published when the body returns. A member that the body
    /// does not set does not change. Traps if the property is neither a member of the group nor
    /// read by the commit. Setting also traps if the commit only reads the property.
    ///
    /// - Complexity: O(log *n*) in the members.
    public subscript<Value: Sendable>(_ property: Observed<Value>) -> Value {
        @inlinable @inline(__always) get {
            // Safe: only the body's thread uses the drafts, and the words of this one are of the
            // property's type.
            let draft = unsafe self.draft(of: property.cell.source)
            return unsafe draft.pointee.isSet
                ? ValueEncoding<Value>.copy(draft.pointee.words) : property.cell.copyLocked()
        }
        // Always inline: a setter that is called receives a reference of its own, which would be
        // counted.
        @inlinable @inline(__always) nonmutating set {
            // Safe: as above.
            let draft = unsafe self.draft(of: property.cell.source)
            if unsafe draft.pointee.isHeldStill { Self.trapHeldStill() }
            let replaced = unsafe draft.pointee.isSet ? draft.pointee.words : nil
            unsafe draft.pointee.words = property.cell.encode(newValue)
            unsafe draft.pointee.isSet = true
            unsafe draft.pointee.mayBeReference = !ValueEncoding<Value>.isAlwaysInline
            guard let replaced else { return }
            ValueEncoding<Value>.discard(replaced)
        }
    }

    /// The draft of a member that is shown read-only. A body can set it through the property
    /// itself. Traps if the property is neither a member of the group nor read by the commit.
    ///
    /// - Complexity: O(log *n*) in the members.
    public subscript<Value: Sendable>(_ view: ReadOnly<Value>) -> Value { self[view.property] }

    /// Finds a draft: among a few members by comparing each, among many by a binary search, since
    /// the drafts are in the order of their locks. Traps if there is none.
    @inlinable @inline(__always)
    internal func draft(of lockAddress: UInt) -> UnsafeMutablePointer<Draft> {
        // Safe, all: within bounds.
        if unsafe drafts.count > Self.few { return unsafe draftOfMany(lockAddress) }
        for index in unsafe drafts.indices where unsafe drafts[index].lockAddress == lockAddress {
            return unsafe drafts.baseAddress.unsafelyUnwrapped + index
        }
        Self.trapOutside()
    }

    @inlinable static var few: Int { 8 }

    @usableFromInline
    internal func draftOfMany(_ lockAddress: UInt) -> UnsafeMutablePointer<Draft> {
        // Safe: within bounds.
        guard let index = unsafe Draft.index(of: lockAddress, in: drafts) else { Self.trapOutside() }
        return unsafe drafts.baseAddress.unsafelyUnwrapped + index
    }

    @usableFromInline @inline(never)
    internal static func trapHeldStill() -> Never {
        fatalError(
            "ConcurrentObserve: the body of a commit set a property that the commit only reads. Make the property a member of the group that commits, and not of `reading:` alone."
        )
    }

    @usableFromInline @inline(never)
    internal static func trapOutside() -> Never {
        fatalError(
            "ConcurrentObserve: the body of a commit used the draft of a property that is no member of the group. Add the property to the group, or name it in `reading:`."
        )
    }
}
