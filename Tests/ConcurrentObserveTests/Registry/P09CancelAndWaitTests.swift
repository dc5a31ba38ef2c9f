// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import HeapSize
import Testing

extension Promises {
    @Suite("P9 cancelAndWait()")
    struct P09CancelAndWaitTests {}
}

/// An observation whose callback blocks until `release()`. Its own thread calls the callback.
private final class Held: Sendable {
    let registry = ObserverRegistry<Int>()
    let lives = Lives()
    let token: ObservationToken
    let hasReturned = Flag()
    private let entered = Signal("the held callback")
    private let exit = Signal("the held callback's release")
    private let thread = Slot<TestThread>()

    init() throws {
        let life = Slot(lives.make())
        token = registry.observe { [life = life.take(), entered, exit, hasReturned] _ in
            life?.touch()
            entered.happen()
            exit.hold()
            hasReturned.set()
        }
        thread.put(TestThread { [registry] in registry.notify(1) })
        try entered.wait()
    }

    func release() throws {
        exit.happen()
        try thread.take()?.join()
    }
}

// MARK: - The blocking form

extension Promises.P09CancelAndWaitTests {
    @Test("P9 With nothing running it finishes at once, the closure destroyed, the end delivered")
    func idle() {
        let registry = ObserverRegistry<Int>()
        let lives = Lives()
        let ends = Log<ObservationEnd>()
        let token: ObservationToken
        do {
            let life = lives.make()
            token = registry.observe { _ in life.touch() }
        }
        token.onEnd { ends.append($0) }
        #expect(token.cancelAndWaitBlocking() == .finished)
        #expect(lives.alive == 0)
        #expect(ends.entries == [.cancelled])
        #expect(!token.isActive)
        #expect(registry.observationCount == 0)
        #expect(token.cancelAndWaitBlocking() == .finished)
        #expect(lives.dead == 1)
    }

    @Test("P9 P16 Observations that were waited for, or cancelled, leave no memory behind", arguments: [true, false])
    func leavesNoMemory(waits: Bool) throws {
        let registry = ObserverRegistry<Int>()
        let makePairs = { (count: Int) in
            for _ in 0..<count {
                let token = registry.observe { _ in }
                if waits { token.cancelAndWaitBlocking() } else { token.cancel() }
            }
        }
        makePairs(1_000)
        try Process.settle()
        let before = heap_bytes_in_use()
        makePairs(100_000)
        try Process.settle()
        // A hundred thousand observers would take six megabytes. The library keeps 4,096 for reuse.
        #expect(Int(heap_bytes_in_use()) - Int(before) < 1_000_000)
    }

    @Test("P16 Registries that are gone leave no memory behind, whose observations had ended before")
    func registriesLeaveNoMemory() throws {
        let make = { (count: Int) in
            let registries = (0..<count).map { _ in ObserverRegistry<Int>() }
            for registry in registries { registry.observe { _ in }.cancel() }
            try Process.settle()
        }
        try make(1_000)
        let before = heap_bytes_in_use()
        try make(20_000)
        try Process.settle()
        // The cores that observers share with these registries would take more than two megabytes.
        #expect(Int(heap_bytes_in_use()) - Int(before) < 1_000_000)
    }

    @Test("P17 Threads that have observed and cancelled, and exit, leave no memory behind")
    func threadsLeaveNoMemory() throws {
        let registry = ObserverRegistry<Int>()
        let before = heap_bytes_in_use()
        for _ in 0..<100 {
            try onNewThread { for _ in 0..<1_000 { registry.observe { _ in }.cancel() } }
        }
        try Process.settle()
        #expect(Int(heap_bytes_in_use()) - Int(before) < 1_000_000)
    }

    @Test("P9 It waits for the running callback, and the closure is destroyed when it returns", arguments: [1, 2, 5])
    func waits(callers: Int) throws {
        let held = try Held()
        let mistakes = Log<String>()
        let returned = Signal("the first return")
        let waiters = (0..<callers).map { index in
            TestThread {
                if held.token.cancelAndWaitBlocking() != .finished { mistakes.append("caller \(index): not finished") }
                if !held.hasReturned.isSet { mistakes.append("caller \(index): the callback is running") }
                if held.lives.alive > 0 { mistakes.append("caller \(index): the closure exists") }
                returned.happen()
            }
        }
        #expect(!returned.happens(within: glance))
        #expect(held.lives.alive == 1)
        try held.release()
        for waiter in waiters { try waiter.join() }
        #expect(mistakes.entries.isEmpty)
    }

    @Test("P9 It waits for the closure's destruction also when cancel() came first")
    func afterCancel() throws {
        let held = try Held()
        held.token.cancel()
        let returned = Signal("the return")
        let waiter = TestThread {
            if held.token.cancelAndWaitBlocking() == .finished, held.lives.alive == 0 { returned.happen() }
        }
        #expect(!returned.happens(within: glance))
        try held.release()
        try returned.wait()
        try waiter.join()
    }

    @Test("P9 It waits for the outer of two nested callbacks of the observation")
    func nestedCallbacks() throws {
        let registry = ObserverRegistry<Int>()
        let lives = Lives()
        let (inner, outer) = (Signal("the outer callback alone"), Signal("the outer callback's release"))
        let token: ObservationToken
        do {
            let life = lives.make()
            token = registry.observe { event in
                life.touch()
                guard event < 20 else { return }
                registry.notify(event + 1)
                guard event == 0 else { return }
                inner.happen()
                outer.hold()
            }
        }
        let notifier = TestThread { registry.notify(0) }
        try inner.wait()
        let returned = Signal("the return")
        let waiter = TestThread {
            token.cancelAndWaitBlocking()
            returned.happen()
        }
        #expect(!returned.happens(within: glance))
        #expect(lives.alive == 1)
        outer.happen()
        try waiter.join()
        try notifier.join()
        #expect(lives.alive == 0)
    }

    @Test("P9 After cancelAndWait nothing runs")
    func nothingRuns() throws {
        let registry = ObserverRegistry<Int>()
        let events = Counter()
        let late = Counter()
        let calls = Counter()
        let notifiers = Hammer(threads: 2) { registry.notify(events.increment()) }
        try notifiers.waitUntilWarm()
        for _ in 0..<1_000 {
            let isOver = Flag()
            let token = registry.observe { _ in
                calls.increment()
                if isOver.isSet { late.increment() }
            }
            let before = calls.value
            while calls.value == before { briefPause() }
            token.cancelAndWaitBlocking()
            isOver.set()
        }
        try notifiers.stop()
        #expect(late.value == 0)
    }

    @Test("P9 No wait reports the end while the closure exists")
    func closureIsDestroyed() throws {
        let registry = ObserverRegistry<Int>()
        let early = Counter()
        let notifier = Hammer(threads: 1) { registry.notify(1) }
        try notifier.waitUntilWarm()
        for round in 0..<500 {
            let lives = Lives()
            let token: ObservationToken
            do {
                let life = lives.make()
                token = registry.observe { _ in life.touch() }
            }
            try onThreads(2) { thread in
                if thread == 0, round.isMultiple(of: 2) { return token.cancel() }
                token.cancelAndWaitBlocking()
                if lives.alive > 0 { early.increment() }
            }
        }
        try notifier.stop()
        #expect(early.value == 0)
    }
}

// MARK: - Inside callbacks

extension Promises.P09CancelAndWaitTests {
    @Test("P9 In its own callback it is deferred, and the end comes when the callback has returned")
    func deferredInOwnCallback() throws {
        let registry = ObserverRegistry<Int>()
        let lives = Lives()
        let token = Slot<ObservationToken>()
        let outcomes = Log<WaitOutcome>()
        let aliveInside = Counter()
        let ended = Signal("the end")
        do {
            let life = lives.make()
            token.put(
                registry.observe { _ in
                    outcomes.append(token.value!.cancelAndWaitBlocking())
                    outcomes.append(token.value!.cancelAndWaitBlocking())
                    aliveInside.add(lives.alive)
                    life.touch()
                }
            )
        }
        token.value?.onEnd { _ in ended.happen() }
        // On a thread of its own: one that waits for itself hangs, and the test does not.
        try onNewThread {
            registry.notify(1)
            registry.notify(2)
        }
        #expect(outcomes.entries == [.deferred, .deferred])
        #expect(aliveInside.value == 1)
        try ended.wait()
        #expect(lives.alive == 0)
        #expect(token.value?.cancelAndWaitBlocking() == .finished)
        token.clear()
    }

    @Test("P9 It is deferred in another's callback, in onEnd, and in a deinit that the library runs")
    func deferredElsewhere() throws {
        let registry = ObserverRegistry<Int>()
        let outcomes = Log<String>()
        let victim = Slot(registry.observe { _ in })
        let inCallback = registry.observe { _ in
            outcomes.append("callback \(victim.value!.cancelAndWaitBlocking())")
            outcomes.append("callback drain \(ConcurrentObserveDiagnostics.drain())")
        }
        try onNewThread { registry.notify(1) }

        let ended = Signal("the end")
        let other = Slot(registry.observe { _ in })
        inCallback.onEnd { _ in
            outcomes.append("onEnd \(other.value!.cancelAndWaitBlocking())")
            ended.happen()
        }
        inCallback.cancel()
        try ended.wait()

        // At once, on this thread: inside all the same.
        inCallback.onEnd { _ in outcomes.append("late onEnd \(other.value!.cancelAndWaitBlocking())") }

        let lives = Lives()
        let third = Slot(registry.observe { _ in })
        do {
            let life = lives.make { outcomes.append("deinit \(third.value!.cancelAndWaitBlocking())") }
            registry.observe { _ in life.touch() }.cancel()
        }
        try lives.waitUntilNoneIsLeft()
        let life = Slot(lives.make { outcomes.append("own deinit \(third.value!.cancelAndWaitBlocking())") })
        registry.observe { [life = life.take()] _ in life?.touch() }.cancelAndWaitBlocking()
        #expect(
            outcomes.entries == [
                "callback deferred", "callback drain deferred", "onEnd deferred", "late onEnd deferred",
                "deinit deferred", "own deinit deferred",
            ]
        )
        #expect(victim.value!.cancelAndWaitBlocking() == .finished)
        #expect(registry.observationCount == 0)
    }

    @Test("P9 Two callbacks that cancel each other do not deadlock")
    func eachOther() throws {
        let lives = Lives()
        for _ in 0..<50 {
            let registries = [ObserverRegistry<Int>(), ObserverRegistry<Int>()]
            let tokens = [Slot<ObservationToken>(), Slot<ObservationToken>()]
            let entered = [Signal("one callback"), Signal("the other callback")]
            let outcomes = Log<WaitOutcome>()
            for index in 0..<2 {
                let life = Slot(lives.make())
                tokens[index].put(
                    registries[index].observe { [life = life.take()] _ in
                        life?.touch()
                        entered[index].happen()
                        entered[1 - index].hold()
                        outcomes.append(tokens[1 - index].value!.cancelAndWaitBlocking())
                    }
                )
            }
            try onThreads(2) { registries[$0].notify(1) }
            #expect(outcomes.entries == [.deferred, .deferred])
            #expect(registries.allSatisfy { $0.observationCount == 0 })
            for token in tokens { token.clear() }
        }
        try lives.waitUntilNoneIsLeft()
    }

    @Test("P9 A thread is outside again after its callback: it waits, not defers")
    func outsideAgain() throws {
        let registry = ObserverRegistry<Int>()
        for _ in 0..<20 {
            let token = registry.observe { event in if event > 0 { registry.notify(event - 1) } }
            registry.notify(12)
            #expect(token.cancelAndWaitBlocking() == .finished)
        }
    }
}

// MARK: - The asynchronous form

extension Promises.P09CancelAndWaitTests {
    @Test("P9 The asynchronous form finishes, the closure destroyed")
    func asynchronousIdle() async {
        let registry = ObserverRegistry<Int>()
        let lives = Lives()
        let token: ObservationToken
        do {
            let life = lives.make()
            token = registry.observe { _ in life.touch() }
        }
        #expect(await token.cancelAndWait() == .finished)
        #expect(lives.alive == 0)
        #expect(await token.cancelAndWait() == .finished)
    }

    @Test("P9 The asynchronous form suspends until the callback returns, and blocks no thread of the pool")
    func asynchronousWaits() async throws {
        let held = try Held()
        let mistakes = Counter()
        let finished = Counter()
        let tasks = (0..<64).map { _ in
            Task {
                if await held.token.cancelAndWait() != .finished { mistakes.increment() }
                if !held.hasReturned.isSet || held.lives.alive > 0 { mistakes.increment() }
                finished.increment()
            }
        }
        // More tasks wait than the pool has threads; others are served all the same, often enough
        // for all to have begun.
        for _ in 0..<20 {
            let served = Signal("a task besides the waiting ones")
            Task { served.happen() }
            try await served.arrival()
        }
        #expect(finished.value == 0)
        #expect(held.lives.alive == 1)
        try held.release()
        for task in tasks { await task.value }
        #expect(mistakes.value == 0)
        #expect(held.lives.dead == 1)
    }

    @Test("P9 The asynchronous form does not spin")
    func asynchronousIdles() async throws {
        let held = try Held()
        let tasks = (0..<8).map { _ in Task { await held.token.cancelAndWait() } }
        let before = Process.processorTime
        let begin = ContinuousClock.now
        // Not to let something happen: the time over which the processor's is measured.
        try await Task.sleep(for: .milliseconds(200))
        let share = (Process.processorTime - before) / (ContinuousClock.now - begin)
        #expect(share < 0.5, "one that spins takes at least a processor")
        try held.release()
        for task in tasks { #expect(await task.value == .finished) }
    }

    @Test("P9 The asynchronous form completes although the waiting task is cancelled")
    func waitingTaskIsCancelled() async throws {
        let held = try Held()
        let finished = Flag()
        let task = Task {
            let outcome = await held.token.cancelAndWait()
            #expect(Task.isCancelled)
            #expect(held.lives.alive == 0)
            finished.set()
            return outcome
        }
        task.cancel()
        try await eventuallyAsync("the end of the observation") { !held.token.isActive }
        #expect(!finished.isSet)
        try held.release()
        #expect(await task.value == .finished)

        // Cancelled before it began to wait.
        let token = held.registry.observe { _ in }
        let second = Task {
            // Safe: the task is not used beyond the closure.
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return await token.cancelAndWait()
        }
        #expect(await second.value == .finished)
        #expect(!token.isActive)
    }

    @Test("P9 Begun inside a callback, the asynchronous form suspends and finishes after it")
    func asynchronousInsideACallback() async throws {
        let registry = ObserverRegistry<Int>()
        let lives = Lives()
        let task = Slot<Task<WaitOutcome, Never>>()
        let token = Slot<ObservationToken>()
        let isFinishedInside = Flag()
        do {
            let life = lives.make()
            token.put(
                registry.observe { _ in
                    let finished = Flag()
                    task.put(
                        Task.immediate {
                            let outcome = await token.value!.cancelAndWait()
                            finished.set()
                            return outcome
                        }
                    )
                    if finished.isSet { isFinishedInside.set() }
                    life.touch()
                }
            )
        }
        registry.notify(1)
        #expect(await task.value?.value == .finished)
        #expect(!isFinishedInside.isSet)
        #expect(lives.alive == 0)
    }

    @Test("P9 Both forms at once wait for the same")
    func bothForms() async throws {
        let held = try Held()
        let mistakes = Counter()
        let blocking = TestThread {
            if held.token.cancelAndWaitBlocking() != .finished || held.lives.alive > 0 { mistakes.increment() }
        }
        let task = Task {
            if await held.token.cancelAndWait() != .finished || held.lives.alive > 0 { mistakes.increment() }
        }
        try await eventuallyAsync("the end of the observation") { !held.token.isActive }
        try held.release()
        await task.value
        try blocking.join()
        #expect(mistakes.value == 0)
    }

    @Test("P9 After the asynchronous form returned nothing runs")
    func nothingRunsAsynchronously() async throws {
        let registry = ObserverRegistry<Int>()
        let late = Counter()
        let calls = Counter()
        let notifiers = Hammer(threads: 2) { registry.notify(1) }
        try notifiers.waitUntilWarm()
        for _ in 0..<500 {
            let isOver = Flag()
            let token = registry.observe { _ in
                calls.increment()
                if isOver.isSet { late.increment() }
            }
            await token.cancelAndWait()
            isOver.set()
        }
        try notifiers.stop()
        #expect(late.value == 0)
    }
}
