// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The combinations that observe a commit's changes. A `Combination` is the observation of a group
/// or a list, and takes all of the changes in one step. Paths ask this object what the commit
/// changes: if the commit sets a path's last property and also leads the path elsewhere, the path
/// takes both as one change. (P21)
///
/// The commit calls the combinations' own observers under the locks of all members. A combination
/// therefore receives the commit's changes before any later change of a member. These observers put
/// each change into a slot, and add the slot to this object.
@safe
internal final class CommitReach {
    /// The number of the commit. (P21)
    let number: UInt64

    /// The number of the last commit that had a member with possible observers. Only such commits
    /// are numbered.
    private static let lastNumber = Atomic<UInt64>(0)

    private var reached: [Reached] = []
    /// The index of each combination in `reached`. If there is only one combination, it may have no
    /// entry.
    private var places: [ObjectIdentifier: Int] = [:]
    /// Values that must be destroyed under no lock, because their destruction may run user code.
    /// (P5)
    private var replaced: [Any] = []

    /// The commit's drafts. They are used only while the commit holds its locks.
    private let drafts: UnsafeMutableBufferPointer<Draft>

    init(of drafts: UnsafeMutableBufferPointer<Draft>) {
        unsafe self.drafts = drafts
        // Relaxed: nothing is read because of it.
        number = Self.lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// Whether the commit changes the property whose latch is at `address`. Called under the locks
    /// of the commit's members.
    func changes(_ address: UInt) -> Bool {
        // Safe: the commit keeps the drafts until it has called its observers.
        guard let index = unsafe Draft.index(of: address, in: drafts) else { return false }
        return unsafe drafts[index].isSet
    }

    private struct Reached {
        let combination: any Joined
        var slots: [AnyMemberSlot]
    }

    /// Records that a change of this commit was put into `slot`, which belongs to `combination`.
    func add(_ slot: AnyMemberSlot, of combination: any Joined) {
        // Most often there is one combination.
        if let first = reached.first, first.combination === combination { return reached[0].slots.append(slot) }
        let place = places[ObjectIdentifier(combination), default: reached.count]
        if place < reached.count { return reached[place].slots.append(slot) }
        if !reached.isEmpty { places[ObjectIdentifier(combination)] = place }
        reached.append(Reached(combination: combination, slots: [slot]))
    }

    /// Keeps a value, and destroys it later, when the thread holds no lock.
    func keep(_ value: Any) { replaced.append(value) }

    /// Calls `deliver`, and then gives the changes to the combinations that observe the members.
    /// The caller must hold the members' mutation locks.
    ///
    /// - Parameter deliver: Puts the changes into the mailboxes, and calls the observers that a
    ///   commit calls under the locks.
    func gatherLocked(_ deliver: () -> Void) {
        // Safe: the caller keeps this object until `deliver` returns.
        unsafe DeliveryScope(of: Unmanaged.passUnretained(self).toOpaque()).perform(deliver)
        for index in reached.indices { reached[index].combination.take(reached[index].slots, of: number, &replaced) }
    }

    /// The `CommitReach` of the commit that is calling observers on this thread under its locks;
    /// nil in any other delivery.
    static var current: CommitReach? {
        // Safe: `gatherLocked` runs, and its caller keeps the object.
        unsafe DeliveryScope.present?.commit.map { unsafe Unmanaged<CommitReach>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Destroys the replaced values, and releases the combinations. The caller must hold no lock.
    func destroyReplaced() {
        ThreadRecord.withUserCode {
            replaced = []
            reached = []
        }
    }
}
