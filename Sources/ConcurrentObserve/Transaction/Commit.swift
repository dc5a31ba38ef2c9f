// SPDX-License-Identifier: Apache-2.0

/// Changes several properties as one. (P19)
///
/// The thread takes the mutation locks of all of these properties, in the order of
/// `Member.address`, and holds them while the body runs on drafts (`Draft`) of the new values. Then
/// it prepares each change (`Latch.prepare`), and makes its `CommitDecision`, which publishes all
/// changes at once. It settles each change (`Latch.settle`), and releases the locks. The user's
/// observers are called under no lock. The library's own observers of groups and paths are also
/// called before the locks are released, and run no user code then. A prepared change is always
/// committed.
@usableFromInline
internal enum Commit {
    /// Runs `body`. If `body` returns, publishes the drafts that it has set, and returns its
    /// result. If it throws, changes nothing.
    ///
    /// This is the thin generic part, which is compiled for the types of `body`.
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

    /// Runs `body`. If it returns true, publishes the drafts that it has set; otherwise changes
    /// nothing.
    @usableFromInline
    static func run(_ group: GroupMembers, _ body: (borrowing Transaction) -> Bool) {
        // Safe, all: the caller keeps the group.
        let list = unsafe group.list
        if unsafe !list.pointee.isComplete { return unsafe runAlongPaths(list, body) }
        _ = unsafe run(list.pointee.members, if: { true }, body)
    }

    /// Runs `body` for a group with paths. Follows the paths, takes the locks of the properties on
    /// the way and of the last properties, and checks whether the paths still lead there. If not,
    /// it releases the locks, and follows the paths again.
    @inline(never)
    private static func runAlongPaths(
        _ list: UnsafePointer<MemberList>,
        _ body: (borrowing Transaction) -> Bool
    ) {
        // Safe, all: run(_:_:)'s caller keeps the group.
        unsafe list.pointee.trapOthers()
        if ThreadRecord.isInsideBody { trapInsideBody() }
        var hasRun = false
        while !hasRun {
            let trace = unsafe PathTrace(list.pointee)
            let members = MemberList(trace.found)
            hasRun = unsafe run(members.members, if: { trace.isPresent }, body)
            withExtendedLifetime(members) {}
            // Under no lock: this may release the last references to the objects, and run user
            // code. (P5)
            withExtendedLifetime(trace) {}
        }
    }

    /// Runs `body` under the mutation locks of `members`, and then publishes or discards the
    /// drafts. The members are in the order of their addresses, and each property occurs once. If
    /// `condition` does not hold under the locks, returns false and does not run `body`.
    @inline(__always)
    private static func run(
        _ members: UnsafeBufferPointer<Member>,
        if condition: () -> Bool,
        _ body: (borrowing Transaction) -> Bool
    ) -> Bool {
        // Safe, all: records are never freed; the caller keeps the members.
        let record = unsafe ThreadRecord.current
        if unsafe record.pointee.isInsideBody { trapInsideBody() }
        // Safe: the drafts are used only in here.
        return unsafe withUnsafeTemporaryAllocation(of: Draft.self, capacity: members.count) { drafts in
            for index in members.indices {
                unsafe drafts.initializeElement(at: index, to: Draft(of: members[index]))
            }
            for index in members.indices { unsafe members[index].lockForBody(record) }
            guard condition() else {
                for index in members.indices {
                    unsafe members[index].leaveBody()
                    unsafe members[index].unlock()
                }
                return false
            }
            unsafe record.pointee.userCode += 1
            let hasReturned = unsafe withUnsafePointer(to: members) { members in
                unsafe withUnsafePointer(to: RunningCommit(members: members, names: names(ofMembersAt:))) { commit in
                    unsafe record.pointee.body = RunningBody.word(of: commit)
                    return unsafe body(Transaction(drafts))
                }
            }
            unsafe record.pointee.body = 0
            if hasReturned {
                unsafe publish(members, drafts, record)
            } else {
                unsafe discard(members, drafts, record)
            }
            return true
        }
    }

    /// Returns the names of the members in the list at an address: see `RunningBody`.
    private static func names(ofMembersAt list: UnsafeRawPointer) -> [String] {
        // Safe: it is the address of the list, which its commit keeps until its body has returned.
        let members = unsafe list.load(as: UnsafeBufferPointer<Member>.self)
        return unsafe members.map { unsafe RunningBody.name(of: $0.property) }
    }

    /// Publishes the drafts that the body has set, and calls the observers. The caller holds the
    /// members' mutation locks; this function releases them.
    @inline(__always)
    private static func publish(
        _ members: UnsafeBufferPointer<Member>,
        _ drafts: UnsafeMutableBufferPointer<Draft>,
        _ record: UnsafeMutablePointer<ThreadRecord>
    ) {
        // Safe, all: records are never freed; the caller has the members and the drafts.
        unsafe record.pointee.decision.reset()
        // Each step is done for all members before the next step begins. The time from the first
        // prepared change to the last settled one is therefore short: a snapshot that is taken in
        // this time must read again.
        for index in members.indices { unsafe members[index].leaveBody() }
        for index in members.indices { unsafe members[index].prepare(&drafts[index], by: record) }
        unsafe record.pointee.decision.make()
        let isObserved = unsafe members.contains { $0.isPossiblyObserved }
        let reach = unsafe isObserved ? deliverLocked(members, drafts) : nil
        for index in members.indices { unsafe members[index].settle(&drafts[index]) }
        for index in members.indices { unsafe members[index].unlock() }
        unsafe record.pointee.userCode -= 1
        if let reach {
            reach.destroyReplaced()
            unsafe relink(members, drafts)
        }
        for index in members.indices where unsafe drafts[index].isToBeAnnounced {
            unsafe members[index].property.announce(&drafts[index])
        }
    }

    /// Relinks the paths that lead on from the members, and wakes the members' mailboxes, before
    /// the first observer is called. (P1)
    @inline(never)
    private static func relink(
        _ members: UnsafeBufferPointer<Member>,
        _ drafts: UnsafeMutableBufferPointer<Draft>
    ) {
        // Safe, all: as in publish(_:_:_:).
        guard unsafe members.contains(where: { $0.mayHaveMailboxesOrLinks }) else { return }
        for index in members.indices where unsafe drafts[index].isToBeAnnounced {
            unsafe members[index].property.relink(drafts[index])
        }
    }

    /// Puts the changes into mailboxes and combinations, and keeps the new values for the
    /// observers. Called after the decision; the caller must hold the members' mutation locks.
    /// Returns a `CommitReach`, which has the combinations that the commit reaches.
    ///
    /// An observer that registers once the locks are released begins at a version that has this
    /// change.
    @inline(never)
    private static func deliverLocked(
        _ members: UnsafeBufferPointer<Member>,
        _ drafts: UnsafeMutableBufferPointer<Draft>
    ) -> CommitReach {
        // Safe, all: as in publish(_:_:_:).
        let observed = members.indices.filter { unsafe drafts[$0].isSet && members[$0].isPossiblyObserved }
        let reach = unsafe CommitReach(of: drafts)
        for index in observed { unsafe drafts[index].commit = reach.number }
        reach.gatherLocked {
            for index in observed where unsafe members[index].mayHaveMailboxes {
                unsafe members[index].property.enqueueLocked(drafts[index])
            }
            for index in observed { unsafe members[index].property.callCombinedLocked(drafts[index]) }
        }
        for index in observed { unsafe members[index].property.keepAnnouncementLocked(&drafts[index]) }
        return reach
    }

    /// Releases the mutation locks, and destroys the drafts. No change was prepared.
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
            "ConcurrentObserve: commit was called inside the body of a modify or a commit. Make all changes in one commit of a group that has all of the properties. It was called inside \(RunningBody.current)."
        )
    }
}
