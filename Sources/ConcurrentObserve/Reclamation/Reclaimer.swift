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
    private let thread = Atomic<ThreadState>(.none)
    private let gracePeriods = Atomic<UInt>(0)

    /// The pause between passes while there is work; longer ones follow while only held items are left.
    // Computed: a thread that a fork catches at the first use of a stored one would leave it half made in the child. (P18)
    private static var shortestPause: Duration { .milliseconds(1) }
    private static var longestPause: Duration { .milliseconds(20) }

    private init() {}

    var gracePeriodCount: UInt { gracePeriods.load(ordering: .relaxed) }  // Relaxed: a statistic.

    /// Whether there is a thread: from its start on always.
    private enum ThreadState: UInt8, AtomicRepresentable {
        case none, starting, running
    }

    private var isRunning: Bool {
        // Relaxed: nothing is read because of it.
        thread.load(ordering: .relaxed) == .running
    }

    // MARK: The retiring thread's side

    /// Makes sure that a retired item is noticed: at once if the reclaimer sleeps or `urgently`, else within its pause.
    ///
    /// - Returns: False if the reclaimer has no thread, and the system none to give. Then a thread
    ///   that waits asks again.
    @discardableResult
    func wake(urgently: Bool) -> Bool {
        exploredStep("retired")
        // Sequentially consistent, as is the push before it: pairs with the store in park(); one of the two sees the other.
        guard urgently || isParked.load(ordering: .sequentiallyConsistent) else { return true }
        if mutant(.reclaimersWakeUpIsLost) { return true }
        startIfNeeded()
        wakeUp.signal()
        return isRunning
    }

    /// Waits, ten milliseconds at most, until the reclaimer has taken what is retired.
    func waitUntilTaken() {
        let ticket = taken.ticket()
        guard wake(urgently: true) else {
            // No thread to be had: this one does the reclaimer's part, or every further retirement would wait in vain.
            pass()
            return
        }
        taken.wait(ticket, atMost: .milliseconds(10))
    }

    /// Waits for something that the library's threads bring about, and asks for these again and
    /// again while the system has none to give. (P9)
    ///
    /// - Parameter isDone: Looks, and changes nothing.
    func wait(for name: StaticString, until isDone: () -> Bool) {
        var backoff = Backoff()
        while !isDone() {
            // Once it runs, it asks for the destroyers' threads again and again.
            if wake(urgently: true) || mutant(.aWaiterAsksOnceForAThread) {
                return Backoff.wait(for: name) { !isDone() }
            }
            backoff.pause()
        }
    }

    /// Starts the thread, if there is none, so that it looks at callbacks that do not return.
    func startLooking() {
        if CallbackAges.pause != nil { startIfNeeded() }
    }

    private func startIfNeeded() {
        guard
            // Relaxed: a hint, which the exchange checks.
            thread.load(ordering: .relaxed) == .none,
            // Relaxed: the winner starts the thread; the others need nothing from it.
            thread.compareExchange(expected: .none, desired: .starting, ordering: .relaxed).exchanged
        else { return }
        let isStarted = LibraryThread.start(named: "observe-reclaim") { Reclaimer.shared.run() }
        // Relaxed: as in isRunning. Without a thread to be had the next retirement tries again, and
        // so does each thread that waits: nothing is lost meanwhile.
        thread.store(isStarted ? .running : .none, ordering: .relaxed)
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
            if exploredEnd() { return forgetThread() }
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
            // Sequentially consistent, as is the load of the list: after the store in park(); pairs
            // with the push.
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
    ///
    /// - Parameter isRehearsal: No other thread uses the library: there is nothing to wait for.
    @discardableResult
    private func pass(isRehearsal: Bool = false) -> PassResult {
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
            if count > 0, !isRehearsal, !mutant(.noBarrierBeforeTheScan) { AsymmetricBarrier.heavy() }
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
        /// What the destroyers reclaim, unless a frame has it as its current observer: what follows
        /// each other of one source together.
        private var observers: [SourceItems] = []
        /// The last of these, in the making.
        private var latest = SourceItems(source: 0)
        private var observerCount = 0
        /// Anything else: what is pinned, most of all.
        var others = RetiredList()
        private(set) var needsGracePeriod = false

        /// How many there are, but for tasks.
        var count: Int { observerCount + others.count }

        /// - Parameter doesTasks: Whether `doTasks` is still to come.
        mutating func append(_ item: RetiredItem, doesTasks: Bool = true) {
            switch item.hold {
            case .pin:
                needsGracePeriod = true
                others.append(item)
            case .current where item.runsUserCode, .nothing where item.runsUserCode:
                observerCount += 1
                let source = item.namedSource
                if source != latest.source { beginObservers(of: source) }
                latest.items.append(item)
            case .nothing where doesTasks:
                tasks.append(item)
            case .current, .nothing:
                others.append(item)
            }
        }

        private mutating func beginObservers(of source: UInt) {
            if latest.items.count > 0 { observers.append(latest) }
            latest = SourceItems(source: source)
        }

        /// Hands the observers over.
        mutating func takeObservers() -> [SourceItems] {
            beginObservers(of: 0)
            defer { observers = [] }
            return observers
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

    /// Items of one source.
    private struct SourceItems {
        var items = RetiredList()
        let source: UInt
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
            for var observers in items.takeObservers() {
                if scan.holdsObservers {
                    while let item = observers.items.popFirst() {
                        _ = isReclaimedHere(RetiredWork(item: item, batch: batch))
                    }
                } else {
                    // No callback runs anywhere: none of them needs to be looked at again.
                    for _ in 0..<observers.items.count { inject("reclaim.free") }
                    withUserCode.append(RetiredRun(items: observers.items, batch: batch, source: observers.source))
                }
            }
            return reclaimed
        }

        /// Whether the reclaimer itself reclaims the item, now.
        mutating func isReclaimedHere(_ work: RetiredWork) -> Bool {
            if scan.holds(work.item), !mutant(.reclaimAtOnce) {
                held.append(work)
                return false
            }
            inject("reclaim.free")
            guard work.item.runsUserCode else { return true }
            let source = work.item.namedSource
            if withUserCode.last?.batch != work.batch || withUserCode.last?.source != source {
                withUserCode.append(RetiredRun(batch: work.batch, source: source))
            }
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
            let asks = !batches.hasBegun(target) || !isRunning && !mutant(.aWaiterAsksOnceForAThread)
            if asks, !wake(urgently: true) {
                // No thread to be had: this one does the reclaimer's part, and asks again.
                pass()
                limit = min(limit ?? Self.longestPause, Self.longestPause)
            }
            batches.completion.wait(ticket, atMost: limit)
        }
    }

    // MARK: Rehearsal

    /// Has items held, put aside, handed over and destroyed, all on this thread. See `Rehearsal`.
    func rehearse() {
        // Relaxed, as below: no other thread uses the library. No thread is started meanwhile.
        thread.store(.starting, ordering: .relaxed)
        // Safe: records are never freed.
        let record = unsafe ThreadRecord.current
        let frame = unsafe record.enterFrame()
        // Relaxed, all: see above. Addresses that are compared, not followed.
        unsafe frame.pointee.current.store(1, ordering: .relaxed)
        unsafe frame.pointee.pin.store(1, ordering: .relaxed)
        for held: UInt? in [nil, 1, 2] { ThreadRecord.retire(RehearsedItem(held: held)) }
        pass(isRehearsal: true)
        _ = batches.isComplete(through: 1)
        unsafe frame.pointee.clear()
        unsafe record.leaveFrame()
        pass(isRehearsal: true)
        Destroyers.shared.rehearse()
        _ = drain(until: .now)
        batches.restart()
        forgetThread()
    }

    // MARK: Fork

    func lockForFork() { passLock.lockForFork() }
    func unlockAfterFork() { passLock.unlockAfterFork() }

    /// In the child: the thread does not exist here; the next retirement starts one. (P18)
    ///
    /// What waits to be reclaimed waits here too: no source's lock was held at the fork, and the child has its own copy of all.
    func restartInChild() {
        passLock.unlockAfterFork()
        forgetThread()
    }

    private func forgetThread() {
        // Relaxed, both: no other thread runs, in a child or where the explorer ends the thread.
        thread.store(.none, ordering: .relaxed)
        isParked.store(true, ordering: .relaxed)
    }
}

extension RetiredItem {
    /// The source of an item that runs user code.
    fileprivate var namedSource: UInt { mutant(.oneQueueServesAllSources) ? 1 : source }
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
