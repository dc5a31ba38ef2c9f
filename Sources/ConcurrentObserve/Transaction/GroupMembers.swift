// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The properties of a group. They are found when they are first needed, so a group that is only
/// read or observed needs no search.
@usableFromInline
internal final class GroupMembers: Sendable {
    private let find: @Sendable (inout FoundMembers) -> Void
    /// The address of the list; 0 until the list is needed. A commit uses the address, and
    /// therefore counts no reference.
    private let found = Atomic<UInt>(0)

    init(_ find: @escaping @Sendable (inout FoundMembers) -> Void) { self.find = find }

    deinit {
        // Relaxed: the last reference has been dropped.
        let list = unsafe UnsafeMutablePointer<MemberList>(bitPattern: found.load(ordering: .relaxed))
        // Safe: addList() has made the list.
        unsafe list?.deinitialize(count: 1).deallocate()
    }

    /// The list of the members, which is made on first use. It lives as long as this object.
    @inline(__always)
    var list: UnsafePointer<MemberList> {
        // Acquire: pairs with the exchange in addList().
        unsafe UnsafePointer(bitPattern: found.load(ordering: .acquiring)) ?? addList()
    }

    @inline(never)
    private func addList() -> UnsafePointer<MemberList> {
        // Safe: freed below, or by `deinit`.
        let list = UnsafeMutablePointer<MemberList>.allocate(capacity: 1)
        var members = FoundMembers()
        find(&members)
        unsafe list.initialize(to: MemberList(members))
        // Acquire and release: pairs with the acquire in `list`, and with this exchange on another
        // thread. The list that is returned is complete, whichever thread made it.
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
}

extension GroupMembers {
    /// Makes an object that finds, when they are needed, the members among `properties`, and the
    /// members of the groups and lists among them.
    @usableFromInline
    convenience init(of properties: [any ObservableProperty]) {
        self.init { found in for property in properties { found.add(of: property) } }
    }

    func add(to found: inout FoundMembers) { find(&found) }
}

extension Group: MemberHolding {
    func addMembers(to found: inout FoundMembers) { members.add(to: &found) }
}

extension PropertyList: MemberHolding {
    func addMembers(to found: inout FoundMembers) { members.add(to: &found) }
}
