// SPDX-License-Identifier: Apache-2.0

/// One deinit thread, and the item that it is reclaiming. Guarded by the lock of the
/// `DeinitThreads`.
internal final class DeinitWorker: @unchecked Sendable {
    // Unchecked: see above.

    /// The item that the thread is reclaiming, if any.
    var work: RetiredWork?
    /// The queue that the item comes from.
    var queue: SourceQueue?
    /// The address of the thread's record, once the thread runs.
    private var record: UInt = 0
    /// The thread's clock, once the thread runs, and what it showed at the last look.
    private var clock: ProcessorClock?
    private var seen = Duration.zero

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
        if mutant(.aForkForsakesItsOwnThreadsItem) { return false }
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
