// SPDX-License-Identifier: Apache-2.0

/// Changes several properties as one. (P19)
///
/// The thread holds the mutation locks of all of them, in the order of their addresses, while the body runs on drafts. Then it prepares
/// each change, makes its decision, which publishes all of them at once, settles each, and releases the locks. Observers are called under
/// no lock. What is prepared is always committed.
@usableFromInline
internal enum Commit {
    /// Runs `body`, and publishes what it has set, unless it throws.
    ///
    /// The thin generic part, which is compiled for the body's types.
    @inlinable
    static func perform<Result, Failure: Error>(
        _ group: GroupMembers,
        _ body: (borrowing Transaction) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var result: Result?
        var failure: Failure?
        run(group) { transaction in
            do throws(Failure) {
                result = try body(transaction)
                return true
            } catch {
                failure = error
                return false
            }
        }
        if let failure { throw failure }
        return result!
    }

    /// Runs `body`, and publishes what it has set if it returns true.
    @usableFromInline
    static func run(_ group: GroupMembers, _ body: (borrowing Transaction) -> Bool) {
        // In the order of their locks, each once. Safe: the caller keeps the group.
        let members = unsafe group.whole
        // Safe, all: records are never freed.
        let record = unsafe ThreadRecord.current
        if unsafe record.pointee.isInsideBody { trapInsideBody() }
        // Safe: the drafts are used in here alone.
        unsafe withUnsafeTemporaryAllocation(of: Draft.self, capacity: members.count) { drafts in
            for index in members.indices {
                unsafe drafts.initializeElement(at: index, to: Draft(of: members[index]))
            }
            for index in members.indices { unsafe members[index].lockForBody(record) }
            unsafe record.pointee.userCode += 1
            unsafe record.pointee.isInsideBody = true
            inject("commit.body")
            let hasReturned = unsafe body(Transaction(drafts))
            unsafe record.pointee.isInsideBody = false
            if shouldPublish(hasReturned) {
                unsafe publish(members, drafts, record)
            } else {
                unsafe discard(members, drafts, record)
            }
        }
    }

    /// Nothing is published of a body that throws.
    @inline(__always)
    private static func shouldPublish(_ hasReturned: Bool) -> Bool {
        #if INSTRUMENTED
        if mutant(.aCommitsErrorPublishesItsDrafts) { return true }
        #endif
        return hasReturned
    }

    /// Under all the locks, which it releases.
    @inline(__always)
    private static func publish(
        _ members: UnsafeBufferPointer<Member>,
        _ drafts: UnsafeMutableBufferPointer<Draft>,
        _ record: UnsafeMutablePointer<ThreadRecord>
    ) {
        // Safe, all: records are never freed; the caller has the members and the drafts.
        unsafe record.pointee.decision.reset()
        for index in members.indices {
            unsafe members[index].leaveBody()
            unsafe members[index].prepare(&drafts[index], by: record)
        }
        unsafe record.pointee.decision.make()
        inject("commit.decided")
        let isObserved = unsafe members.contains { $0.isPossiblyObserved }
        let reach = unsafe isObserved ? deliverUnderLocks(members, drafts, record) : nil
        for index in members.indices { unsafe members[index].settle(&drafts[index]) }
        // Not earlier: in the child of a fork no other thread takes over a record in the midst of a commit. (P18)
        unsafe record.pointee.userCode -= 1
        inject("commit.settled")
        reach?.destroyReplaced()
        for index in members.indices where unsafe drafts[index].isToBeAnnounced {
            unsafe members[index].property.announce(&drafts[index])
        }
    }

    /// Puts the changes into mailboxes and combinations, and keeps what the observers receive. Under all the locks, after the decision.
    ///
    /// Observers that register once the locks are released have a later version.
    @inline(never)
    private static func deliverUnderLocks(
        _ members: UnsafeBufferPointer<Member>,
        _ drafts: UnsafeMutableBufferPointer<Draft>,
        _ record: UnsafeMutablePointer<ThreadRecord>
    ) -> CommitReach {
        // Safe, all: as in publish(_:_:_:).
        let observed = members.indices.filter { unsafe drafts[$0].isSet && members[$0].isPossiblyObserved }
        let reach = CommitReach()
        for index in observed { unsafe drafts[index].commit = reach.number(of: index) }
        for index in observed where unsafe members[index].mayHaveMailboxes {
            unsafe members[index].property.enqueue(drafts[index])
        }
        unsafe reach.gather(record) {
            for index in observed { unsafe members[index].property.callCombinations(drafts[index]) }
        }
        for index in observed { unsafe members[index].property.keepAnnouncement(&drafts[index]) }
        return reach
    }

    /// Releases all the locks; nothing was prepared.
    @inline(never)
    private static func discard(
        _ members: UnsafeBufferPointer<Member>,
        _ drafts: UnsafeMutableBufferPointer<Draft>,
        _ record: UnsafeMutablePointer<ThreadRecord>
    ) {
        // Safe, all: as in publish(_:_:_:).
        for index in members.indices {
            unsafe members[index].leaveBody()
            unsafe members[index].unlock()
        }
        for index in members.indices where unsafe drafts[index].isSet {
            unsafe members[index].property.discard(&drafts[index])
        }
        unsafe record.pointee.userCode -= 1
    }

    @inline(never)
    private static func trapInsideBody() -> Never {
        fatalError(
            "ConcurrentObserve: commit was called inside the body of a modify or a commit. Make all changes in one commit of a group that has all of the properties."
        )
    }
}
