// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension ThreadRecord {
    /// Items of one thread that may wait to be taken before the thread itself waits for a pass.
    /// (P16)
    static var backlogLimit: UInt { 4096 }

    /// Hands an item over for reclamation. Runs no user code and needs no memory. (P5, P8)
    ///
    /// The item must be out of reach of passes that start from now on. Call it under no lock: with
    /// a full backlog it waits up to ten milliseconds for the reclamation thread to catch up, and
    /// as long for room among the waiting items of the item's own source.
    ///
    /// - Parameter isOneOfMany: Leaves out the second wait: `pause(for:)` follows, once for all.
    static func retire(_ item: Retirable, isOneOfMany: Bool = false) {
        retire(RetiredItem(item), isOneOfMany: isOneOfMany)
    }

    /// As above, of an item with the reference to it.
    static func retire(_ item: RetiredItem, isOneOfMany: Bool = false) {
        let record = unsafe current
        // Before the push, after which the item may be gone. A deinit thread does not wait: other
        // items would wait for it.
        // Safe: records are never freed.
        let isExempt = unsafe isOneOfMany || record.pointee.isDeinitThread
        let source = isExempt ? nil : DeinitThreads.crowdedSource(of: item)
        let backlog = unsafe record.push(item)
        // A pass retires tables itself, many perhaps, and takes them at once: it must not wait for
        // itself.
        if unsafe record.pointee.isReclaiming { return }
        ReclamationThread.wake(urgently: backlog == backlogLimit / 2)
        pause(forCrowded: source, backlog)
    }

    /// As `retire`, for a thread that has waited already.
    static func retireWithoutPause(_ item: Retirable) {
        // Safe: records are never freed.
        _ = unsafe current.push(RetiredItem(item))
        ReclamationThread.wake(urgently: false)
    }

    /// Waits where too many items wait: for room among the source's, or for a pass.
    ///
    /// - Parameters:
    ///   - source: The source of the item that was retired, if it may be crowded.
    ///   - backlog: How many items of this thread wait to be taken.
    @inline(__always)
    private static func pause(forCrowded source: UInt?, _ backlog: UInt) {
        if let source, DeinitThreads.shared.waitForRoom(source) { return }
        if backlog > backlogLimit { ReclamationThread.shared.waitUntilTaken() }
    }

    /// Waits, after many items of a source were retired, as `retire` does after one. Under no lock.
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

/// The thread record of a deinit thread.
@safe internal struct DeinitThreadRecord: ~Copyable {
    fileprivate let record: UnsafeMutablePointer<ThreadRecord>

    /// Whether anything waits to be taken that this thread has retired.
    var hasRetired: Bool {
        var hasReference = false
        unsafe record.forRing { unsafe hasReference = !$0.pointee.isEmpty }
        // Safe: records are never freed. Relaxed: the thread's own pushes; what another has taken
        // is not there.
        return unsafe hasReference || record.pointee.retired.load(ordering: .relaxed) != 0
    }
}

extension UnsafeMutablePointer<ThreadRecord> {
    /// Counts an item, puts it on the record's stack, and returns how many are on it.
    fileprivate func push(_ item: RetiredItem) -> UInt {
        // First: a thread that sees the item reclaimed sees it counted, however long this thread
        // is held up here. Ordered by the exchange that links the item, and by what the others see
        // it reclaimed by.
        let count = unsafe countOne()
        unsafe link(item)
        return count
    }

    /// Adds one to the count of what the record's threads have retired.
    ///
    /// - Returns: How many of these are not taken.
    private func countOne() -> UInt {
        // Relaxed: statistics, and a limit that need not be exact. The owner alone writes the first
        // count.
        let count = unsafe pointee.retiredCount.load(ordering: .relaxed) &+ 1
        unsafe pointee.retiredCount.store(count, ordering: .relaxed)
        return unsafe count &- pointee.takenCount.load(ordering: .relaxed)
    }

    private func link(_ item: RetiredItem) {
        // Relaxed: the exchange below checks it.
        var top = unsafe pointee.retired.load(ordering: .relaxed)
        while true {
            item.link = top
            // Release: pairs with the acquire in takeRetired(_:). Sequentially consistent: before
            // the look at the state in Parking.needsSignal(urgently:); pairs with the looks at the
            // stacks after Parking.park(). Relaxed, when it fails: tried again.
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

    /// Takes everything the record's threads have retired, and visits it. Under the pass lock of
    /// the `ReclamationThread`.
    func takeRetired(_ body: (RetiredItem) -> Void) {
        // Relaxed: what was retired before the pass began is seen; what is retired meanwhile can
        // wait for the next.
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
        // Relaxed: see countOne(); it is written under the pass lock alone.
        let taken = unsafe pointee.takenCount.load(ordering: .relaxed) &+ count
        unsafe pointee.takenCount.store(taken, ordering: .relaxed)
    }

    /// In the child of a fork, which has one thread: makes the count of what the record's threads
    /// have retired exact, where the fork came between a count and its push.
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
