// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// One deinit thread, and the item that it is reclaiming. Guarded by the lock of the
/// `DeinitThreads`, except `isReclaiming`.
internal final class DeinitWorker: @unchecked Sendable {
    // Unchecked: see above.

    /// The item that the thread has taken, if any.
    private(set) var work: RetiredWork?
    /// The queue that the item comes from.
    private(set) var queue: SourceQueue?
    /// Whether the thread has begun to reclaim the item.
    private let hasBegun = Atomic(false)
    /// The address of the thread's record, once the thread runs.
    private var record: UInt = 0
    /// The thread's clock, once the thread runs, and what it showed at the last look.
    private var clock: ProcessorClock?
    private var seen = Duration.zero

    /// Notes which item the thread has taken.
    ///
    /// - Parameter serving: The item and its queue, or nil if none waits.
    func take(_ serving: SourceQueues.Serving?) {
        work = serving?.work
        queue = serving?.queue
        // Relaxed: a fork looks, and has taken the lock under which this runs.
        hasBegun.store(false, ordering: .relaxed)
    }

    /// Reclaims the item that the thread has taken. The thread itself, under no lock.
    func reclaim(_ item: RetiredItem) {
        // Relaxed: a fork looks. Of another thread the child has every store up to some
        // instruction, and none after it, so that this store is there before any of the item's.
        hasBegun.store(true, ordering: .relaxed)
        ThreadRecord.withUserCode { item.reclaim() }
    }

    /// Whether the item is half reclaimed, or reclaimed. In the child of a fork.
    var isReclaiming: Bool {
        #if INSTRUMENTED
        if mutant(.aForkLosesWhatAThreadHasTaken) { return true }
        #endif
        // Relaxed: see reclaim(_:).
        return hasBegun.load(ordering: .relaxed)
    }

    /// Notes that the calling thread is the worker's, in this process.
    ///
    /// - Parameter record: The address of the thread's record.
    func begin(_ record: UInt) {
        self.record = record
        clock = .ofThisThread
        seen = .zero
    }

    /// Whether the thread with this record is the worker's. In the child of a fork.
    ///
    /// - Parameter record: The address of the record, or 0.
    func isThread(_ record: UInt) -> Bool {
        #if INSTRUMENTED
        if mutant(.aForkForgetsItsOwnThreadsItem) { return false }
        #endif
        return record != 0 && record == self.record
    }

    /// The processor time that the thread has used since the last call.
    func newProcessorTime() -> Duration {
        guard let time = clock?.time else { return .zero }
        defer { seen = time }
        return time - seen
    }
}
