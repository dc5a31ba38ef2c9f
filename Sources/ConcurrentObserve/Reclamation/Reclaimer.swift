// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Waits for grace periods, scans the frames and reclaims what nobody can be using. One for the process.
///
/// Its thread starts with the first retirement and runs no user code: what does is handed to the `Destroyers`. (P5)
/// It works batch by batch: take everything that is retired, one barrier for all of it, then the list of threads and one scan.
/// An item that some frame holds is put aside and looked at again; it never delays another.
internal final class Reclaimer: @unchecked Sendable {
    // Unchecked: `held` is guarded by `passLock`; the rest is constant, atomic or locks by itself.
    static let shared = Reclaimer()

    private let passLock = ForkAwareLock()
    private var held: [RetiredWork] = []

    let batches = Batches()
    private let wakeUp = EventCount()
    private let taken = EventCount()

    /// Whether a retiring thread must signal for its item to be noticed: the thread sleeps, or does not exist.
    private let isParked = Atomic<Bool>(true)
    private let isStarted = Atomic<Bool>(false)
    private let gracePeriods = Atomic<UInt>(0)

    /// The pause between passes while there is work; longer ones follow while only held items are left.
    // Computed: a thread that a fork catches at the first use of a stored one would leave it half made in the child. (P18)
    private static var shortestPause: Duration { .milliseconds(1) }
    private static var longestPause: Duration { .milliseconds(20) }

    private init() {}

    var gracePeriodCount: UInt { gracePeriods.load(ordering: .relaxed) }  // Relaxed: a statistic.

    // MARK: The retiring thread's side

    /// Makes sure that a retired item is noticed: at once if the reclaimer sleeps or `urgently`, else within its pause.
    func wake(urgently: Bool) {
        exploredStep("retired")
        // Sequentially consistent, as is the push before it: pairs with the store in park(); one of the two sees the other.
        if urgently || isParked.load(ordering: .sequentiallyConsistent) {
            if mutant("reclaimer's wake-up is lost") { return }
            startIfNeeded()
            wakeUp.signal()
        }
    }

    /// Waits, ten milliseconds at most, until the reclaimer has taken what is retired.
    func waitUntilTaken() {
        let ticket = taken.ticket()
        wake(urgently: true)
        guard isStarted.load(ordering: .acquiring) else {
            // No thread to be had: this one does the reclaimer's part, or every further retirement would wait in vain.
            pass()
            return
        }
        taken.wait(ticket, atMost: .milliseconds(10))
    }

    private func startIfNeeded() {
        // Acquire and release: whoever wins starts the thread; the others need nothing from it.
        guard
            !isStarted.load(ordering: .acquiring),
            isStarted.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
        else { return }
        if !LibraryThread.start(named: "observe-reclaim", { Reclaimer.shared.run() }) {
            // No thread to be had: the next retirement tries again, and nothing is lost meanwhile.
            isStarted.store(false, ordering: .releasing)
        }
    }

    // MARK: The thread

    private func run() {
        isParked.store(false, ordering: .relaxed)  // Relaxed: a stale true costs a needless signal.
        var pause = Self.shortestPause
        var quietPasses = 0
        while true {
            let ticket = wakeUp.ticket()
            let result = pass()
            let destroyersAreBehind = Destroyers.shared.relieve()
            if result.took > 0 || destroyersAreBehind {
                pause = Self.shortestPause
                quietPasses = 0
            } else if result.stillHeld > 0 {
                pause = min(pause * 2, Self.longestPause)
                quietPasses = 0
            } else {
                quietPasses += 1
            }
            if quietPasses > 2 {
                park(ticket)
            } else {
                wakeUp.wait(ticket, atMost: pause)
            }
        }
    }

    private func park(_ ticket: EventCount.Ticket) {
        // Sequentially consistent, as are the last looks at the stacks that follow: pairs with the load in wake(urgently:).
        isParked.store(true, ordering: .sequentiallyConsistent)
        exploredStep("parking")
        if !hasRetired { wakeUp.wait(ticket, atMost: nil) }
        isParked.store(false, ordering: .relaxed)  // Relaxed: a stale true costs a needless signal.
    }

    private var hasRetired: Bool {
        var found = false
        unsafe ThreadRecords.shared.forEach { record in
            // Sequentially consistent: after the store in park(); pairs with the push.
            if unsafe record.pointee.retired.load(ordering: .sequentiallyConsistent) != 0 { found = true }
        }
        return found
    }

    // MARK: A pass

    /// How many items a pass took, and how many are still held.
    ///
    /// Not a tuple: the runtime makes a tuple's metadata under a lock, on first use, where a fork could catch it. (P18)
    private struct PassResult {
        let took: Int
        let stillHeld: Int
    }

    /// Reclaims what can be reclaimed.
    @discardableResult
    private func pass() -> PassResult {
        // Safe: records are never freed.
        let record = unsafe ThreadRecord.current
        unsafe record.pointee.isReclaiming = true
        defer { unsafe record.pointee.isReclaiming = false }
        return passLock.withLock {
            let batch = batches.begin()
            var items = RetiredList()
            var tasks = RetiredList()
            var needsGracePeriod = false
            takeRetired { item in
                if item.isTask { return tasks.append(item) }
                if item.needsGracePeriod { needsGracePeriod = true }
                items.append(item)
            }
            // Work that nobody holds back is done now: what it retires belongs to the same batch.
            let taskCount = tasks.count
            while let task = tasks.popFirst() { task.reclaim() }
            if taskCount > 0 {
                takeRetired { item in
                    if item.needsGracePeriod { needsGracePeriod = true }
                    items.append(item)
                }
            }
            taken.signal()
            let count = items.count
            batches.taken(batch, count: count, finished: taskCount)
            guard count > 0 || !held.isEmpty else { return PassResult(took: 0, stillHeld: 0) }
            inject("reclaim.taken")

            // Everything in the batch was out of reach before it was taken: the barrier comes after, the scan after that.
            if needsGracePeriod {
                waitForGracePeriod()
                gracePeriods.add(1, ordering: .relaxed)  // Relaxed: a statistic.
            }
            if count > 0, !mutant("no barrier before the scan") { AsymmetricBarrier.heavy() }
            inject("reclaim.barrier")
            var triage = Triage()
            inject("reclaim.scan")

            var reclaimed = 0
            while let item = items.popFirst() {
                guard triage.isReclaimedHere(RetiredWork(item: item, batch: batch)) else { continue }
                item.reclaim()
                reclaimed += 1
            }
            if reclaimed > 0 { batches.finished(batch, count: reclaimed) }
            for work in held where triage.isReclaimedHere(work) {
                work.item.reclaim()
                batches.finished(work.batch)
            }
            held = triage.held
            Destroyers.shared.enqueue(triage.withUserCode)
            CallbackAges.shared.observe()
            return PassResult(took: count, stillHeld: held.count)
        }
    }

    /// Takes what all threads have retired.
    private func takeRetired(_ body: (Retirable) -> Void) {
        unsafe ThreadRecords.shared.forEach { record in
            var list = unsafe record.takeRetired()
            while let item = list.popFirst() { body(item) }
        }
    }

    /// What is to become of each item, after one scan of the frames.
    private struct Triage {
        private let scan = FrameScan()
        /// What some frame holds.
        var held: [RetiredWork] = []
        /// What the destroyers take over, all in one step.
        var withUserCode: [RetiredWork?] = []

        /// Whether the reclaimer itself reclaims the item, now.
        mutating func isReclaimedHere(_ work: RetiredWork) -> Bool {
            if scan.holds(work.item), !mutant("reclaim at once") {
                held.append(work)
                return false
            }
            inject("reclaim.free")
            guard work.item.runsUserCode else { return true }
            withUserCode.append(work)
            return false
        }
    }

    // MARK: Draining

    /// Waits until everything that was retired before the call is reclaimed.
    func drain(until deadline: ContinuousClock.Instant?) -> DrainOutcome {
        if ThreadRecord.isInsideCallback { return .deferred }
        let target = batches.nextToBegin
        while true {
            let ticket = batches.completion.ticket()
            if batches.isComplete(through: target) { return .finished }
            var limit: Duration?
            if let deadline {
                let remaining = ContinuousClock.now.duration(to: deadline)
                guard remaining > .zero else { return .timedOut }
                limit = remaining
            }
            // What is taken waits for destroyers and callbacks: further passes would only keep these from their processors.
            if !batches.hasBegun(target) { wake(urgently: true) }
            if !isStarted.load(ordering: .acquiring) {
                // No thread to be had: this one does the reclaimer's part.
                pass()
                limit = min(limit ?? Self.longestPause, Self.longestPause)
            }
            batches.completion.wait(ticket, atMost: limit)
        }
    }

    // MARK: Fork

    func lockForFork() { passLock.lockForFork() }
    func unlockAfterFork() { passLock.unlockAfterFork() }

    /// In the child: the thread does not exist here; the next retirement starts one. (P18)
    ///
    /// What waits to be reclaimed waits here too: no source's lock was held at the fork, and the child has its own copy of all.
    func restartInChild() {
        passLock.unlockAfterFork()
        isStarted.store(false, ordering: .relaxed)  // Relaxed: the child has one thread.
        isParked.store(true, ordering: .relaxed)
    }
}

/// How a `drain` ended.
public enum DrainOutcome: Sendable, Equatable {
    /// Everything that was retired before the call is reclaimed.
    case finished
    /// The deadline came first. What is left is reclaimed later, by itself.
    case timedOut
    /// The call came from inside a callback, where waiting can deadlock. What is left is reclaimed later, by itself.
    case deferred
}
