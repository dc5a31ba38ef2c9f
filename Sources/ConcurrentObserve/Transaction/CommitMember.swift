// SPDX-License-Identifier: Apache-2.0

/// A property that a commit can change: its steps, in the order in which the commit takes them. (P19)
internal protocol CommitMember: AnyObject, Sendable {
    /// The locks are taken in this order, so that commits never wait for each other in a ring.
    var lockAddress: UInt { get }

    /// Takes the mutation lock for the body.
    func lockForBody(_ record: UnsafeMutablePointer<ThreadRecord>)

    /// The body has returned: waits for the registrations that run beside it. The lock is still held.
    func leaveBody()

    /// Prepares the draft, if the body has set it.
    func prepare(_ draft: inout Draft, by record: UnsafeMutablePointer<ThreadRecord>)

    /// The decision is made: puts the change into the mailboxes.
    func enqueue(_ draft: borrowing Draft)

    /// Whether the change may be observed together with others.
    var isPossiblyObserved: Bool { get }

    /// Calls the combinations that observe the property. Under the locks, after the decision.
    func callCombinations(_ draft: borrowing Draft)

    /// Settles what was prepared, and releases the lock.
    func settle(_ draft: inout Draft)

    /// Calls the observers, and retires what was replaced. Under no lock.
    func announce(_ draft: inout Draft)

    /// Releases the lock; nothing was prepared.
    func unlock()

    /// Destroys what the body has left in the draft. Under no lock.
    func discard(_ draft: inout Draft)

    /// Takes the lock, or beside a body the body's lock, for a snapshot; nothing is published then.
    func tryHold() -> MutationLock.Hold?

    func release(_ hold: MutationLock.Hold)
}

/// Something that has a value of properties below it, which a commit can change, or a snapshot hold.
internal protocol MemberHolding {
    /// Adds the properties whose values this one's value is made of; false if it cannot name them.
    func addMembers(to members: inout [any CommitMember]) -> Bool
}

/// The properties of a group, in the order of their locks, each once.
internal struct MemberList: Sendable {
    let members: [any CommitMember]
    /// Whether all values of the group are those of the members.
    let isComplete: Bool

    init(_ add: (inout [any CommitMember]) -> Bool) {
        var found: [any CommitMember] = []
        isComplete = add(&found)
        members = Self.ordered(found)
    }

    private static func ordered(_ found: [any CommitMember]) -> [any CommitMember] {
        #if INSTRUMENTED
        if mutant(.locksAreTakenByDeclaration) { return found }
        #endif
        var previous: UInt = 0
        return found.sorted { $0.lockAddress < $1.lockAddress }.filter { member in
            defer { previous = member.lockAddress }
            return member.lockAddress != previous
        }
    }

    /// Adds the properties of something observable.
    static func add(_ property: some ObservableProperty, to members: inout [any CommitMember]) -> Bool {
        (property as? any MemberHolding)?.addMembers(to: &members) ?? false
    }
}

extension ReadOnly: MemberHolding {
    func addMembers(to members: inout [any CommitMember]) -> Bool { property.addMembers(to: &members) }
}

extension RemovingDuplicates: MemberHolding {
    func addMembers(to members: inout [any CommitMember]) -> Bool { MemberList.add(base, to: &members) }
}
