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

    /// Starts the thread, if there is none, so that it looks at callbacks that do not return.
    func startLooking() {
        if CallbackAges.pause != nil { startIfNeeded() }
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
        if !hasRetired { wakeUp.wait(ticket, atMost: CallbackAges.pause) }
        CallbackAges.shared.observe()
        PendingEvents.look()
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
            var sorted = SortedItems()
            takeRetired { sorted.append($0) }
            // Work that nobody holds back is done now: what it retires belongs to the same batch.
            let taskCount = sorted.doTasks()
            if taskCount > 0 { takeRetired { sorted.append($0, doesTasks: false) } }
            taken.signal()
            let count = sorted.count
            batches.taken(batch, count: count, finished: taskCount)
            guard count > 0 || !held.isEmpty else { return PassResult(took: 0, stillHeld: 0) }
            inject("reclaim.taken")

            // Everything in the batch was out of reach before it was taken: the barrier comes after, the scan after that.
            if sorted.needsGracePeriod {
                waitForGracePeriod()
                gracePeriods.add(1, ordering: .relaxed)  // Relaxed: a statistic.
            }
            if count > 0, !mutant("no barrier before the scan") { AsymmetricBarrier.heavy() }
            inject("reclaim.barrier")
            var triage = Triage()
            inject("reclaim.scan")

            let reclaimed = triage.sort(&sorted, of: batch)
            if reclaimed > 0 { batches.finished(batch, count: reclaimed) }
            for work in held where triage.isReclaimedHere(work) {
                work.item.reclaim()
                work.item.release()
                batches.finished(work.batch)
            }
            held = triage.held
            Destroyers.shared.enqueue(triage.withUserCode)
            CallbackAges.shared.observe()
            PendingEvents.look()
            return PassResult(took: count, stillHeld: held.count)
        }
    }

    /// Takes what all threads have retired.
    private func takeRetired(_ body: (RetiredItem) -> Void) {
        unsafe ThreadRecords.shared.forEach { record in unsafe record.takeRetired(body) }
    }

    /// What a pass has taken, sorted by what there is to do: each is looked at once, on the way.
    private struct SortedItems {
        /// Work for the reclaimer, before anything else.
        private var tasks = RetiredList()
        /// What the destroyers reclaim, unless a frame has it as its current observer.
        var observers = RetiredList()
        /// Anything else: what is pinned, most of all.
        var others = RetiredList()
        private(set) var needsGracePeriod = false

        /// How many there are, but for tasks.
        var count: Int { observers.count + others.count }

        /// - Parameter doesTasks: Whether `doTasks` is still to come.
        mutating func append(_ item: RetiredItem, doesTasks: Bool = true) {
            switch item.hold {
            case .pin:
                needsGracePeriod = true
                others.append(item)
            case .current where item.runsUserCode, .nothing where item.runsUserCode:
                observers.append(item)
            case .nothing where doesTasks:
                tasks.append(item)
            case .current, .nothing:
                others.append(item)
            }
        }

        /// - Returns: How many there were.
        mutating func doTasks() -> Int {
            let count = tasks.count
            while let task = tasks.popFirst() {
                task.reclaim()
                task.release()
            }
            return count
        }
    }

    /// What is to become of each item, after one scan of the frames.
    private struct Triage {
        private let scan = FrameScan()
        /// What some frame holds.
        private(set) var held: [RetiredWork] = []
        /// What the destroyers take over, all in one step.
        private(set) var withUserCode: [RetiredRun] = []

        /// Reclaims what can be and the reclaimer may; sorts the rest.
        ///
        /// - Returns: How many it has reclaimed.
        mutating func sort(_ items: inout SortedItems, of batch: Batch) -> Int {
            var reclaimed = 0
            while let item = items.others.popFirst() {
                guard isReclaimedHere(RetiredWork(item: item, batch: batch)) else { continue }
                item.reclaim()
                item.release()
                reclaimed += 1
            }
            if scan.holdsObservers {
                while let item = items.observers.popFirst() {
                    _ = isReclaimedHere(RetiredWork(item: item, batch: batch))
                }
            } else if items.observers.count > 0 {
                // No callback runs anywhere: none of them needs to be looked at again.
                for _ in 0..<items.observers.count { inject("reclaim.free") }
                withUserCode.append(RetiredRun(items: items.observers, batch: batch))
            }
            return reclaimed
        }

        /// Whether the reclaimer itself reclaims the item, now.
        mutating func isReclaimedHere(_ work: RetiredWork) -> Bool {
            if scan.holds(work.item), !mutant("reclaim at once") {
                held.append(work)
                return false
            }
            inject("reclaim.free")
            guard work.item.runsUserCode else { return true }
            if withUserCode.last?.batch != work.batch { withUserCode.append(RetiredRun(batch: work.batch)) }
            withUserCode[withUserCode.count - 1].items.append(work.item)
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
