// SPDX-License-Identifier: Apache-2.0

import ConcurrentObservePlatform
import Synchronization

/// The list of all thread records of the process.
@safe internal final class ThreadRecords: @unchecked Sendable {
    // Unchecked: `free` and `total` are guarded by `lock`; the rest is constant or atomic.
    static let shared = ThreadRecords()

    /// The records, newest first. Records are only added.
    private let head = Atomic<UInt>(0)
    private let lock = Lock()
    /// Records without a thread, linked through `nextFree`.
    private var free: UnsafeMutablePointer<ThreadRecord>?
    private var total = 0

    private init() {}

    /// Runs `body` under the lock. The calling thread may have no record yet, so this function does
    /// not use `withLock`, which needs a record in the instrumented build.
    private func withList<Result>(_ body: () -> Result) -> Result {
        lock.lock()
        defer { lock.unlock() }
        return body()
    }

    var count: Int { lock.withLock { total } }

    /// Returns a free record, or a new one, for the calling thread.
    func acquire() -> UnsafeMutablePointer<ThreadRecord> {
        let idle = unsafe withList { () -> UnsafeMutablePointer<ThreadRecord>? in
            guard let record = unsafe free else { return nil }
            unsafe free = record.pointee.nextFree
            return unsafe record
        }
        return unsafe idle ?? push(ThreadRecord.allocate())
    }

    private func push(_ record: UnsafeMutablePointer<ThreadRecord>) -> UnsafeMutablePointer<ThreadRecord> {
        withList {
            total += 1
            // Relaxed: the lock orders the pushes.
            unsafe record.pointee.next = UnsafeMutablePointer(bitPattern: head.load(ordering: .relaxed))
            // Release: pairs with the acquire in forEach(_:). Sequentially consistent: this store
            // comes before the load by which the first retirement of this record checks whether the
            // reclamation thread is parked. It pairs with the load in forEach(_:): by that load the
            // reclamation thread looks for retired items before it sleeps.
            head.store(UInt(bitPattern: record), ordering: .sequentiallyConsistent)
        }
        return unsafe record
    }

    /// Takes a record back from a thread that exits, and keeps it for the next new thread.
    func release(_ record: UnsafeMutablePointer<ThreadRecord>) {
        unsafe record.trapIfInsideCallback()
        unsafe record.releasePooled()
        unsafe record.ownBoxes?.pointee.empty()
        unsafe CurrentThread.record = nil
        withList {
            unsafe record.pointee.nextFree = free
            unsafe free = record
        }
    }

    /// Calls `body` with every record. Any thread may call it. Before `body` reads frames, the
    /// caller must execute the barrier that makes the frames' contents visible.
    func forEach(_ body: (UnsafeMutablePointer<ThreadRecord>) -> Void) {
        // Acquire: pairs with the release in push(_:). Sequentially consistent: the reclamation
        // thread comes here after its store in Parking.park(), which an acquiring load could
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
}
