// SPDX-License-Identifier: Apache-2.0

@testable import ExplorerKit

/// A published bug of concurrent code, restated as a toy, and its repair.
///
/// Each needs no more than an unlucky interleaving: an explorer of sequential consistency does not
/// find bugs of weak memory. The orderings say nothing here.
struct PublishedBug: Sendable, CustomStringConvertible {
    /// The mistake.
    let name: String
    /// Where it was reported or repaired.
    let source: String
    let kind: ExplorationFailure.Kind
    let program: @Sendable (_ run: ExploredProgram, _ isRepaired: Bool) -> Void

    init(
        _ name: String,
        _ source: String,
        _ kind: ExplorationFailure.Kind,
        _ program: @escaping @Sendable (_ run: ExploredProgram, _ isRepaired: Bool) -> Void
    ) {
        (self.name, self.source, self.kind, self.program) = (name, source, kind, program)
    }

    var description: String { "\(source): \(name)" }

    static let all = [
        freeList, lostPermit, wokenTwice, signalWithoutLock, lostWaitersFlag, lostPropagation, usedAfterHandingOver,
        testOutsideLock, taskAfterClosing, tryThatWaits,
    ]

    /// A stack of free nodes whose head comes back while another thread is taking it.
    static let freeList = PublishedBug("a free list without tags (ABA)", "argobots, issue 178", .check) {
        run,
        isRepaired in
        let end = 3
        let following = (0..<end).map { ExploredVariable($0 + 1) }
        // A node, and in the repaired list above it how often the head was replaced.
        let head = ExploredAtomic(0)
        let held = Shared<Set<Int>>([])
        @Sendable func replace(_ seen: Int, by node: Int) -> Bool {
            let desired = isRepaired ? (seen | 0xFF) + 1 + node : node
            return head.compareExchange(expected: seen, desired: desired, ordering: .relaxed).exchanged
        }
        @Sendable func take() -> Int {
            while true {
                let seen = head.load(ordering: .relaxed)
                let node = seen & 0xFF
                guard node != end else { return end }
                guard replace(seen, by: following[node].value) else { continue }
                run.check(held.value.insert(node).inserted, "node \(node) is taken twice")
                return node
            }
        }
        @Sendable func give(_ node: Int) {
            held.value.remove(node)
            while true {
                let seen = head.load(ordering: .relaxed)
                following[node].value = seen & 0xFF
                if replace(seen, by: node) { return }
            }
        }
        run.thread("takes one") { _ = take() }
        run.thread("gives one back") {
            let first = take()
            _ = take()
            if first != end { give(first) }
        }
        run.finally { while take() != end {} }
    }

    /// To notify all writes back a state that it read before another thread stored a permit.
    static let lostPermit = PublishedBug("a permit is overwritten", "tokio, pull request 3660", .check) {
        run,
        isRepaired in
        // The lowest bit is the permit, the others count the calls that notify all.
        let state = ExploredAtomic(0)
        run.thread("notifies all") {
            if isRepaired {
                state.wrappingAdd(2, ordering: .relaxed)
            } else {
                let seen = state.load(ordering: .relaxed)
                state.store(seen + 2, ordering: .relaxed)
            }
        }
        run.thread("notifies one") { state.bitwiseOr(1, ordering: .relaxed) }
        run.finally { run.check(state.load(ordering: .relaxed) == 3, "the permit is lost") }
    }

    /// To notify all releases the lock between two waiters.
    static let wokenTwice = PublishedBug("one call ends two waits in a row", "tokio, issue 5396", .check) {
        run,
        isRepaired in
        let (first, other, second) = (ExploredAtomic(false), ExploredAtomic(false), ExploredAtomic(false))
        let waiting = ExploredMutex([first, other])
        run.thread("notifies all") {
            while true {
                let batch = waiting.withLock { waiting in
                    let count = isRepaired ? waiting.count : min(1, waiting.count)
                    defer { waiting.removeFirst(count) }
                    return waiting.prefix(count)
                }
                for waiter in batch { waiter.store(true, ordering: .relaxed) }
                if isRepaired || batch.isEmpty { return }
            }
        }
        run.thread("waits twice") {
            exploredWait("be notified") { first.load(ordering: .relaxed) }
            waiting.withLock { $0.append(second) }
        }
        run.finally { run.check(!second.load(ordering: .relaxed), "the second wait ends") }
    }

    /// A receiver signals that there is room between a sender's look and its wait.
    static let signalWithoutLock = PublishedBug("a signal without the lock", "tokio, pull request 2134", .deadlock) {
        run,
        isRepaired in
        let (condition, room) = (ExploredCondition(), ExploredAtomic(0))
        run.thread("sender") {
            condition.lock()
            while room.load(ordering: .relaxed) == 0 { condition.wait() }
            condition.unlock()
        }
        run.thread("receiver") {
            if isRepaired { condition.lock() }
            room.add(1, ordering: .relaxed)
            condition.signal()
            if isRepaired { condition.unlock() }
        }
    }

    /// A third thread takes the lock between its release and the wake-up; the woken thread sleeps
    /// again, and the mark that it waits is gone.
    static let lostWaitersFlag = PublishedBug("a woken thread does not mark again", "musl, 0db393d3", .deadlock) {
        run,
        isRepaired in
        // 0: free, 1: taken, 2: taken, and a thread waits. The first thread has it.
        let word = ExploredAtomic(1)
        let isAsleep = Shared(false)
        @Sendable func unlock() {
            guard word.exchange(0, ordering: .relaxed) == 2 else { return }
            exploredStep("wake")
            isAsleep.value = false
        }
        run.thread("has it", unlock)
        run.thread("waits") {
            var isMarked = false
            while !word.compareExchange(
                expected: 0,
                desired: isRepaired && isMarked ? 2 : 1,
                ordering: .relaxed
            ).exchanged {
                if !isMarked || isRepaired {
                    _ = word.compareExchange(expected: 1, desired: 2, ordering: .relaxed)
                    isMarked = true
                }
                // The kernel looks at the word and enqueues the thread at once.
                let seen = word.load(ordering: .relaxed)
                if seen == 0 || isRepaired && seen != 2 { continue }
                isAsleep.value = true
                exploredWait("be woken") { !isAsleep.value }
            }
            unlock()
        }
        run.thread("comes in between") {
            guard word.compareExchange(expected: 0, desired: 1, ordering: .relaxed).exchanged else {
                return
            }
            unlock()
        }
    }

    /// A permit is released between a waiter's success and its leaving the queue. Neither wakes the
    /// next waiter.
    static let lostPropagation = PublishedBug("a release wakes no waiter", "JDK, bug 6801020", .deadlock) {
        run,
        isRepaired in
        let permits = ExploredAtomic(0)
        // The head's node and those of two waiters. -1: wakes its successor; -3: must be passed on.
        let status = [ExploredAtomic(-1), ExploredAtomic(-1), ExploredAtomic(0)]
        let (head, wakeUps) = (ExploredAtomic(0), (0..<3).map { _ in ExploredSemaphore(value: 0) })
        @Sendable func wakeNext() {
            while true {
                let first = head.load(ordering: .relaxed)
                guard first < 2 else { return }
                if status[first].compareExchange(expected: -1, desired: 0, ordering: .relaxed).exchanged {
                    wakeUps[first + 1].signal()
                } else if isRepaired {
                    _ = status[first].compareExchange(expected: 0, desired: -3, ordering: .relaxed)
                }
                if !isRepaired || head.load(ordering: .relaxed) == first { return }
            }
        }
        for waiter in [1, 2] {
            run.thread("waiter \(waiter)") {
                wakeUps[waiter].wait()
                // The other waiter is behind this one, or has left.
                while permits.load(ordering: .relaxed) == 0 {
                    if status[waiter - 1].exchange(-1, ordering: .relaxed) == -1 { wakeUps[waiter].wait() }
                }
                let left = permits.subtract(1, ordering: .relaxed).newValue
                let old = head.exchange(waiter, ordering: .relaxed)
                if left > 0 || isRepaired && status[old].load(ordering: .relaxed) < 0 { wakeNext() }
            }
        }
        for name in ["releases", "releases, too"] {
            run.thread(name) {
                permits.add(1, ordering: .relaxed)
                wakeNext()
            }
        }
    }

    /// A thread hands memory back to its owner, and reads from it once more.
    static let usedAfterHandingOver = PublishedBug(
        "memory is used after it is handed over",
        "libmtev, pull request 757",
        .check
    ) {
        run,
        isRepaired in
        let (queue, isFreed) = (ExploredMutex(0), ExploredVariable(false))
        run.thread("hands over") {
            let use = { run.check(!isFreed.value, "freed memory is read") }
            if isRepaired { use() }
            queue.withLock { $0 += 1 }
            if !isRepaired { use() }
        }
        run.thread("owner") { if queue.withLock({ $0 }) > 0 { isFreed.value = true } }
    }

    /// A reader looks for a writer before it takes the lock under which it then waits.
    static let testOutsideLock = PublishedBug(
        "the condition is tested outside its lock",
        "HPX, pull request 6866",
        .deadlock
    ) {
        run,
        isRepaired in
        let (condition, isExclusive) = (ExploredCondition(), ExploredAtomic(true))
        run.thread("reader") {
            if isRepaired { condition.lock() }
            let mustWait = isExclusive.load(ordering: .relaxed)
            if !isRepaired { condition.lock() }
            if mustWait { condition.wait() }
            condition.unlock()
        }
        run.thread("writer") {
            condition.lock()
            isExclusive.store(false, ordering: .relaxed)
            condition.broadcast()
            condition.unlock()
        }
    }

    /// A loop that has ended takes more work, and never does it.
    static let taskAfterClosing = PublishedBug("a closed loop accepts a task", "swift-nio, issue 495", .check) {
        run,
        isRepaired in
        let loop = ExploredMutex((tasks: 0, isClosed: false))
        let done = Shared(0)
        run.thread("loop") {
            loop.withLock { loop in
                done.value += loop.tasks
                loop = (0, true)
            }
        }
        run.thread("caller") {
            loop.withLock { loop in
                // A task that is refused fails, and its caller learns of it.
                if isRepaired && loop.isClosed { done.value += 1 } else { loop.tasks += 1 }
            }
        }
        run.finally { run.check(done.value == 1, "the task is neither run nor refused") }
    }

    /// A receiver that must not wait waits for a sender between its two steps.
    static let tryThatWaits = PublishedBug("an attempt to receive waits", "crossbeam, issue 997", .check) {
        run,
        isRepaired in
        let (reserved, isWritten) = (ExploredAtomic(0), ExploredAtomic(false))
        run.thread("sender") {
            reserved.add(1, ordering: .relaxed)
            isWritten.store(true, ordering: .relaxed)
        }
        run.thread("receiver") {
            if reserved.load(ordering: .relaxed) == 0 { return }
            while !isWritten.load(ordering: .relaxed) {
                if isRepaired { return }
                run.check(false, "the attempt waits")
                run.pause()
            }
        }
    }
}
