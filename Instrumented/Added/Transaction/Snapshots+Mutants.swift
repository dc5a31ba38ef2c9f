// SPDX-License-Identifier: Apache-2.0

extension Snapshots {
    /// Whether publication is held off at once, since a member is in a body.
    @usableFromInline
    static func isHeldWrongly(_ members: GroupMembers) -> Bool {
        guard mutant(.aSnapshotHoldsOffForABody) else { return false }
        // Safe: the caller keeps the group.
        return unsafe members.list.pointee.members.contains { $0.isInBody }
    }
}

extension Member {
    /// Whether a body holds the lock.
    fileprivate var isInBody: Bool {
        // Safe: the list retains the property. Relaxed: a hint, as in MutationLock.tryHold(_:).
        unsafe Latch.isModifier(latch.pointee.owner.load(ordering: .relaxed))
    }
}
