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
        // In the order of their locks, each once.
        let members = group.whole
        // Safe, all: records are never freed.
        let record = unsafe ThreadRecord.current
        if unsafe record.pointee.isInsideBody { trapInsideBody() }
        // Safe: the drafts are used in here alone.
        unsafe withUnsafeTemporaryAllocation(of: Draft.self, capacity: members.count) { drafts in
            for index in members.indices { unsafe drafts.initializeElement(at: index, to: Draft(of: members[index])) }
            for member in members { unsafe member.lockForBody(record) }
            unsafe record.pointee.userCode += 1
            unsafe record.pointee.isInsideBody = true
            inject("commit.body")
            let hasReturned = unsafe body(Transaction(drafts))
            unsafe record.pointee.isInsideBody = false
            if shouldPublish(hasReturned) { return unsafe publish(members, drafts, record) }
            for member in members {
                member.leaveBody()
                member.unlock()
            }
            for index in members.indices { unsafe members[index].discard(&drafts[index]) }
            unsafe record.pointee.userCode -= 1
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
    private static func publish(
        _ members: [any CommitMember],
        _ drafts: UnsafeMutableBufferPointer<Draft>,
        _ record: UnsafeMutablePointer<ThreadRecord>
    ) {
        // Safe, all: records are never freed; the caller has the drafts.
        unsafe record.pointee.decision.reset()
        for index in members.indices {
            members[index].leaveBody()
            unsafe members[index].prepare(&drafts[index], by: record)
        }
        unsafe record.pointee.decision.make()
        inject("commit.decided")
        for index in members.indices { unsafe members[index].enqueue(drafts[index]) }
        let reach = members.contains(where: \.isPossiblyObserved) ? CommitReach() : nil
        unsafe reach?.gather(record) {
            for index in members.indices { unsafe members[index].callCombinations(drafts[index]) }
        }
        for index in members.indices { unsafe members[index].settle(&drafts[index]) }
        // Not earlier: in the child of a fork no other thread takes over a record in the midst of a commit. (P18)
        unsafe record.pointee.userCode -= 1
        inject("commit.settled")
        reach?.destroyReplaced()
        for index in members.indices { unsafe members[index].announce(&drafts[index]) }
    }

    @inline(never)
    private static func trapInsideBody() -> Never {
        fatalError(
            "ConcurrentObserve: commit was called inside the body of a modify or a commit. Make all changes in one commit of a group that has all of the properties."
        )
    }
}
