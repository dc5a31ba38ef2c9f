// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The threads that run user code on the library's behalf: deinitialisers of captures, and `onEnd`. (P5, P14)
///
/// One thread serves as long as it gets on. When items wait and few were begun for a while, the
/// threads that serve are blocked in user code, or slow: then the reclaimer, which looks after
/// every pass, starts more. (A system queue would notice only after a second.) Idle threads exit.
/// `SourceQueues` decides which item is next, and how many threads one source may occupy.
internal final class Destroyers: @unchecked Sendable {
    // Unchecked: everything mutable is guarded by `lock`.
    static let shared = Destroyers()

    private let lock = ForkAwareLock()
    private let arrival = EventCount()
    private let relief = EventCount()

    private let queues = SourceQueues()
    private var workers: [ObjectIdentifier: Worker] = [:]
    private var idle = 0
    /// Items begun since the start.
    private var begun = 0
    /// How many items are destroyed that their batch has not been told of, and which batch: that of an item being destroyed.
    private var destroyedCount = 0
    private var destroyedBatch: Batch?
    /// What the reclaimer saw when it last looked at the pace, if items have waited since then.
    private var look: Look?
    private var stalls = 0

    private struct Look {
        let begun: Int
        let at: ContinuousClock.Instant
    }

    /// As many threads can be busy at once.
    private let processors = sysconf(Int32(_SC_NPROCESSORS_ONLN))

    // Computed, those that follow: a thread that a fork catches at the first use of a stored one would leave it half made in the
    // child. (P18)

    /// How long a look at the pace waits for the next.
    private static var patience: Duration { .milliseconds(4) }
    /// A thread that begins fewer items than this between two looks is blocked or slow.
    private static var briskPace: Int { 8 }
    /// More threads than this do not help with deinitialisers that are slow, not blocked.
    private static var mostSlowThreads: Int { 32 }
    /// The longest pause of a thread that retires for a crowded source. (P16)
    private static var longestPause: Duration { .milliseconds(10) }
    private static var idleTime: Duration { .seconds(2) }
    private static var now: ContinuousClock.Instant { exploredNow() ?? .now }

    private init() {}

    // MARK: The retiring thread's side

    /// The item's source, if that may have more items waiting than it should: then `waitForRoom` is
    /// to follow.
    ///
    /// The caller still has the item.
    func crowdedSource(of item: Retirable) -> UInt? {
        guard queues.isAnyCrowded, item.runsUserCode else { return nil }
        let source = item.source
        return queues.mayBeCrowded(source) ? source : nil
    }

    /// Waits until the source has room again, ten milliseconds at most: what its threads are
    /// blocked in may take for ever. (P8, P16)
    func waitForRoom(_ source: UInt) {
        if !queues.mayBeCrowded(source) || mutant(.aBlockedSourcesThreadsDoNotPause) { return }
        let end = Self.now + Self.longestPause
        while true {
            let ticket = relief.ticket()
            let remaining = Self.now.duration(to: end)
            guard remaining > .zero, lock.withLock({ queues.isCrowded(source) }) else { return }
            // Another source's room wakes it too.
            relief.wait(ticket, atMost: remaining)
        }
    }

    // MARK: The reclaimer's side

    /// Takes over all of a pass in one step: the threads that serve want the same lock for every item.
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

    /// Sees to it that waiting items are served. Never waits: the reclaimer has other things to do.
    ///
    /// - Returns: Whether items wait that a thread could serve, so that it should be called again
    ///   soon.
    func relieve() -> Bool {
        var isBehind = false
        let missing = lock.withLock { () -> Int in
            tellBatch()
            isBehind = queues.next != nil
            return missingThreads()
        }
        // Without a thread to be had, the reclaimer asks again after its next pass.
        for _ in 0..<missing { guard startThread() else { break } }
        return isBehind
    }

    /// How many threads to start now. Under the lock.
    private func missingThreads() -> Int {
        let now = Self.now
        let next = queues.next
        guard let next, idle == 0, !workers.isEmpty else {
            (stalls, look) = (0, nil)
            return next != nil && workers.isEmpty ? 1 : 0
        }
        guard let look else {
            lookAgain(now)
            return 0
        }
        // Half of the processors are for others, who must not wait for deinitialisers that compute.
        if queues.isAnyCrowded, workers.count * 2 < processors { return 1 }
        let elapsed = look.at.duration(to: now)
        guard elapsed >= Self.patience else { return 0 }
        let served = begun &- look.begun
        let computed = lookAgain(now)
        guard served < Self.briskPace * workers.count, workers.count < SourceQueues.mostThreads else { return 0 }
        // Where threads compute, more of them would only share the processors. But no source waits
        // for others' sake.
        let isComputing = computed * 2 >= elapsed * min(workers.count, processors)
        // All of them blocked, or so slow that delays of a few milliseconds would add up.
        let limit = served == 0 ? SourceQueues.mostThreads : Self.mostSlowThreads
        guard !isComputing, workers.count < limit else { return next.busy == 0 ? 1 : 0 }
        // Twice as many more each time until nothing waits.
        stalls += 1
        return min(1 << min(stalls - 1, 6), limit - workers.count, queues.waiting)
    }

    /// Notes what is to be seen now. Under the lock.
    ///
    /// - Returns: The processor time that the threads have used since the last look.
    @discardableResult
    private func lookAgain(_ now: ContinuousClock.Instant) -> Duration {
        look = Look(begun: begun, at: now)
        var computed = Duration.zero
        if exploredNow() != nil { return computed }
        for worker in workers.values { computed += worker.newProcessorTime() }
        return computed
    }

    /// False when there is no thread to be had.
    private func startThread() -> Bool {
        let worker = Worker()
        lock.withLock { workers[ObjectIdentifier(worker)] = worker }
        if LibraryThread.start(named: "observe-destroy", { Destroyers.shared.run(worker) }) { return true }
        _ = lock.withLock { workers.removeValue(forKey: ObjectIdentifier(worker)) }
        return false
    }

    // MARK: The threads

    /// One thread, and what it is destroying. Guarded by the lock.
    private final class Worker: @unchecked Sendable {
        var work: RetiredWork?
        /// Where that comes from.
        var queue: SourceQueue?
        /// The address of the thread's record, once it runs.
        var record: UInt = 0
        /// The thread's clock, once it runs, and what it showed at the last look.
        var clock: ProcessorClock?
        private var seen = Duration.zero

        /// Notes that the calling thread is the worker's, in this process.
        ///
        /// - Parameter record: The address of the thread's record.
        func begin(_ record: UInt) {
            self.record = record
            clock = .ofThisThread
            seen = .zero
        }

        /// The processor time that the thread has used since the last call.
        func newProcessorTime() -> Duration {
            guard let time = clock?.time else { return .zero }
            defer { seen = time }
            return time - seen
        }
    }

    private func run(_ worker: Worker) {
        ThreadRecord.runAsDestroyer { record in
            // Now the thread has a record: it got that behind the gate, where no lock may be held.
            lock.withLock { worker.begin(ThreadRecord.ownAddress) }
            while let item = next(worker) {
                inject("destroy.item")
                ThreadRecord.withUserCode { item.reclaim() }
                // What the destruction has retired does not wait for the reclaimer's pause: it may
                // be the next of a chain.
                if record.hasRetired { Reclaimer.shared.wake(urgently: true) }
            }
        }
    }

    /// Notes that the last item is destroyed, and waits for the next; nil when the thread should exit.
    private func next(_ worker: Worker) -> RetiredItem? {
        while true {
            let ticket = arrival.ticket()
            if let item = take(worker, wasIdle: false) { return item }
            arrival.wait(ticket, atMost: Self.idleTime)
            if let item = take(worker, wasIdle: true) { return item }
            if leaveIfIdle(worker) { return nil }
        }
    }

    private func take(_ worker: Worker, wasIdle: Bool) -> RetiredItem? {
        var hasRoom = false
        var done: RetiredItem?
        let item = lock.withLock { () -> RetiredItem? in
            if wasIdle { idle -= 1 }
            // In one step with taking the next, so that a fork never finds an item half finished.
            done = worker.work?.item
            if let queue = worker.queue { queues.leave(queue) }
            let next = queues.takeNext()
            count(worker.work, before: next?.work)
            worker.work = next?.work
            worker.queue = next?.queue
            guard let next else {
                idle += 1
                return nil
            }
            begun &+= 1
            hasRoom = queues.noteRoom(next.queue)
            return next.work.item
        }
        // Not before: what the child of a fork forsakes is still there. Should the fork come just here, the child never frees it.
        done?.release()
        if hasRoom { relief.signal() }
        return item
    }

    /// Counts an item that is destroyed. Under the lock.
    ///
    /// Its batch is told later if it cannot be complete before: the caller destroys another of its items next.
    private func count(_ done: RetiredWork?, before next: RetiredWork?) {
        if let done {
            if done.batch != destroyedBatch { tellBatch() }
            destroyedBatch = done.batch
            destroyedCount += 1
        }
        if queues.waiting == 0 || next?.batch != destroyedBatch { tellBatch() }
    }

    /// Tells the batch of what is destroyed. Under the lock.
    private func tellBatch() {
        guard destroyedCount > 0, let batch = destroyedBatch else { return }
        Reclaimer.shared.batches.finished(batch, count: destroyedCount)
        destroyedCount = 0
    }

    /// After a wait in vain: takes the thread off the books, unless work came in that moment.
    private func leaveIfIdle(_ worker: Worker) -> Bool {
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
        let worker = Worker()
        lock.withLock { workers[ObjectIdentifier(worker)] = worker }
        worker.begin(ThreadRecord.ownAddress)
        // The second look has one before it. No thread is started, however long the two took.
        for _ in 0..<2 { _ = lock.withLock { missingThreads() } }
        while let item = take(worker, wasIdle: false) { ThreadRecord.withUserCode { item.reclaim() } }
        _ = leaveIfIdle(worker)
    }

    // MARK: Fork

    func lockForFork() { lock.lockForFork() }
    func unlockAfterFork() { lock.unlockAfterFork() }

    /// In the child: what waits is destroyed here too. What other threads were destroying stays as it is: these threads do not exist. A
    /// deinitialiser that forks goes on here, and its thread serves the child. (P18)
    func restartInChild() {
        lock.unlockAfterFork()
        idle = 0
        (stalls, look) = (0, nil)
        tellBatch()
        let ownRecord = ThreadRecord.ownAddress
        var own: Worker?
        for worker in workers.values {
            if worker.record == ownRecord, ownRecord != 0, !mutant(.aForkForsakesItsOwnThreadsItem) {
                own = worker
                continue
            }
            // No generic call that may be the first of its kind: the runtime makes types under a lock, which the fork may have caught.
            guard let work = worker.work, let queue = worker.queue else { continue }
            worker.work = nil
            worker.queue = nil
            queues.leave(queue)
            work.item.forsake()
            Reclaimer.shared.batches.finished(work.batch)
        }
        workers.removeAll()
        if let own {
            own.begin(ownRecord)
            workers[ObjectIdentifier(own)] = own
        }
    }
}
