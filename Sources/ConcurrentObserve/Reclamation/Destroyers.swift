// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The threads that run user code on the library's behalf: deinitialisers of captures, and `onEnd`. (P5, P14)
///
/// One thread serves as long as it gets on. When items wait and few were begun for a while, whoever serves is blocked in user
/// code, or slow: then the reclaimer, which looks after every pass, starts more. (A system queue would notice only after a
/// second.) Idle threads exit.
internal final class Destroyers: @unchecked Sendable {
    // Unchecked: everything mutable is guarded by `lock`.
    static let shared = Destroyers()

    private let lock = ForkAwareLock()
    private let arrival = EventCount()
    private let relief = EventCount()

    private let waiting = Queue()
    private var workers: [ObjectIdentifier: Worker] = [:]
    private var idle = 0
    /// Items begun since the start.
    private var begun = 0
    /// How many items are destroyed that their batch has not been told of, and which batch: that of an item being destroyed.
    private var destroyedCount = 0
    private var destroyedBatch: Batch?
    /// How many had been begun when the reclaimer last saw that there were more, and when that was.
    private var progress = (begun: 0, at: ContinuousClock.now)
    private var look = (begun: 0, at: ContinuousClock.now)
    private var stalls = 0

    /// As many threads can be busy at once.
    private let processors = sysconf(Int32(_SC_NPROCESSORS_ONLN))

    // Computed, those that follow: a thread that a fork catches at the first use of a stored one would leave it half made in the
    // child. (P18)

    /// More threads than this would not help: so many deinitialisers are blocked already.
    private static var mostThreads: Int { 256 }
    /// The reclaimer takes no more while more items than this wait. (P16)
    private static var comfortableLength: Int { 65_536 }
    /// How long a look at the pace waits for the next.
    private static var patience: Duration { .milliseconds(4) }
    /// A thread that begins fewer items than this between two looks is blocked or slow.
    private static var briskPace: Int { 8 }
    /// More threads than this do not help with deinitialisers that are slow, not blocked.
    private static var mostSlowThreads: Int { 32 }
    private static var idleTime: Duration { .seconds(2) }
    private static var now: ContinuousClock.Instant { exploredNow() ?? .now }

    private init() {}

    // MARK: The reclaimer's side

    /// Takes over all of a pass in one step: the threads that serve want the same lock for every item.
    ///
    /// - Parameter runs: None is empty.
    func enqueue(_ runs: [RetiredRun]) {
        guard !runs.isEmpty else { return }
        let shouldSignal = lock.withLock {
            defer { waiting.append(contentsOf: runs) }
            return idle > 0 && waiting.count == 0
        }
        if shouldSignal { arrival.signal() }
    }

    /// Sees to it that waiting items are served; while very many wait, it stays here, so that no more are taken and whoever
    /// ends observations has to wait in turn. (P16)
    ///
    /// When every thread there may be is blocked in user code, waiting would not help: it returns, for what needs none of them.
    ///
    /// - Returns: Whether items wait, so that it should be called again soon.
    func relieve() -> Bool {
        while true {
            let ticket = relief.ticket()
            let (missing, waits, isCrowded) = lock.withLock { () -> (Int, Bool, Bool) in
                tellBatch()
                let isBlocked = isBlocked()
                let isCrowded = waiting.count > Self.comfortableLength && !isBlocked
                return (missingThreads(isCrowded: isCrowded), waiting.count > 0, isCrowded)
            }
            let hasStarted = (0..<missing).allSatisfy { _ in startThread() }
            // Without a thread to be had, waiting would not help either.
            guard isCrowded, hasStarted else { return waits }
            relief.wait(ticket, atMost: Self.patience)
        }
    }

    /// Whether every thread there may be has been blocked for a while. Under the lock.
    private func isBlocked() -> Bool {
        if progress.begun != begun { progress = (begun, Self.now) }
        return workers.count >= Self.mostThreads && progress.at.duration(to: Self.now) >= Self.patience * 5
    }

    /// How many threads to start now. Under the lock.
    private func missingThreads(isCrowded: Bool) -> Int {
        let now = Self.now
        guard waiting.count > 0, idle == 0, !workers.isEmpty else {
            stalls = 0
            look = (begun, now)
            return waiting.count > 0 && idle == 0 ? 1 : 0
        }
        if isCrowded, workers.count < processors { return 1 }
        guard look.at.duration(to: now) >= Self.patience else { return 0 }
        let served = begun &- look.begun
        look = (begun, now)
        // All of them blocked, or so slow that delays of a few milliseconds would add up.
        let limit = served == 0 ? Self.mostThreads : Self.mostSlowThreads
        guard served < Self.briskPace * workers.count, workers.count < limit else { return 0 }
        // Twice as many more each time until nothing waits.
        stalls += 1
        return min(1 << min(stalls - 1, 6), limit - workers.count)
    }

    /// False when there is no thread to be had: the reclaimer asks again after its next pass.
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
    }

    private func run(_ worker: Worker) {
        while let item = next(worker) {
            inject("destroy.item")
            ThreadRecord.withUserCode { item.reclaim() }
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
        var runsLow = false
        var done: RetiredItem?
        let item = lock.withLock { () -> RetiredItem? in
            if wasIdle { idle -= 1 }
            // In one step with taking the next, so that a fork never finds an item half finished.
            done = worker.work?.item
            let next = waiting.popFirst()
            count(worker.work, before: next)
            worker.work = next
            guard let next else {
                idle += 1
                return nil
            }
            begun &+= 1
            runsLow = waiting.count == Self.comfortableLength
            return next.item
        }
        // Not before: what the child of a fork forsakes is still there. Should the fork come just here, the child never frees it.
        done?.release()
        if runsLow { relief.signal() }
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
        if waiting.count == 0 || next?.batch != destroyedBatch { tellBatch() }
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
            guard waiting.count == 0 else { return false }
            workers[ObjectIdentifier(worker)] = nil
            return true
        }
    }

    // MARK: Fork

    func lockForFork() { lock.lockForFork() }
    func unlockAfterFork() { lock.unlockAfterFork() }

    /// In the child: no thread exists; what each was destroying stays as it is, what waits is destroyed here too. (P18)
    func restartInChild() {
        lock.unlockAfterFork()
        idle = 0
        tellBatch()
        for worker in workers.values {
            // No generic call that may be the first of its kind: the runtime makes types under a lock, which the fork may have caught.
            guard let work = worker.work else { continue }
            worker.work = nil
            work.item.forsake()
            Reclaimer.shared.batches.finished(work.batch)
        }
        workers.removeAll()
    }

    /// First in, first out, a run at a time: O(1) at both ends. Guarded by the lock.
    ///
    /// A class: as a struct it would be checked for exclusive access, as a whole, with every item.
    private final class Queue {
        /// What the next item comes from: empty if nothing waits.
        private var (items, batch) = (RetiredList(), Batch?.none)
        /// What comes after it, from the index on.
        private var runs: [RetiredRun] = []
        private var index = 0
        private(set) var count = 0

        func append(contentsOf more: [RetiredRun]) {
            runs += more
            for run in more { count += run.items.count }
        }

        func popFirst() -> RetiredWork? {
            guard count > 0 else { return nil }
            if items.count == 0 { takeNextRun() }
            count -= 1
            var rest = items
            defer { items = rest }
            return RetiredWork(item: rest.popFirst()!, batch: batch!)
        }

        private func takeNextRun() {
            (items, batch) = (runs[index].items, runs[index].batch)
            index += 1
            if index * 2 > runs.count {
                runs.removeFirst(index)
                index = 0
            }
        }
    }
}
