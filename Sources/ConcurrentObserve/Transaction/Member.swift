// SPDX-License-Identifier: Apache-2.0

/// The addresses of the parts of a property that a commit and a snapshot use. A commit and a
/// snapshot need nothing else of an unobserved property, whatever its type.
///
/// The members of a group lie side by side. Each step of a commit is therefore one loop, without a
/// call that depends on the type.
///
/// A `Member` has only addresses, so copying it counts no reference. The `MemberList` retains the
/// property.
@safe
internal struct Member: @unchecked Sendable {
    // Unchecked: the objects at these addresses are Sendable.
    /// The property. It implements the steps of a commit that depend on its type.
    unowned(unsafe) let property: any CommitMember
    /// Whether a commit only reads the property.
    var isHeldStill = false
    private let mutation: UnsafePointer<MutationLock>
    let latch: UnsafePointer<Latch>
    private let observers: UnsafePointer<ObserverList>

    init<Value>(_ property: Observed<Value>) {
        // Safe, all: the list retains the property. Its parts never move: they hold atomics, which
        // are lent in place.
        unsafe self.property = property
        unsafe mutation = withUnsafePointer(to: property.mutation) { unsafe $0 }
        unsafe latch = withUnsafePointer(to: property.cell.latch) { unsafe $0 }
        unsafe observers = withUnsafePointer(to: property.observers) { unsafe $0 }
        precondition(address == property.cell.address, "ConcurrentObserve: a property's latch is not lent in place.")
    }

    /// The address that identifies the property. Commits take the locks in the order of these
    /// addresses, so they never wait for each other in a cycle.
    @inline(__always)
    var address: UInt { unsafe UInt(bitPattern: latch) }
}

// Safe, all below: the list retains the property.
extension Member {
    /// Takes the mutation lock for the body of a commit.
    @inline(__always)
    func lockForBody(_ record: UnsafeMutablePointer<ThreadRecord>) {
        unsafe mutation.pointee.acquireForCommit(record, latch.pointee.owner)
    }

    /// Records that the body has ended, and waits for the registrations and snapshots of this
    /// property that began while the body ran. The mutation lock is still held.
    @inline(__always)
    func leaveBody() { unsafe mutation.pointee.leaveCommitsBody(latch.pointee.owner) }

    /// Prepares the draft, if the body has set it. A property that the body has not set does not
    /// change. (P19)
    @inline(__always)
    func prepare(_ draft: inout Draft, by record: UnsafeMutablePointer<ThreadRecord>) {
        guard draft.isSet else { return }
        // Reads both words, so that the type is not needed.
        unsafe draft.replaced = latch.pointee.wordsLocked(firstOnly: false)
        unsafe latch.pointee.prepare(draft.words, by: UInt(bitPattern: record))
    }

    /// Settles the prepared change, if there is one: its version becomes the present one
    /// (`Latch.settle`).
    @inline(__always)
    func settle(_ draft: inout Draft) {
        if draft.isSet { draft.version = unsafe latch.pointee.settle() }
    }

    /// Releases the mutation lock. Called when the changes of all members are settled.
    @inline(__always)
    func unlock() { unsafe mutation.pointee.release() }

    // The caller must hold the mutation lock when it reads the first two: an observer that
    // registers later begins at a version that has this change. For the same reason
    // `mayHaveMailboxesOrLinks` may be read after the unlock.

    /// Whether the property may be observed.
    @inline(__always)
    var isPossiblyObserved: Bool { unsafe observers.pointee.isPossiblyObserved }

    /// Whether the property may have mailboxes.
    var mayHaveMailboxes: Bool { unsafe observers.pointee.mayHaveMailboxes }

    /// Whether the property may have mailboxes, or links of paths and of derived values.
    var mayHaveMailboxesOrLinks: Bool { unsafe observers.pointee.mayHaveMailboxesOrLinks }

    // MARK: Snapshots

    /// The number of changes of the property so far. Any thread.
    var version: UInt64 { unsafe latch.pointee.presentVersion }

    /// Holds off publication for a snapshot: takes the mutation lock, or `bodyLock` while a body
    /// runs. Returns nil if that lock is not free.
    func tryHold() -> MutationLock.Hold? { unsafe mutation.pointee.tryHold(latch.pointee.owner) }

    func release(_ hold: MutationLock.Hold) { unsafe mutation.pointee.release(hold) }
}

/// A property that a commit can change. The functions are the steps of a commit that depend on the
/// property's type. An unobserved property of plain bits does not need them. (P19)
///
/// They are called only for drafts that the body has set.
internal protocol CommitMember: AnyObject, Sendable {
    /// The addresses of the property's parts.
    var member: Member { get }

    /// Puts the change into the mailboxes. Called after the commit's decision; the caller must hold
    /// the members' mutation locks.
    func enqueueLocked(_ draft: borrowing Draft)

    /// Calls the observers of the property that are marked `isCombined`: the observers of
    /// combinations and of paths. Called after the commit's decision; the caller must hold the
    /// members' mutation locks.
    func callCombinedLocked(_ draft: borrowing Draft)

    /// Keeps a copy of the new value for the observers. The caller must hold the members' mutation
    /// locks.
    func keepAnnouncementLocked(_ draft: inout Draft)

    /// Relinks the paths that lead on from the property, and wakes the mailboxes. The caller must
    /// hold no lock.
    func relink(_ draft: borrowing Draft)

    /// Calls the observers, and retires the replaced value. The caller must hold no lock.
    func announce(_ draft: inout Draft)

    /// Destroys the value that the body has left in the draft. The caller must hold no lock.
    func discard(_ draft: inout Draft)
}

/// An observable value that is made from properties which a commit can change. While a snapshot is
/// taken, changes of these properties can be held off.
internal protocol MemberHolding {
    /// Adds the properties from which the value is made.
    func addMembers(to found: inout FoundMembers)
}

extension ReadOnly: MemberHolding {
    func addMembers(to found: inout FoundMembers) { property.addMembers(to: &found) }
}

extension _RemovingDuplicates: MemberHolding {
    func addMembers(to found: inout FoundMembers) { found.add(of: base) }
}
