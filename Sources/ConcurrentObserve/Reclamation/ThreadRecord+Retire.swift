// SPDX-License-Identifier: Apache-2.0

// An *item* is a retired object: see `Retirable`. A *pass* takes all items, scans the hazard
// pointers of all threads (in their frames), and reclaims the items that no frame holds. The
// comment at the top of `ReclamationThread.swift` explains this folder.

import Synchronization

extension ThreadRecord {
    /// The largest number of one thread's retired items that may wait for a pass to take them. If
    /// more wait, the thread waits for a pass. (P16)
    static var backlogLimit: UInt { 4096 }

    /// Hands an item over for reclamation. The call runs no user code and needs no memory. (P5, P8)
    ///
    /// No thread may be able to begin to use the item any more. The caller must hold no lock: the
    /// call may wait once, up to ten milliseconds. It waits for room if the item's source has too
    /// many waiting items; otherwise, if too many items of this thread wait to be taken, it waits
    /// for the reclamation thread.
    ///
    /// - Parameter isOneOfMany: Whether the call must not wait for room. The caller calls
    ///   `pause(for:)` once after all items.
    static func retire(_ item: Retirable, isOneOfMany: Bool = false) {
        retire(RetiredItem(item), isOneOfMany: isOneOfMany)
    }

    /// Hands an item over for reclamation, with the reference to it. Waits as
    /// `retire(_:isOneOfMany:)` does.
    static func retire(_ item: RetiredItem, isOneOfMany: Bool = false) {
        let record = unsafe current
        // Read before the push, because the item may be gone after it. A deinit thread does not
        // wait for room, because other items would wait for it.
        // Safe: records are never freed.
        let isExempt = unsafe isOneOfMany || record.pointee.isDeinitThread
        let source = isExempt ? nil : DeinitThreads.crowdedSource(of: item)
        let backlog = unsafe record.push(item)
        // A pass itself retires tables, perhaps many, and takes them at once. It must not wait for
        // itself.
        if unsafe record.pointee.isReclaiming { return }
        ReclamationThread.wake(urgently: backlog == backlogLimit / 2)
        pause(forCrowded: source, backlog)
    }

    /// Hands an item over for reclamation, and does not wait. For a thread that has already waited,
    /// or must not wait.
    static func retireWithoutPause(_ item: Retirable) {
        // Safe: records are never freed.
        _ = unsafe current.push(RetiredItem(item))
        ReclamationThread.wake(urgently: false)
    }

    /// Waits if too many items wait: for room in the source's queue, or for a pass.
    ///
    /// - Parameters:
    ///   - source: The source of the retired item, if it may be crowded.
    ///   - backlog: The number of this thread's items that wait to be taken.
    @inline(__always)
    private static func pause(forCrowded source: UInt?, _ backlog: UInt) {
        if let source, DeinitThreads.shared.waitForRoom(source) { return }
        if backlog > backlogLimit { ReclamationThread.shared.waitUntilTaken() }
    }

    /// Waits for room, after the caller has retired many items of a source. The caller must hold no
    /// lock.
    static func pause(for source: UInt) {
        // Safe: records are never freed.
        if unsafe current.pointee.isDeinitThread { return }
        DeinitThreads.shared.waitForRoom(source)
    }

    /// Marks the calling thread as one of the `DeinitThreads` while `body` runs.
    static func runAsDeinitThread(_ body: (borrowing DeinitThreadRecord) -> Void) {
        // Safe: records are never freed.
        let record = unsafe current
        unsafe record.pointee.isDeinitThread = true
        unsafe body(DeinitThreadRecord(record: record))
        unsafe record.pointee.isDeinitThread = false
    }
}

/// The thread record of the calling thread, which runs as a deinit thread. `runAsDeinitThread(_:)`
/// lends it to its body.
@safe internal struct DeinitThreadRecord: ~Copyable {
    fileprivate let record: UnsafeMutablePointer<ThreadRecord>

    /// Whether this thread has retired items that no pass has taken.
    var hasRetired: Bool {
        var hasReference = false
        unsafe record.forRing { unsafe hasReference = !$0.pointee.isEmpty }
        // Safe: records are never freed. Relaxed: the thread's own pushes; an item that a pass has
        // taken is not on the stack.
        return unsafe hasReference || record.pointee.retired.load(ordering: .relaxed) != 0
    }
}

extension UnsafeMutablePointer<ThreadRecord> {
    /// Counts an item, pushes it on the record's stack, and returns the number of items that wait
    /// to be taken.
    fileprivate func push(_ item: RetiredItem) -> UInt {
        // Counted first: a thread that sees the item reclaimed also sees it counted, however long
        // this thread is delayed here. The exchange that links the item orders the count, and so
        // does the operation by which the other thread sees the item reclaimed.
        let count = unsafe countOne()
        unsafe link(item)
        return count
    }

    /// Adds one to the number of items that the record's threads have retired.
    ///
    /// - Returns: The number of these items that no pass has taken.
    private func countOne() -> UInt {
        // Relaxed: statistics, and a limit that need not be exact. Only the owner writes
        // `retiredCount`.
        let count = unsafe pointee.retiredCount.load(ordering: .relaxed) &+ 1
        unsafe pointee.retiredCount.store(count, ordering: .relaxed)
        return unsafe count &- pointee.takenCount.load(ordering: .relaxed)
    }

    private func link(_ item: RetiredItem) {
        // Relaxed: the exchange below checks it.
        var top = unsafe pointee.retired.load(ordering: .relaxed)
        while true {
            item.link = top
            // Release: pairs with the acquire in takeRetired(_:). Sequentially consistent: ordered
            // before the load of the state in Parking.needsSignal(urgently:); pairs with the checks
            // of the stacks after Parking.park(). Relaxed on failure: the loop tries again.
            let (exchanged, original) = unsafe pointee.retired.weakCompareExchange(
                expected: top,
                desired: item.address,
                successOrdering: .sequentiallyConsistent,
                failureOrdering: .relaxed
            )
            if exchanged { return }
            top = original
        }
    }

    /// Takes all items that the record's threads have retired, and calls `body` with each. The
    /// caller must hold the pass lock of the `ReclamationThread`.
    func takeRetired(_ body: (RetiredItem) -> Void) {
        // Relaxed: it sees the items that were retired before the pass began. Items that are
        // retired during the pass can wait for the next one.
        guard unsafe pointee.retired.load(ordering: .relaxed) != 0 else { return }
        // Acquire: pairs with the release in link(_:).
        var address = unsafe pointee.retired.exchange(0, ordering: .acquiring)
        var count: UInt = 0
        while address != 0 {
            let item = RetiredItem(at: address)
            address = item.link
            count &+= 1
            body(item)
        }
        // Relaxed: see countOne(). Written only under the pass lock.
        let taken = unsafe pointee.takenCount.load(ordering: .relaxed) &+ count
        unsafe pointee.takenCount.store(taken, ordering: .relaxed)
    }
}
