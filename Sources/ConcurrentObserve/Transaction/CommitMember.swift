// SPDX-License-Identifier: Apache-2.0

/// A property that a commit can change: the steps that depend on its type, which unobserved properties of plain bits do without. (P19)
///
/// All are called for drafts alone that the body has set.
internal protocol CommitMember: AnyObject, Sendable {
    /// Where its parts are.
    var member: Member { get }

    /// The decision is made: puts the change into the mailboxes.
    func enqueue(_ draft: borrowing Draft)

    /// Calls the combinations that observe the property. Under the locks, after the decision.
    func callCombinations(_ draft: borrowing Draft)

    /// Keeps a copy of the new value for the observers. Under the locks.
    func keepAnnouncement(_ draft: inout Draft)

    /// Relinks the paths that lead on from the property, and wakes the mailboxes. Under no lock.
    func relink(_ draft: borrowing Draft)

    /// Calls the bindings. Under no lock, once the paths are relinked.
    func callBindings(_ draft: borrowing Draft)

    /// Calls the observers, those that were not called before, and retires what was replaced. Under no lock.
    func announce(_ draft: inout Draft)

    /// Destroys what the body has left in the draft. Under no lock.
    func discard(_ draft: inout Draft)
}

/// Something that has a value of properties below it, which a commit can change, or a snapshot hold.
internal protocol MemberHolding {
    /// Adds the properties whose values this one's value is made of.
    func addMembers(to found: inout FoundMembers)
}

extension ReadOnly: MemberHolding {
    func addMembers(to found: inout FoundMembers) { property.addMembers(to: &found) }
}

extension RemovingDuplicates: MemberHolding {
    func addMembers(to found: inout FoundMembers) { found.add(of: base) }
}
