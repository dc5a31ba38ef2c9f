// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The properties of a group, found when they are first needed: a group that is only read or observed does not pay for it.
@usableFromInline
internal final class GroupMembers: Sendable {
    private let find: @Sendable (inout [any CommitMember]) -> Bool
    /// The address of the list, or 0 before it is needed. Not a reference: a commit counts none.
    private let found = Atomic<UInt>(0)

    init(_ find: @escaping @Sendable (inout [any CommitMember]) -> Bool) { self.find = find }

    deinit {
        // Relaxed: the last reference has been dropped.
        let list = unsafe UnsafeMutablePointer<MemberList>(bitPattern: found.load(ordering: .relaxed))
        // Safe: addList() has made it.
        unsafe list?.deinitialize(count: 1).deallocate()
    }

    /// Lives as long as this.
    @inline(__always)
    var list: UnsafePointer<MemberList> {
        // Acquire: pairs with the exchange in addList().
        unsafe UnsafePointer(bitPattern: found.load(ordering: .acquiring)) ?? addList()
    }

    @inline(never)
    private func addList() -> UnsafePointer<MemberList> {
        // Safe: freed below, or by `deinit`.
        let list = UnsafeMutablePointer<MemberList>.allocate(capacity: 1)
        unsafe list.initialize(to: MemberList(find))
        // Acquire and release: another thread's list is complete, or this one is; pairs with the acquire in `list`.
        let others = found.compareExchange(
            expected: 0,
            desired: UInt(bitPattern: list),
            ordering: .acquiringAndReleasing
        ).original
        guard let others = unsafe UnsafePointer<MemberList>(bitPattern: others) else {
            return unsafe UnsafePointer(list)
        }
        unsafe list.deinitialize(count: 1).deallocate()
        return unsafe others
    }

    /// All of them, for a commit. Traps if there are others.
    @inline(__always)
    var whole: UnsafeBufferPointer<Member> {
        // Safe: the list lives as long as this.
        if unsafe !list.pointee.isComplete { trapIncomplete() }
        return unsafe list.pointee.members
    }

    @inline(never)
    private func trapIncomplete() -> Never {
        fatalError(
            "ConcurrentObserve: commit was called with a path, a derived value or a property type of yours. Make a group of the Observed and weak properties that change together, and name such properties in `reading:`."
        )
    }
}

extension GroupMembers {
    /// Those of some properties.
    @usableFromInline
    convenience init(of properties: [any ObservableProperty]) {
        self.init { members in
            properties.reduce(true) { isComplete, property in Self.add(property, to: &members) && isComplete }
        }
    }

    /// Adds the properties of something observable.
    static func add(_ property: some ObservableProperty, to members: inout [any CommitMember]) -> Bool {
        (property as? any MemberHolding)?.addMembers(to: &members) ?? false
    }

    func add(to members: inout [any CommitMember]) -> Bool { find(&members) }
}

extension Group: MemberHolding {
    func addMembers(to members: inout [any CommitMember]) -> Bool { self.members.add(to: &members) }
}

extension PropertyList: MemberHolding {
    func addMembers(to members: inout [any CommitMember]) -> Bool { self.members.add(to: &members) }
}
