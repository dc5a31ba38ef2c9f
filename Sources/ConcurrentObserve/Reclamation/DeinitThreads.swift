// SPDX-License-Identifier: Apache-2.0

// An *item* is a retired object: see `Retirable`. A *pass* takes all items, scans the hazard
// pointers of all threads (in their frames), and reclaims the items that no frame holds. The
// comment at the top of `ReclamationThread.swift` explains this folder.

import ConcurrentObservePlatform

/// The threads that run user code for the library: deinitialisers of captures, and `onEnd`. (P5,
/// P14)
///
/// One thread serves all items as long as it keeps up. If items wait and the threads have begun few
/// of them for a while, the threads are blocked in user code, or slow. Then the reclamation thread,
/// which checks after every pass, starts more. (A system queue would notice only after a second.)
/// Idle threads exit. `DestructionQueues` decides which item is next, and how many threads one
/// source may occupy. `DeinitPace` decides how many threads to start.
internal final class DeinitThreads: @unchecked Sendable {
    // Unchecked: everything mutable is guarded by `lock`.
    static let shared = DeinitThreads()

    private let lock = Lock()
    private let arrival = EventCount()
    private let relief = EventCount()

    private let queues = DestructionQueues()
    private var workers: [ObjectIdentifier: DeinitWorker] = [:]
    private var idle = 0
    /// The number of items that threads have begun since the process began.
    private var begun = 0
    private var pace = DeinitPace()
    /// The number of reclaimed items that were not reported to their batch yet.
    private var unreported = 0
    /// The batch of the items that `unreported` counts. If there are none, the batch that was
    /// reported last; nil before the first item.
    private var unreportedBatch: Batch?

    /// The longest pause of a thread that retires for a crowded source. (P16)
    private static var longestPause: Duration { .milliseconds(10) }
    private static var idleTime: Duration { .seconds(2) }

    private init() {}

    // MARK: What a retiring thread calls

    /// Returns the item's source if it may have more waiting items than it has room for; otherwise
    /// nil. If it returns a source, the caller must call `waitForRoom` after it has retired the
    /// item.
    ///
    /// The caller must still own the item.
    @inline(__always)
    static func crowdedSource(of item: RetiredItem) -> UInt? {
        guard DestructionQueues.isAnyCrowded, item.runsUserCode else { return nil }
        let source = item.sourceAddress
        return DestructionQueues.mayBeCrowded(source) ? source : nil
    }

    /// Whether the source may have more waiting items than it has room for. The answer is a hint.
    static func mayBeCrowded(_ source: UInt) -> Bool { DestructionQueues.mayBeCrowded(source) }

    /// Waits until the source has room again, but at most ten milliseconds, because the source's
    /// deinitialisers may block forever. (P8, P16)
    ///
    /// - Returns: Whether the call has waited.
    @discardableResult
    func waitForRoom(_ source: UInt) -> Bool {
        if !DestructionQueues.mayBeCrowded(source) { return false }
        let end = LibraryClock.now + Self.longestPause
        var hasWaited = false
        while true {
            let ticket = relief.ticket()
            let remaining = LibraryClock.now.duration(to: end)
            guard remaining > .zero, lock.withLock({ queues.isCrowded(source) }) else { return hasWaited }
            // A signal for another source also wakes this thread.
            relief.wait(ticket, atMost: remaining)
            hasWaited = true
        }
    }

    // MARK: What the reclamation thread calls

    /// Takes over all items of a pass under one acquisition of the lock, because each deinit thread
    /// takes the same lock to get items.
    ///
    /// - Parameter runs: No run may be empty.
    func enqueue(_ runs: [RetiredRun]) {
        guard !runs.isEmpty else { return }
        let shouldSignal = lock.withLock { () -> Bool in
            let isNew = queues.next == nil
            for run in runs { queues.append(run) }
            return idle > 0 && isNew
        }
        if shouldSignal { arrival.signal() }
    }

    /// Starts threads if items wait and the present threads do not keep up. The call never waits,
    /// because the reclamation thread has other work.
    ///
    /// - Returns: Whether items wait that a thread could take. Then the caller should call again
    ///   soon.
    func startThreadsIfBehind() -> Bool {
        var isBehind = false
        let missing = lock.withLock { () -> Int in
            reportToBatchLocked()
            isBehind = queues.next != nil
            return pace.missingThreads(for: queues, workers: workers, idle: idle, begun: begun)
        }
        // If the system cannot start a thread, the reclamation thread tries again after its next
        // pass.
        for _ in 0..<missing { guard startThread() else { break } }
        return isBehind
    }

    /// Starts a deinit thread. Returns false if the system cannot start a thread.
    private func startThread() -> Bool {
        let worker = DeinitWorker()
        lock.withLock { workers[ObjectIdentifier(worker)] = worker }
        if LibraryThread.start(named: "observe-destroy", { DeinitThreads.shared.run(worker) }) { return true }
        _ = lock.withLock { workers.removeValue(forKey: ObjectIdentifier(worker)) }
        return false
    }

    // MARK: The threads

    private func run(_ worker: DeinitWorker) {
        ThreadRecord.runAsDeinitThread { record in
            lock.withLock { worker.begin() }
            while let item = next(worker) {
                ThreadRecord.withUserCode { item.reclaim() }
                item.release()
                // The items that the deinitialiser has retired do not wait for the next pass: they
                // may continue a chain of deinitialisers.
                if record.hasRetired { ReclamationThread.wake(urgently: true) }
            }
        }
    }

    /// Finishes the last item and waits for the next one. Returns nil if the thread should exit.
    private func next(_ worker: DeinitWorker) -> RetiredItem? {
        while true {
            let ticket = arrival.ticket()
            if let item = take(worker, wasIdle: false) { return item }
            arrival.wait(ticket, atMost: Self.idleTime)
            if let item = take(worker, wasIdle: true) { return item }
            if leaveIfIdle(worker) { return nil }
        }
    }

    private func take(_ worker: DeinitWorker, wasIdle: Bool) -> RetiredItem? {
        var hasRoom = false
        let item = lock.withLock { () -> RetiredItem? in
            if wasIdle { idle -= 1 }
            let done = worker.taken
            if let done { queues.leave(done.queue) }
            worker.taken = queues.takeNext()
            count(done?.work.batch, before: worker.taken?.work.batch)
            guard let taken = worker.taken else {
                idle += 1
                return nil
            }
            begun &+= 1
            hasRoom = queues.noteRoom(taken.queue)
            return taken.work.item
        }
        if hasRoom { relief.signal() }
        return item
    }

    /// Counts a reclaimed item of `batch`. If `batch` is nil, the thread had no item to count. The
    /// caller must hold `lock`.
    ///
    /// `next` is the batch of the item that the caller takes next. If it is the same batch, that
    /// batch cannot be complete yet. Then the count is reported later, unless no further item
    /// waits.
    private func count(_ batch: Batch?, before next: Batch?) {
        if let batch {
            if batch != unreportedBatch { reportToBatchLocked() }
            unreportedBatch = batch
            unreported += 1
        }
        if queues.waiting == 0 || next != unreportedBatch { reportToBatchLocked() }
    }

    /// Reports the number of reclaimed items to their batch. The caller must hold `lock`.
    private func reportToBatchLocked() {
        guard unreported > 0, let batch = unreportedBatch else { return }
        ReclamationThread.shared.batches.finished(batch, count: unreported)
        unreported = 0
    }

    /// Removes the thread after a wait that ended without an item. Returns false, and does not
    /// remove it, if an item has arrived since.
    private func leaveIfIdle(_ worker: DeinitWorker) -> Bool {
        lock.withLock {
            idle -= 1
            guard queues.next == nil else { return false }
            workers[ObjectIdentifier(worker)] = nil
            return true
        }
    }
}

/// One deinit thread: the item that it has taken, and its clock. The lock of the `DeinitThreads`
/// guards all properties.
internal final class DeinitWorker: @unchecked Sendable {
    // Unchecked: see above.

    /// The item that the thread reclaims; nil if it has none.
    var taken: DestructionQueues.Taken?

    /// The thread's clock; nil before the thread runs.
    private var clock: ProcessorClock?
    /// The value of `clock` at the last call of `newProcessorTime()`.
    private var seen = Duration.zero

    /// Begins to measure the calling thread, which is this worker's.
    func begin() { clock = .ofThisThread }

    /// Returns the processor time that the thread has used since the last call.
    func newProcessorTime() -> Duration {
        guard let time = clock?.time else { return .zero }
        defer { seen = time }
        return time - seen
    }
}
