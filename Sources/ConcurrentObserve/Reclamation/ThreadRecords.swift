// SPDX-License-Identifier: Apache-2.0

import CURCU
import Synchronization

/// Every thread record of the process.
@safe internal final class ThreadRecords: @unchecked Sendable {
    // Unchecked: `free` and `count` are guarded by `lock`; the rest is constant or atomic.
    static let shared = ThreadRecords()

    /// The records, newest first; only ever pushed to.
    private let head = Atomic<UInt>(0)
    private let lock = ForkAwareLock()
    /// Records without a thread, linked through `nextFree`.
    private var free: UnsafeMutablePointer<ThreadRecord>?
    private var total = 0

    private init() {}

    var count: Int { lock.withLock { total } }

    /// A free record, or a new one, for the calling thread.
    func acquire() -> UnsafeMutablePointer<ThreadRecord> {
        let idle = unsafe lock.withUntrackedLock { () -> UnsafeMutablePointer<ThreadRecord>? in
            guard let record = unsafe free else { return nil }
            unsafe free = record.pointee.nextFree
            return unsafe record
        }
        return unsafe idle ?? push(ThreadRecord.allocate())
    }

    /// Makes a record, which is the calling thread's while `body` runs, and belongs to no thread
    /// afterwards: the child of a fork frees such a record.
    func lend(_ body: () -> Void) {
        let record = unsafe push(ThreadRecord.allocate())
        unsafe curcu_set_thread_record(record)
        body()
        curcu_set_thread_record(nil)
        // Relaxed, both: no other thread uses the library.
        unsafe record.pointee.retiredCount.store(0, ordering: .relaxed)
        unsafe record.pointee.takenCount.store(0, ordering: .relaxed)
        unsafe record.forMagazine { unsafe $0.pointee.restart() }
        unsafe record.forRing { unsafe $0.pointee.restart() }
    }

    private func push(_ record: UnsafeMutablePointer<ThreadRecord>) -> UnsafeMutablePointer<ThreadRecord> {
        lock.withUntrackedLock {
            total += 1
            // Relaxed: the lock orders the pushes.
            unsafe record.pointee.next = UnsafeMutablePointer(bitPattern: head.load(ordering: .relaxed))
            // Release: pairs with the acquire in forEach(_:). Sequentially consistent: before the
            // record's first retirement looks whether the reclamation thread is parked; pairs with
            // the load in forEach(_:), by which that thread looks before it sleeps.
            head.store(UInt(bitPattern: record), ordering: .sequentiallyConsistent)
        }
        return unsafe record
    }

    /// Takes a record back from a thread that exits.
    func release(_ record: UnsafeMutablePointer<ThreadRecord>) {
        unsafe record.trapIfInsideCallback()
        unsafe record.releasePooled()
        unsafe record.ownBoxes?.pointee.empty()
        unsafe ReadSection.detach(record)
        curcu_set_thread_record(nil)
        unsafe makeFree(record)
    }

    /// Keeps the record of an exited thread for the next new thread.
    private func makeFree(_ record: UnsafeMutablePointer<ThreadRecord>) {
        lock.withUntrackedLock { unsafe pushFree(record) }
    }

    /// Under the list's lock, or in the child of a fork before it has other threads.
    private func pushFree(_ record: UnsafeMutablePointer<ThreadRecord>) {
        unsafe record.pointee.nextFree = free
        unsafe free = record
    }

    /// Visits every record. Any thread; call it after the barrier that makes the frames' contents
    /// visible.
    func forEach(_ body: (UnsafeMutablePointer<ThreadRecord>) -> Void) {
        // Acquire: pairs with the release in push(_:). Sequentially consistent: the reclamation
        // thread looks here after its store in Parking.park(), which an acquiring load could
        // overtake; pairs with the store in push(_:).
        let first = head.load(ordering: .sequentiallyConsistent)
        var record = unsafe UnsafeMutablePointer<ThreadRecord>(bitPattern: first)
        while let visited = unsafe record {
            unsafe body(visited)
            // Safe: records are never freed.
            unsafe record = visited.pointee.next
        }
    }

    /// Items that all threads together have retired since the process began.
    var retiredCount: UInt {
        var count: UInt = 0
        // Relaxed: a statistic.
        unsafe forEach { unsafe count &+= $0.pointee.retiredCount.load(ordering: .relaxed) }
        return count
    }

    // MARK: Fork

    func lockForFork() { lock.lockForFork() }
    func unlockAfterFork() { lock.unlockAfterFork() }

    /// In the child: forgets what the threads that do not exist here were doing, and frees their
    /// records for other threads. (P18)
    func restartInChild() {
        lock.unlockAfterFork()
        let own = unsafe curcu_get_thread_record()
        unsafe free = nil
        unsafe forEach { record in
            guard unsafe UnsafeMutableRawPointer(record) != own else { return }
            let isAbandoned = unsafe record.isAbandonedInChild
            unsafe record.clear()
            unsafe record.pointee.isReclaiming = false
            unsafe record.pointee.isDeinitThread = false
            // Relaxed: the child has one thread. The thread may have been at the gate, which was
            // closed.
            unsafe record.pointee.isInsideGate.store(false, ordering: .relaxed)
            // liburcu has dropped the readers of all other threads.
            unsafe record.pointee.reader = nil
            unsafe record.forgetPooled()
            unsafe record.countRetired()
            unsafe record.countMagazine()
            if isAbandoned {
                unsafe record.pointee.isAbandoned = true
            } else {
                unsafe pushFree(record)
            }
        }
    }
}

extension UnsafeMutablePointer<ThreadRecord> {
    /// Whether the record belongs to a thread that was in user code when this process, or one
    /// before it, was forked.
    fileprivate var isAbandonedInChild: Bool {
        // Safe: records are never freed; the child has one thread.
        return unsafe pointee.isAbandoned || pointee.userCode > 0
    }
}
