// SPDX-License-Identifier: Apache-2.0

import CURCU
import Synchronization

/// All thread records of the process.
@safe internal final class ThreadRecords: @unchecked Sendable {
    // Unchecked: `free` and `total` are guarded by `lock`; the rest is constant or atomic.
    static let shared = ThreadRecords()

    /// The records, newest first. Records are only added.
    private let head = Atomic<UInt>(0)
    private let lock = ForkAwareLock()
    /// Records without a thread, linked through `nextFree`.
    private var free: UnsafeMutablePointer<ThreadRecord>?
    private var total = 0

    private init() {}

    var count: Int { lock.withLock { total } }

    /// Returns a free record, or a new one, for the calling thread.
    func acquire() -> UnsafeMutablePointer<ThreadRecord> {
        let idle = unsafe lock.withUntrackedLock { () -> UnsafeMutablePointer<ThreadRecord>? in
            guard let record = unsafe free else { return nil }
            unsafe free = record.pointee.nextFree
            return unsafe record
        }
        return unsafe idle ?? push(ThreadRecord.allocate())
    }

    /// Makes a record for the calling thread while `body` runs. Afterwards it belongs to no thread:
    /// the child of a fork frees such a record for other threads.
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
            // Release: pairs with the acquire in forEach(_:). Sequentially consistent: ordered
            // before the look by the record's first retirement whether the reclamation thread is
            // parked; pairs with the load in forEach(_:), by which the reclamation thread looks
            // before it sleeps.
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

    /// Adds a record to `free`. The caller must hold `lock`, or be in the child of a fork before
    /// the child has other threads.
    private func pushFree(_ record: UnsafeMutablePointer<ThreadRecord>) {
        unsafe record.pointee.nextFree = free
        unsafe free = record
    }

    /// Calls `body` with every record. Any thread. Before it reads frames, the caller must execute
    /// the barrier that makes their contents visible.
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

    /// The number of items that all threads together have retired since the process began.
    var retiredCount: UInt {
        var count: UInt = 0
        // Relaxed: a statistic.
        unsafe forEach { unsafe count &+= $0.pointee.retiredCount.load(ordering: .relaxed) }
        return count
    }

    // MARK: Fork

    func lockForFork() { lock.lockForFork() }
    func unlockAfterFork() { lock.unlockAfterFork() }

    /// In the child: clears the state of the threads that do not exist here, and frees their
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
            // Relaxed: the child has one thread. The record's thread may have been waiting at the
            // closed gate.
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
    /// Whether the record belongs to a thread that was in user code when this process, or an
    /// ancestor of it, was forked.
    fileprivate var isAbandonedInChild: Bool {
        // Safe: records are never freed; the child has one thread.
        return unsafe pointee.isAbandoned || pointee.userCode > 0
    }
}
