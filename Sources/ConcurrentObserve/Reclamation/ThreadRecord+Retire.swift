// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension ThreadRecord {
    /// Items of one thread that may wait to be taken before the thread itself waits for the reclaimer. (P16)
    static var backlogLimit: UInt { 4096 }

    /// Hands an item over for reclamation. Runs no user code and needs no memory. (P5, P8)
    ///
    /// The item must be out of reach of passes that start from now on. Call it under no lock: with a full backlog it waits up
    /// to ten milliseconds for the reclaimer to catch up, and as long for room among what waits to
    /// be destroyed of the item's own source.
    ///
    /// - Parameter isOneOfMany: Leaves out the second wait: `pause(for:)` follows, once for all.
    static func retire(_ item: Retirable, isOneOfMany: Bool = false) {
        inject("end.retire")
        let record = unsafe current
        // Before the push, after which the item may be gone. A destroyer does not wait: others
        // would wait for it.
        // Safe: records are never freed.
        let source = unsafe isOneOfMany || record.pointee.isDestroying ? nil : Destroyers.shared.crowdedSource(of: item)
        let backlog = unsafe record.push(item)
        // A pass retires tables itself, many perhaps, and takes them at once: it must not wait for itself.
        if unsafe record.pointee.isReclaiming { return }
        Reclaimer.shared.wake(urgently: backlog == backlogLimit / 2)
        if mutant(.backlogIsUnbounded) { return }
        if let source {
            Destroyers.shared.waitForRoom(source)
        } else if backlog > backlogLimit {
            Reclaimer.shared.waitUntilTaken()
        }
    }

    /// Waits, after many items of a source were retired, as `retire` does after one. Under no lock.
    static func pause(for source: UInt) {
        // Safe: records are never freed.
        if unsafe current.pointee.isDestroying { return }
        Destroyers.shared.waitForRoom(source)
    }

    /// Marks the calling thread as one of the `Destroyers` while `body` runs.
    static func runAsDestroyer(_ body: (borrowing DestroyersRecord) -> Void) {
        // Safe: records are never freed.
        let record = unsafe current
        unsafe record.pointee.isDestroying = true
        unsafe body(DestroyersRecord(record: record))
        unsafe record.pointee.isDestroying = false
    }
}

/// The thread record of a thread that destroys.
@safe internal struct DestroyersRecord: ~Copyable {
    fileprivate let record: UnsafeMutablePointer<ThreadRecord>

    /// Whether something waits to be taken that this thread has retired.
    var hasRetired: Bool {
        // Safe: records are never freed. Relaxed: the thread's own pushes; what another has taken
        // is not there.
        unsafe record.pointee.retired.load(ordering: .relaxed) != 0
    }
}

extension UnsafeMutablePointer<ThreadRecord> {
    /// Puts an item on the record's stack and returns how many are on it.
    fileprivate func push(_ item: Retirable) -> UInt {
        // Safe: records are never freed; the stack owns the reference that is passed to it.
        let address = unsafe UInt(bitPattern: Unmanaged.passRetained(item).toOpaque())
        var top = unsafe pointee.retired.load(ordering: .relaxed)  // Relaxed: the exchange below checks it.
        while true {
            item.link = top
            // Release: pairs with the acquire in takeRetired(). Sequentially consistent: before the look at `isParked` in
            // Reclaimer.wake(urgently:); pairs with the looks at the stacks in park(). Relaxed, when it fails: tried again.
            let (exchanged, original) = unsafe pointee.retired.weakCompareExchange(
                expected: top,
                desired: address,
                successOrdering: .sequentiallyConsistent,
                failureOrdering: .relaxed
            )
            if exchanged { break }
            top = original
        }
        faultPoint("retire.pushed")
        // Relaxed: statistics, and a limit that need not be exact. The owner alone writes the first count.
        let count = unsafe pointee.retiredCount.load(ordering: .relaxed) &+ 1
        unsafe pointee.retiredCount.store(count, ordering: .relaxed)
        return unsafe count &- pointee.takenCount.load(ordering: .relaxed)
    }

    /// Takes everything the record's threads have retired, and visits it. The reclaimer alone.
    func takeRetired(_ body: (RetiredItem) -> Void) {
        // Relaxed: what was retired before the pass began is seen; what is retired meanwhile can wait for the next.
        guard unsafe pointee.retired.load(ordering: .relaxed) != 0 else { return }
        // Acquire: pairs with the release in push(_:).
        var address = unsafe pointee.retired.exchange(0, ordering: .acquiring)
        var count: UInt = 0
        while address != 0 {
            let item = RetiredItem(at: address)
            address = item.link
            count &+= 1
            body(item)
        }
        // Relaxed: see push(_:); the reclaimer alone writes it.
        let taken = unsafe pointee.takenCount.load(ordering: .relaxed) &+ count
        unsafe pointee.takenCount.store(taken, ordering: .relaxed)
    }

    /// Makes the count of what the record's threads have retired exact, where a fork came between a push and its count: in the
    /// child, which has one thread.
    func countRetired() {
        // Relaxed, all: the child has one thread.
        var count = unsafe pointee.takenCount.load(ordering: .relaxed)
        var address = unsafe pointee.retired.load(ordering: .relaxed)
        while address != 0 {
            count &+= 1
            address = RetiredItem(at: address).link
        }
        unsafe pointee.retiredCount.store(count, ordering: .relaxed)
    }
}
