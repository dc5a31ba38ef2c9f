// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The properties of a group, found when they are first needed: a group that is only read or observed does not pay for it.
@usableFromInline
internal final class GroupMembers: Sendable {
    private let find: @Sendable (inout [any CommitMember]) -> Bool
    private let found = AtomicLazyReference<Found>()

    private final class Found: Sendable {
        let list: MemberList
        init(_ list: MemberList) { self.list = list }
    }

    init(_ find: @escaping @Sendable (inout [any CommitMember]) -> Bool) { self.find = find }

    var list: MemberList { (found.load() ?? found.storeIfNil(Found(MemberList(find)))).list }

    /// All of them, for a commit. Traps if there are others.
    var whole: [any CommitMember] {
        let list = list
        if !list.isComplete { trapIncomplete() }
        return list.members
    }

    @inline(never)
    private func trapIncomplete() -> Never {
        fatalError(
            "ConcurrentObserve: commit was called on a group with a path, a weak property or a property type of yours. Make a group of the Observed properties that change together."
        )
    }
}

extension GroupMembers {
    /// Those of some properties.
    @usableFromInline
    convenience init(of properties: [any ObservableProperty]) {
        self.init { members in
            properties.reduce(true) { isComplete, property in MemberList.add(property, to: &members) && isComplete }
        }
    }
}

extension Group: MemberHolding {
    func addMembers(to members: inout [any CommitMember]) -> Bool { self.members.add(to: &members) }
}

extension PropertyList: MemberHolding {
    func addMembers(to members: inout [any CommitMember]) -> Bool { self.members.add(to: &members) }
}

extension GroupMembers {
    func add(to members: inout [any CommitMember]) -> Bool {
        let list = list
        members += list.members
        return list.isComplete
    }
}
