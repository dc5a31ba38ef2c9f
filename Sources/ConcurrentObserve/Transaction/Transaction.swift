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
/// Only the body of the commit may use the transaction, on the body's thread.
@safe
public struct Transaction: ~Copyable {
    @usableFromInline internal let drafts: UnsafeMutableBufferPointer<Draft>

    internal init(_ drafts: UnsafeMutableBufferPointer<Draft>) { unsafe self.drafts = drafts }

    /// The draft of a member. Reading it returns the value that the body has set, or else the
    /// present value, which no other thread changes while the body runs. Setting it makes a change,
    /// even if the new value is equal. The change is published when the body returns. A member that
    /// the body does not set does not change. Traps if the property is neither a member of the
    /// group nor read by the commit. Setting also traps if the commit only reads the property.
    ///
    /// - Complexity: O(log *n*) in the members.
    public subscript<Value: Sendable>(_ property: Observed<Value>) -> Value {
        @inlinable @inline(__always) get {
            // Safe: only the body's thread uses the drafts, and the words of this one are of the
            // property's type.
            let draft = unsafe self.draft(of: property.cell.address)
            return unsafe draft.pointee.isSet
                ? ValueEncoding<Value>.copy(draft.pointee.words) : property.cell.copyLocked()
        }
        // Always inline: a setter that is called receives a reference of its own, which would be
        // counted.
        @inlinable @inline(__always) nonmutating set {
            // Safe: as above.
            let draft = unsafe self.draft(of: property.cell.address)
            if unsafe draft.pointee.isHeldStill { Self.trapHeldStill() }
            let replaced = unsafe draft.pointee.isSet ? draft.pointee.words : nil
            unsafe draft.pointee.words = property.cell.encode(newValue)
            unsafe draft.pointee.isSet = true
            unsafe draft.pointee.mayBeReference = !ValueEncoding<Value>.isAlwaysInline
            guard let replaced else { return }
            ValueEncoding<Value>.discard(replaced)
        }
    }

    /// The draft of a member that a model shows as ``ReadOnly``. The body can set the draft through
    /// the property itself. Traps if the property is neither a member of the group nor read by the
    /// commit.
    ///
    /// - Complexity: O(log *n*) in the members.
    public subscript<Value: Sendable>(_ view: ReadOnly<Value>) -> Value { self[view.property] }

    /// Returns the draft of the property whose latch is at `address`. If there are few members,
    /// compares each; if there are many, uses a binary search. Traps if the property has no draft.
    @inlinable @inline(__always)
    internal func draft(of address: UInt) -> UnsafeMutablePointer<Draft> {
        // Safe, all: within bounds.
        if unsafe drafts.count > Self.few { return unsafe draftOfMany(address) }
        for index in unsafe drafts.indices where unsafe drafts[index].address == address {
            return unsafe drafts.baseAddress.unsafelyUnwrapped + index
        }
        Self.trapOutside()
    }

    @inlinable static var few: Int { 8 }

    @usableFromInline
    internal func draftOfMany(_ address: UInt) -> UnsafeMutablePointer<Draft> {
        // Safe: within bounds.
        guard let index = unsafe Draft.index(of: address, in: drafts) else { Self.trapOutside() }
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

/// One member's part of a commit: the value that the body has set, encoded as `Latch.Words`, and
/// later the words that the change has replaced.
///
/// It is plain bits, whatever the property's type: the drafts of a commit lie side by side on its
/// thread's stack.
@safe @usableFromInline
internal struct Draft: BitwiseCopyable {
    /// The address of the property's latch. It identifies the property, and orders the drafts.
    @usableFromInline let address: UInt
    /// The words of the new value, once the body has set it. If they refer to a box, the draft owns
    /// that reference until the change is prepared.
    @usableFromInline var words = Latch.Words()
    @usableFromInline var isSet = false
    /// Whether the words may refer to a box, which is retired when the value is replaced.
    @usableFromInline var mayBeReference = true
    /// Whether the body may only read the property.
    @usableFromInline let isHeldStill: Bool
    /// The retained object to which a weak property will refer: see `keep(_:)`.
    var kept: UnsafeMutableRawPointer?
    /// The number of the commit. It is set while the commit is published, if the property may be
    /// observed; otherwise it is 0.
    var commit: UInt64 = 0
    /// The words that the change has replaced. They are set while the commit is published.
    var replaced = Latch.Words()
    /// The version of the change. It is set while the commit is published.
    var version: UInt64 = 0
    /// The retained `Announcement` of the change, if the property may be observed. It is set while
    /// the commit is published.
    var announcement: UnsafeMutableRawPointer?

    @inline(__always)
    init(of member: Member) { (address, isHeldStill) = (member.address, member.isHeldStill) }

    /// Whether the commit must call `CommitMember.announce`, because a value must be retired, or
    /// observers must be called. The result is meaningful only after the change is settled.
    @inline(__always)
    var isToBeAnnounced: Bool {
        // Safe: only compared.
        unsafe isSet && (mayBeReference || announcement != nil)
    }
}

extension Draft {
    /// Returns the index of the draft of the property whose latch is at `address`; nil if the
    /// property has no draft.
    ///
    /// - Complexity: O(log *n*): the drafts are in the order of their addresses.
    static func index(of address: UInt, in drafts: UnsafeMutableBufferPointer<Draft>) -> Int? {
        var (low, high) = (0, drafts.count)
        while low < high {
            let middle = (low + high) / 2
            // Safe: within bounds.
            if unsafe drafts[middle].address < address { low = middle + 1 } else { high = middle }
        }
        // Safe: within bounds, if it is read.
        return unsafe low < drafts.count && drafts[low].address == address ? low : nil
    }
}

// MARK: - Weak properties

extension Transaction {
    /// The draft of a weak property that is a member. Reading it returns the object that the body
    /// has set, or else the present one, which is nil once its `deinit` has begun. Setting it makes
    /// a change; the commit holds the object until the observers have been called. Traps if the
    /// property is neither a member of the group nor read by the commit. Setting also traps if the
    /// commit only reads the property.
    ///
    /// - Complexity: O(log *n*) in the members.
    public subscript<Referent: WeaklyObservable>(_ property: WeakObserved<Referent>) -> Referent? {
        get { self[property.storage].referent }
        nonmutating set {
            self[property.storage] = property.watchedBox(newValue)
            // Safe: only the body's thread uses the drafts.
            unsafe draft(of: property.storage.cell.address).pointee.keep(newValue)
        }
    }
}

extension Draft {
    /// Retains the object to which a weak property will refer, and releases the object that the
    /// draft kept before. Called in the body of the commit.
    ///
    /// Without this reference, the object could die before the commit is published. The property
    /// does not refer to the object before that, so the object's death would not make the property
    /// nil. (P12)
    mutating func keep(_ referent: (some AnyObject)?) {
        releaseKept()
        // Safe: releaseKept() takes the reference.
        unsafe kept = referent.map { unsafe Unmanaged.passRetained($0).toOpaque() }
    }

    /// Releases the object that the draft keeps. This may run the object's `deinit`. The caller
    /// must hold no lock, except that the commit's body may call it under the commit's own locks.
    mutating func releaseKept() {
        guard let referent = unsafe kept else { return }
        unsafe kept = nil
        // Safe: keep(_:) has retained it.
        ThreadRecord.withUserCode { unsafe Unmanaged<AnyObject>.fromOpaque(referent).release() }
    }
}

extension WeakObserved: MemberHolding {
    func addMembers(to found: inout FoundMembers) { storage.addMembers(to: &found) }
}
