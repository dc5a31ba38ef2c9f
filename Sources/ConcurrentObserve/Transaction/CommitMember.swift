// SPDX-License-Identifier: Apache-2.0

/// A property that a commit can change: the steps that depend on its type. An unobserved property
/// of plain bits does not need them. (P19)
///
/// They are called only for drafts that the body has set.
internal protocol CommitMember: AnyObject, Sendable {
    /// The addresses of its parts.
    var member: Member { get }

    /// Puts the change into the mailboxes. The caller must hold the members' mutation locks, after
    /// the decision.
    func enqueue(_ draft: borrowing Draft)

    /// Calls the combinations that observe the property. The caller must hold the members' mutation
    /// locks, after the decision.
    func callCombinations(_ draft: borrowing Draft)

    /// Keeps a copy of the new value for the observers. The caller must hold the members' mutation
    /// locks.
    func keepAnnouncement(_ draft: inout Draft)

    /// Relinks the paths that lead on from the property, and wakes the mailboxes. Under no lock.
    func relink(_ draft: borrowing Draft)

    /// Calls the observers, and retires the replaced value. Under no lock.
    func announce(_ draft: inout Draft)

    /// Destroys the value that the body has left in the draft. Under no lock.
    func discard(_ draft: inout Draft)
}

/// Something whose value is made from properties that a commit can change and a snapshot can hold.
internal protocol MemberHolding {
    /// Adds the properties from which the value is made.
    func addMembers(to found: inout FoundMembers)
}

extension ReadOnly: MemberHolding {
    func addMembers(to found: inout FoundMembers) { property.addMembers(to: &found) }
}

extension RemovingDuplicates: MemberHolding {
    func addMembers(to found: inout FoundMembers) { found.add(of: base) }
}
