// SPDX-License-Identifier: Apache-2.0

/// The threads that run user code on the library's behalf: deinitialisers of captures, and `onEnd`.
/// (P5, P14)
///
/// One thread serves as long as it keeps up. When items wait and few were begun for a while, the
/// threads are blocked in user code, or slow: then the reclamation thread, which looks after every
/// pass, starts more. (A system queue would notice only after a second.) Idle threads exit.
/// `SourceQueues` decides which item is next, and how many threads one source may occupy.
/// `DeinitPace` decides how many threads to start.
internal final class DeinitThreads: @unchecked Sendable {
    // Unchecked: everything mutable is guarded by `lock`.
    static let shared = DeinitThreads()

    private let lock = ForkAwareLock()
    private let arrival = EventCount()
    private let relief = EventCount()

    private let queues = SourceQueues()
    private var workers: [ObjectIdentifier: DeinitWorker] = [:]
    private var idle = 0
    /// Items that threads have begun and left since the process began.
    private var finished = 0
    private var pace = DeinitPace()
    /// How many reclaimed items were not reported to their batch yet.
    private var unreported = 0
    /// The batch of these items, or of the last ones that were reported.
    private var unreportedBatch: Batch?

    // Those that follow are computed: a stored one would be made on its first use, and a fork that
    // catches a thread there would leave it half made in the child. (P18)

    /// The longest pause of a thread that retires for a crowded source. (P16)
    private static var longestPause: Duration { .milliseconds(10) }
    private static var idleTime: Duration { .seconds(2) }

    private init() {}

    // MARK: What a retiring thread calls

    /// The item's source, if more of its items may be waiting than there is room for: the caller
    /// calls `waitForRoom` after it has retired the item.
    ///
    /// The caller still has the item.
    @inline(__always)
    static func crowdedSource(of item: RetiredItem) -> UInt? {
        guard SourceQueues.isAnyCrowded, item.runsUserCode else { return nil }
        let source = item.source
        return SourceQueues.mayBeCrowded(source) ? source : nil
    }

    /// Whether more items of the source may be waiting than there is room for. A hint.
    static func mayBeCrowded(_ source: UInt) -> Bool { SourceQueues.mayBeCrowded(source) }

    /// Waits until the source has room again, ten milliseconds at most: its deinitialisers may
    /// block for ever. (P8, P16)
    ///
    /// - Returns: Whether it has waited.
    @discardableResult
    func waitForRoom(_ source: UInt) -> Bool {
        if !SourceQueues.mayBeCrowded(source) { return false }
        let end = LibraryClock.now + Self.longestPause
        var hasWaited = false
        while true {
            let ticket = relief.ticket()
            let remaining = LibraryClock.now.duration(to: end)
            guard remaining > .zero, lock.withLock({ queues.isCrowded(source) }) else { return hasWaited }
            // Another source's room wakes it too.
            relief.wait(ticket, atMost: remaining)
            hasWaited = true
        }
    }

    // MARK: What the reclamation thread calls

    /// Takes over all items of a pass in one step: each deinit thread takes the same lock for every
    /// item.
    ///
    /// - Parameter runs: None is empty.
    func enqueue(_ runs: [RetiredRun]) {
        guard !runs.isEmpty else { return }
        let shouldSignal = lock.withLock { () -> Bool in
            let isNew = queues.next == nil
            for run in runs { queues.append(run) }
            return idle > 0 && isNew
        }
        if shouldSignal { arrival.signal() }
    }

    /// Starts threads if items wait that the present threads do not get to. Never waits: the
    /// reclamation thread has other things to do.
    ///
    /// - Returns: Whether items wait that a thread could serve, so that it should be called again
    ///   soon.
    func startThreadsIfBehind() -> Bool {
        var isBehind = false
        var shouldSignal = false
        let missing = lock.withLock { () -> Int in
            reportToBatch()
            let isWithdrawn = withdrawItems()
            shouldSignal = isWithdrawn && idle > 0
            isBehind = queues.next != nil || hasUnclaimedItems
            return missingThreads()
        }
        if shouldSignal { arrival.signal() }
        // If the system has no thread to give, the reclamation thread asks again after its next
        // pass.
        for _ in 0..<missing { guard startThread() else { break } }
        return isBehind
    }

    /// Puts back what threads have taken and not begun for a while. Under `lock`.
    ///
    /// - Returns: Whether there was any.
    private func withdrawItems() -> Bool {
        guard pace.mayWithdraw() else { return false }
        var isAny = false
        for worker in workers.values {
            guard let run = worker.withdraw() else { continue }
            queues.append(run)
            isAny = true
        }
        return isAny
    }

    /// Whether threads have items that they have not claimed. Under `lock`.
    private var hasUnclaimedItems: Bool {
        for worker in workers.values where worker.hasMore { return true }
        return false
    }

    /// How many threads to start now. Under `lock`.
    private func missingThreads() -> Int {
        var begun = finished
        for worker in workers.values where worker.hasItems { begun += worker.begunCount }
        return pace.missingThreads(for: queues, workers: workers, idle: idle, begun: begun)
    }

    /// Returns false when the system has no thread to give.
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
            // Now the thread has a record: it got that behind the gate, where no lock may be held.
            lock.withLock { worker.begin(ThreadRecord.ownAddress) }
            while let item = next(worker) {
                worker.reclaim(item)
                // What the deinitialiser has retired does not wait for the next pass: it may be the
                // next of a chain.
                if record.hasRetired { ReclamationThread.wake(urgently: true) }
            }
        }
    }

    /// Notes that the last item is reclaimed, and waits for the next; nil when the thread should
    /// exit.
    private func next(_ worker: DeinitWorker) -> RetiredItem? {
        if let item = worker.claimNext() { return item }
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
        var done: RetiredItem?
        let item = lock.withLock { () -> RetiredItem? in
            if wasIdle { idle -= 1 }
            // In one step with taking the next, so that a fork never finds an item half finished.
            done = worker.last
            let batch = worker.batch
            if let queue = worker.queue { queues.leave(queue) }
            let doneCount = batch == nil ? 0 : worker.finish()
            finished &+= doneCount
            let next = queues.takeNext(for: worker)
            count(doneCount, of: batch, before: worker.batch)
            guard let next else {
                idle += 1
                return nil
            }
            hasRoom = queues.noteRoom(worker.queue!)
            return next
        }
        // Not earlier: an item that the child of a fork abandons is still there. If the fork comes
        // just here, the child never frees it.
        done?.release()
        if hasRoom { relief.signal() }
        return item
    }

    /// Counts items that are reclaimed. Under `lock`.
    ///
    /// The report to their batch comes later if the batch cannot be complete before: the caller
    /// reclaims others of its items next.
    private func count(_ done: Int, of batch: Batch?, before next: Batch?) {
        if let batch {
            if batch != unreportedBatch { reportToBatch() }
            unreportedBatch = batch
            unreported += done
        }
        if queues.waiting == 0 || next != unreportedBatch { reportToBatch() }
    }

    /// Reports to the batch how many of its items are reclaimed. Under `lock`.
    private func reportToBatch() {
        guard unreported > 0, let batch = unreportedBatch else { return }
        ReclamationThread.shared.batches.finished(batch, count: unreported)
        unreported = 0
    }

    /// After a wait in vain: forgets the thread, unless work came in that moment.
    private func leaveIfIdle(_ worker: DeinitWorker) -> Bool {
        lock.withLock {
            idle -= 1
            guard queues.next == nil else { return false }
            workers[ObjectIdentifier(worker)] = nil
            return true
        }
    }

    // MARK: Rehearsal

    /// Serves on this thread until nothing waits. See `Rehearsal`.
    func rehearse() {
        let worker = DeinitWorker()
        lock.withLock { workers[ObjectIdentifier(worker)] = worker }
        worker.begin(ThreadRecord.ownAddress)
        // The second look has one before it. No thread is started, however long the two took.
        for _ in 0..<2 { _ = lock.withLock { missingThreads() } }
        while let item = worker.claimNext() ?? take(worker, wasIdle: false) { worker.reclaim(item) }
        _ = leaveIfIdle(worker)
    }

    // MARK: Fork

    func lockForFork() { lock.lockForFork() }
    func unlockAfterFork() { lock.unlockAfterFork() }

    /// In the child: items that wait are reclaimed here too, and items that a thread has taken and
    /// not begun. An item that another thread was reclaiming stays as it is: that thread does not
    /// exist. A deinitialiser that forks goes on here, and its thread serves the child. (P18)
    func restartInChild() {
        lock.unlockAfterFork()
        idle = 0
        pace.restart()
        reportToBatch()
        let ownRecord = ThreadRecord.ownAddress
        var own: DeinitWorker?
        for worker in workers.values {
            if worker.isThread(ownRecord) {
                own = worker
                continue
            }
            // No generic call that may be the first of its kind: the runtime makes types under a
            // lock, which the fork may have caught.
            guard let left = worker.leaveToChild() else { continue }
            queues.leave(left.queue)
            ReclamationThread.shared.batches.finished(left.rest.batch, count: left.done)
            if left.rest.count > 0 { queues.append(left.rest) }
        }
        workers.removeAll()
        if let own {
            own.begin(ownRecord)
            workers[ObjectIdentifier(own)] = own
        }
    }
}
