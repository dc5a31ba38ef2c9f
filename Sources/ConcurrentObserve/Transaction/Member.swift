// SPDX-License-Identifier: Apache-2.0

/// Where the parts of a property are that a commit and a snapshot work on: all that they need of an unobserved one, whatever its type.
///
/// The members of a group lie side by side, so that each step of a commit is one loop, without a call that asks for the type.
///
/// Nothing but addresses, so that no reference is counted where it is copied: its list retains the property.
@safe
internal struct Member: @unchecked Sendable {
    // Unchecked: what the addresses lead to is Sendable.
    /// Has the steps that depend on the type.
    unowned(unsafe) let property: any CommitMember
    /// Whether a commit only reads it.
    var isHeldStill = false
    private let mutation: UnsafePointer<MutationLock>
    let latch: UnsafePointer<Latch>
    private let observers: UnsafePointer<ObserverList>

    init<Value>(_ property: Observed<Value>) {
        // Safe, all: the list retains the property. Its parts never move: they hold atomics, which are lent in place.
        unsafe self.property = property
        unsafe mutation = withUnsafePointer(to: property.mutation) { unsafe $0 }
        unsafe latch = withUnsafePointer(to: property.cell.latch) { unsafe $0 }
        unsafe observers = withUnsafePointer(to: property.observers) { unsafe $0 }
        precondition(lockAddress == property.cell.source, "ConcurrentObserve: a property's latch is not lent in place.")
    }

    /// The locks are taken in this order, so that commits never wait for each other in a ring.
    @inline(__always)
    var lockAddress: UInt { unsafe UInt(bitPattern: latch) }
}

// Safe, all below: the list retains the property.
extension Member {
    /// Takes the mutation lock for the body.
    @inline(__always)
    func lockForBody(_ record: UnsafeMutablePointer<ThreadRecord>) {
        unsafe mutation.pointee.acquireForCommit(record, latch.pointee.owner)
    }

    /// The body has returned: waits for the registrations that run beside it. The lock is still held.
    @inline(__always)
    func leaveBody() { unsafe mutation.pointee.leaveCommitsBody(latch.pointee.owner) }

    /// Prepares the draft, if the body has set it: what it has left alone does not change. (P19)
    @inline(__always)
    func prepare(_ draft: inout Draft, by record: UnsafeMutablePointer<ThreadRecord>) {
        guard draft.isSet else { return }
        // Both words, so that nothing is asked of the type.
        unsafe draft.replaced = latch.pointee.wordsUnderLock(firstOnly: false)
        unsafe latch.pointee.prepare(draft.words, by: UInt(bitPattern: record))
    }

    /// Settles what was prepared.
    @inline(__always)
    func settle(_ draft: inout Draft) {
        if draft.isSet { draft.version = settleVersion() }
    }

    @inline(__always)
    private func settleVersion() -> UInt64 {
        return unsafe latch.pointee.settle()
    }

    /// Releases the lock, once all members are settled.
    @inline(__always)
    func unlock(_ draft: borrowing Draft) {
        if draft.isSet { unsafe mutation.pointee.release() } else { unlock() }
    }

    /// Releases the lock, where nothing was changed.
    @inline(__always)
    func unlock() { unsafe mutation.pointee.releaseUnchanged() }

    // Under the lock, both: who registers from now on has a later version.

    /// Whether the property may be observed.
    @inline(__always)
    var isPossiblyObserved: Bool { unsafe observers.pointee.isPossiblyObserved }

    /// Whether changes may go into mailboxes.
    var mayHaveMailboxes: Bool { unsafe observers.pointee.mayHaveMailboxes }

    // MARK: Snapshots

    /// How often the property has changed. Any thread.
    var version: UInt64 { unsafe latch.pointee.presentVersion }

    /// Takes the lock, or beside a body the body's lock, for a snapshot; nothing is published then. Nil if it is not free.
    func tryHold() -> MutationLock.Hold? { unsafe mutation.pointee.tryHold(latch.pointee.owner) }

    /// Whether no change was published since a moment of `ChangeStamps`. While publication is held off.
    func isUnchanged(since moment: UInt64) -> Bool {
        unsafe ChangeStamps.isUnchanged(mutation.pointee.address, since: moment)
    }

    func release(_ hold: MutationLock.Hold) { unsafe mutation.pointee.release(hold) }
}
