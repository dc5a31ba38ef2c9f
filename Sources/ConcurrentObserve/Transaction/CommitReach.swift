// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The combinations and the paths that observe a commit's changes: each combination takes all of them in one step, and a path that the
/// commit leads elsewhere takes that as one change. (P21)
///
/// The commit calls the combinations' own observers under the locks of all members, so that no later change of a member comes before it
/// there. They put each change into a slot, and the slot here.
@safe
internal final class CommitReach {
    /// The number of the commit. (P21)
    let number: UInt64

    /// The number of the last commit that was possibly observed.
    private static let lastNumber = Atomic<UInt64>(0)

    /// Whether bindings observe what the commit changes.
    var hasBindings = false

    private var reached: [Reached] = []
    /// Where each combination is in that list.
    private var places: [ObjectIdentifier: Int] = [:]
    /// What was replaced, and the combinations: destroyed under no lock, since that may run user code. (P5)
    private var replaced: [Any] = []

    /// What the commit changes. Used until its bindings have carried it on.
    private let drafts: UnsafeMutableBufferPointer<Draft>

    init(of drafts: UnsafeMutableBufferPointer<Draft>) {
        unsafe self.drafts = drafts
        // Relaxed: nothing is read because of it.
        number = Self.lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// The number for the change of a member.
    func number(of index: Int) -> UInt64 {
        return number
    }

    /// Whether the commit changes a property. Until its bindings have carried it on.
    func changes(_ source: UInt) -> Bool {
        // Safe: the commit has the drafts.
        guard let index = unsafe Draft.index(of: source, in: drafts) else { return false }
        return unsafe drafts[index].isSet
    }

    private struct Reached {
        let combination: AnyCombination
        var slots: [AnyMemberSlot]
    }

    /// Notes a change that was put into a slot.
    func add(_ slot: AnyMemberSlot, of combination: AnyCombination) {
        // Most often there is one.
        if let first = reached.first, first.combination === combination { return reached[0].slots.append(slot) }
        let place = places[ObjectIdentifier(combination), default: reached.count]
        if place < reached.count { return reached[place].slots.append(slot) }
        if !reached.isEmpty { places[ObjectIdentifier(combination)] = place }
        reached.append(Reached(combination: combination, slots: [slot]))
    }

    /// Keeps a value until no lock is held.
    func keep(_ value: Any) { replaced.append(value) }

    /// Has the members' combinations take the changes. Under all the locks.
    ///
    /// - Parameter deliver: Puts the changes into the mailboxes, and calls the observers that a commit calls under the locks.
    func gather(_ record: UnsafeMutablePointer<ThreadRecord>, _ deliver: () -> Void) {
        // Safe, all: records are never freed; the caller keeps this object meanwhile.
        unsafe record.pointee.commitReach = Unmanaged.passUnretained(self).toOpaque()
        deliver()
        unsafe record.pointee.commitReach = nil
        for index in reached.indices { reached[index].combination.take(reached[index].slots, of: number, &replaced) }
    }

    /// That of the calling thread, while it gathers.
    static var current: CommitReach? {
        // Safe: `gather` keeps it.
        guard let reach = unsafe ThreadRecord.current.pointee.commitReach else { return nil }
        return unsafe Unmanaged<CommitReach>.fromOpaque(reach).takeUnretainedValue()
    }

    /// Destroys what was replaced. Under no lock.
    func destroyReplaced() {
        ThreadRecord.withUserCode {
            replaced = []
            reached = []
        }
    }
}

/// A combination, whatever its values are.
internal class AnyCombination: @unchecked Sendable {
    // Unchecked: it has nothing; the subclass says what guards the rest.
    init() {}

    /// Takes what the slots have staged, as one change. Runs no user code.
    ///
    /// - Parameters:
    ///   - commit: The number of the commit.
    ///   - replaced: Receives what is to be destroyed under no lock. (P5)
    func take(_ slots: [AnyMemberSlot], of commit: UInt64, _ replaced: inout [Any]) {}
}
