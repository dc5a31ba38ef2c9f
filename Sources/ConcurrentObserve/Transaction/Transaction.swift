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

    /// The draft of a member that is shown read-only. A body can set it through the property
    /// itself. Traps if the property is neither a member of the group nor read by the commit.
    ///
    /// - Complexity: O(log *n*) in the members.
    public subscript<Value: Sendable>(_ view: ReadOnly<Value>) -> Value { self[view.property] }

    /// Finds the draft of the property whose latch is at `address`: among a few members by
    /// comparing each, among many by a binary search. Traps if there is none.
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

/// One member's part of a commit: the value that the body has set, as words, and later the words
/// that the change has replaced.
///
/// It is plain bits, whatever the property's type: the drafts of a commit lie side by side on its
/// thread's stack.
@safe @usableFromInline
internal struct Draft: BitwiseCopyable {
    /// The address of the property's latch. It identifies the property, and orders the drafts.
    @usableFromInline let address: UInt
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
    init(of member: Member) { (address, isHeldStill) = (member.address, member.isHeldStill) }

    /// Whether work is left that needs the property's type. Asked once the change is settled.
    @inline(__always)
    var isToBeAnnounced: Bool {
        // Safe: only compared.
        unsafe isSet && (mayBeReference || announcement != nil)
    }
}

extension Draft {
    /// Returns the index of the draft of the property whose latch is at `address`; nil if the
    /// property is no member.
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
    /// Keeps the object to which a weak property will refer, instead of the one that the draft kept
    /// before. In the body.
    ///
    /// Otherwise the object could die before the commit is published, and its end would not make
    /// the property nil, which does not refer to it yet. (P12)
    mutating func keep(_ referent: (some AnyObject)?) {
        releaseKept()
        // Safe: releaseKept() takes the reference.
        unsafe kept = referent.map { unsafe Unmanaged.passRetained($0).toOpaque() }
    }

    /// Releases the kept object, perhaps its last reference. Called under no lock, or in the body.
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
