// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The combinations that observe a commit's changes: each takes all of them in one step. (P21)
///
/// The commit calls the combinations' own observers under the locks of all members, so that no later change of a member comes before it
/// there. They put each change into a slot, and the slot here.
internal final class CommitReach {
    /// The number of the commit. (P21)
    let number: UInt64

    /// The number of the last commit that was possibly observed.
    private static let lastNumber = Atomic<UInt64>(0)

    private var reached: [Reached] = []
    /// What was replaced, and the combinations: destroyed under no lock, since that may run user code. (P5)
    private var replaced: [Any] = []

    init() {
        // Relaxed: nothing is read because of it.
        number = Self.lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// The number for the change of a member.
    func number(of index: Int) -> UInt64 {
        #if INSTRUMENTED
        if mutant(.aCommitNumbersItsChangesApart) { return number &+ UInt64(index) }
        #endif
        return number
    }

    private struct Reached {
        let combination: any ReachedByCommits
        var slots: [AnyMemberSlot]
    }

    /// Notes a change that was put into a slot.
    func add(_ slot: AnyMemberSlot, of combination: any ReachedByCommits) {
        if let index = reached.firstIndex(where: { $0.combination === combination }) {
            reached[index].slots.append(slot)
        } else {
            reached.append(Reached(combination: combination, slots: [slot]))
        }
    }

    /// Has the members' combinations take the changes. Under all the locks.
    func gather(_ record: UnsafeMutablePointer<ThreadRecord>, _ callCombinations: () -> Void) {
        // Safe, all: records are never freed; the caller keeps this object meanwhile.
        unsafe record.pointee.commitReach = Unmanaged.passUnretained(self).toOpaque()
        callCombinations()
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
internal protocol ReachedByCommits: AnyObject {
    /// Takes what the slots have staged, as one change. Runs no user code.
    ///
    /// - Parameters:
    ///   - commit: The number of the commit.
    ///   - replaced: Receives what is to be destroyed under no lock. (P5)
    func take(_ slots: [AnyMemberSlot], of commit: UInt64, _ replaced: inout [Any])
}
