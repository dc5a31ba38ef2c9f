// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch
import Testing

extension Promises {
    @Suite("P1 Exactly once")
    struct P01ExactlyOnceTests {}
}

// MARK: - One thread

extension Promises.P01ExactlyOnceTests {
    @Test("P1 One observer receives one event once")
    func oneObserver() {
        let registry = ObserverRegistry<Int>()
        let received = Log<Int>()
        let token = registry.observe { received.append($0) }
        registry.notify(7)
        #expect(received.entries == [7])
        registry.notify(8)
        #expect(received.entries == [7, 8])
        withExtendedLifetime(token) {}
    }

    @Test("P1 Two observers receive every event, in the order of registration")
    func twoObservers() {
        let registry = ObserverRegistry<Int>()
        let received = Log<String>()
        let tokens = [
            registry.observe { received.append("first \($0)") },
            registry.observe { received.append("second \($0)") },
        ]
        registry.notify(1)
        registry.notify(2)
        #expect(received.entries == ["first 1", "second 1", "first 2", "second 2"])
        withExtendedLifetime(tokens) {}
    }

    @Test("P1 An event without observers goes nowhere")
    func noObserver() {
        let registry = ObserverRegistry<Int>()
        registry.notify(1)
        #expect(registry.observationCount == 0)
        let received = Log<Int>()
        let token = registry.observe { received.append($0) }
        #expect(received.count == 0)
        token.cancel()
        registry.notify(2)
        #expect(received.count == 0)
    }

    @Test("P1 Observations that follow ended ones receive their own source alone; the ended ones stay ended (P8)")
    func afterMany() {
        let (before, after) = (ObserverRegistry<Int>(), ObserverRegistry<Int>())
        let (stray, received, ends) = (Counter(), Counter(), Log<ObservationEnd>())
        // The memory of those whose token is dropped is recycled; of those whose token is kept, it
        // must not be.
        let ended = (0..<2_000).compactMap { number in
            let token = before.observe { _ in stray.increment() }
            token.cancel()
            return number.isMultiple(of: 2) ? token : nil
        }
        ConcurrentObserveDiagnostics.drain()
        let tokens = (0..<2_000).map { _ in after.observe { _ in received.increment() } }
        before.notify(1)
        #expect(received.value == 0)
        after.notify(1)
        #expect(received.value == 2_000)
        for token in ended {
            token.onEnd { ends.append($0) }
            token.cancel()
        }
        #expect(ends.entries == Array(repeating: .cancelled, count: ended.count))
        #expect(ended.count(where: { $0.isActive }) == 0)
        #expect(tokens.count(where: { $0.isActive }) == 2_000)
        after.notify(2)
        #expect(received.value == 4_000)
        #expect(stray.value == 0)
    }

    @Test("P1 A closure registered twice is called twice, and once when one registration is gone")
    func sameClosureTwice() {
        let registry = ObserverRegistry<Int>()
        let received = Log<Int>()
        let closure: @Sendable (Int) -> Void = { received.append($0) }
        let first = registry.observe(closure)
        let second = registry.observe(closure)
        #expect(registry.observationCount == 2)
        registry.notify(1)
        #expect(received.entries == [1, 1])
        first.cancel()
        #expect(registry.observationCount == 1)
        registry.notify(2)
        #expect(received.entries == [1, 1, 2])
        second.cancel()
        #expect(registry.observationCount == 0)
        #expect(registry.observationCount == 0)
    }

    @Test("P1 Two registries are observed independently")
    func twoRegistries() {
        let left = ObserverRegistry<Int>(label: "left")
        let right = ObserverRegistry<Int>(label: "right")
        let received = Log<String>()
        let tokens = [
            left.observe { received.append("left \($0)") },
            right.observe { received.append("right \($0)") },
        ]
        left.notify(1)
        right.notify(2)
        #expect(received.entries == ["left 1", "right 2"])
        #expect(left.label == "left")
        #expect(right.label == "right")
        left.cancelAllObservations()
        #expect(right.observationCount == 1)
        withExtendedLifetime(tokens) {}
    }

    @Test("P1 Delivery is on the thread that notifies")
    func notifyingThread() throws {
        let registry = ObserverRegistry<Void>()
        let threads = Log<Int>()
        let notifier = Log<Int>()
        let token = registry.observe { threads.append(threadNumber()) }
        try onNewThread {
            notifier.append(threadNumber())
            registry.notify(())
        }
        #expect(threads.entries == notifier.entries)
        withExtendedLifetime(token) {}
    }

    @Test("P1 The delivered count is exact with 10,000 observers", arguments: [1, 7, 8, 9, 10_000])
    func manyObservers(count: Int) {
        let registry = ObserverRegistry<Int>()
        let calls = (0..<count).map { _ in Counter() }
        let tokens = calls.map { counter in registry.observe { counter.add($0) } }
        #expect(registry.observationCount == count)
        for _ in 0..<3 { registry.notify(1) }
        #expect(calls.allSatisfy { $0.value == 3 })
        // Every second one goes: exactly the others are left.
        for index in stride(from: 0, to: count, by: 2) { tokens[index].cancel() }
        registry.notify(1)
        #expect(calls.enumerated().allSatisfy { index, calls in calls.value == (index.isMultiple(of: 2) ? 3 : 4) })
        #expect(registry.observationCount == count / 2)
        withExtendedLifetime(tokens) {}
    }
}

// MARK: - Events of every kind

extension Promises.P01ExactlyOnceTests {
    struct Large: Sendable, Equatable {
        var numbers = (1, 2, 3, 4, 5, 6, 7, 8)
        var text = "a text that is too long to be stored inline, so that it is counted"
        var list = [1, 2, 3]

        static func == (left: Large, right: Large) -> Bool {
            left.numbers.0 == right.numbers.0 && left.numbers.7 == right.numbers.7 && left.text == right.text
                && left.list == right.list
        }
    }

    @Test("P1 Tuples arrive whole")
    func tuples() {
        let registry = ObserverRegistry<(Int, String)>()
        let received = Log<(Int, String)>()
        let token = registry.observe { received.append($0) }
        registry.notify((1, "one"))
        registry.notify((2, "two, and long enough to live on the heap"))
        #expect(received.entries.map(\.0) == [1, 2])
        #expect(received.entries.map(\.1) == ["one", "two, and long enough to live on the heap"])
        withExtendedLifetime(token) {}
    }

    @Test("P1 Large structs arrive whole")
    func largeStructs() {
        let registry = ObserverRegistry<Large>()
        let received = Log<Large>()
        let token = registry.observe { received.append($0) }
        var event = Large()
        event.numbers.7 = 80
        event.list.append(4)
        registry.notify(event)
        #expect(received.entries == [event])
        withExtendedLifetime(token) {}
    }

    @Test("P1 Objects arrive as themselves and are not kept")
    func objects() {
        let lives = Lives()
        let registry = ObserverRegistry<Life>()
        let received = Slot<ObjectIdentifier>()
        let token = registry.observe { received.put(ObjectIdentifier($0)) }
        do {
            let event = lives.make()
            registry.notify(event)
            #expect(received.value == ObjectIdentifier(event))
        }
        #expect(lives.alive == 0)
        withExtendedLifetime(token) {}
    }

    @Test("P1 Events without content, optionals, existentials and closures arrive")
    func otherKinds() {
        let received = Log<String>()
        let nothing = ObserverRegistry<Void>()
        let optional = ObserverRegistry<String?>()
        let existential = ObserverRegistry<any CustomStringConvertible & Sendable>()
        let function = ObserverRegistry<@Sendable () -> String>()
        let tokens = [
            nothing.observe { received.append("nothing") },
            optional.observe { received.append($0 ?? "nil") },
            existential.observe { received.append($0.description) },
            function.observe { received.append($0()) },
        ]
        nothing.notify(())
        optional.notify(nil)
        optional.notify("some")
        existential.notify(12)
        function.notify { "called" }
        #expect(received.entries == ["nothing", "nil", "some", "12", "called"])
        withExtendedLifetime(tokens) {}
    }
}

// MARK: - Many threads

extension Promises.P01ExactlyOnceTests {
    @Test("P1 The callbacks of one observer overlap on several threads")
    func overlap() throws {
        let registry = ObserverRegistry<Int>()
        let entered = [Signal("the first callback"), Signal("the second callback")]
        let met = Counter()
        let token = registry.observe { index in
            entered[index].happen()
            if entered[1 - index].happens(within: patience) { met.increment() }
        }
        try onThreads(2) { registry.notify($0) }
        #expect(met.value == 2)
        withExtendedLifetime(token) {}
    }

    @Test("P1 Every observer receives every event of every thread")
    func severalNotifiers() throws {
        let registry = ObserverRegistry<Int>()
        let calls = (0..<20).map { _ in Counter() }
        let sums = (0..<20).map { _ in Counter() }
        let tokens = (0..<20).map { index in
            registry.observe { event in
                calls[index].increment()
                sums[index].add(event)
            }
        }
        let (threads, events) = (4, 500)
        try onThreads(threads) { thread in
            for event in 0..<events { registry.notify(thread * events + event) }
        }
        let total = threads * events
        #expect(calls.allSatisfy { $0.value == total })
        #expect(sums.allSatisfy { $0.value == total * (total - 1) / 2 })
        withExtendedLifetime(tokens) {}
    }

    @Test("P1 An observer receives what begins after its registration, whatever registers, ends and grows meanwhile")
    func duringChurn() throws {
        let registry = ObserverRegistry<Int>()
        let constant = (0..<50).map { _ in Counter() }
        let constantTokens = constant.map { counter in registry.observe { _ in counter.increment() } }
        let mistakes = Log<String>()
        let (threads, rounds) = (4, 400)
        try onThreads(threads) { thread in
            for round in 0..<rounds {
                let event = thread * rounds + round
                let received = Counter()
                // More of them every few rounds, so that the table grows and is compacted while
                // others walk it.
                let others = (0..<(round % 20)).map { _ in registry.observe { _ in } }
                let token = registry.observe { if $0 == event { received.increment() } }
                registry.notify(event)
                if received.value != 1 { mistakes.append("event \(event) was received \(received.value) times") }
                token.cancel()
                registry.notify(event)
                if received.value != 1 { mistakes.append("event \(event) was received after cancel()") }
                withExtendedLifetime(others) {}
            }
        }
        #expect(mistakes.entries.isEmpty)
        #expect(constant.allSatisfy { $0.value == threads * rounds * 2 })
        #expect(registry.observationCount == 50)
        withExtendedLifetime(constantTokens) {}
        try Process.settle()
    }

    @Test("P1 Tasks that change threads between their notifications leave no thread inside a callback")
    func migratingTasks() async throws {
        let registry = ObserverRegistry<Int>()
        let calls = Counter()
        let confused = Counter()
        let changes = Counter()
        let token = registry.observe { _ in calls.increment() }
        let nested = registry.observe { event in if event > 0 { registry.notify(0) } }
        let executor = EachJobOnANewThread()
        await withTaskGroup { group in
            for _ in 0..<10 {
                group.addTask(executorPreference: executor) {
                    for event in 0..<20 {
                        registry.notify(event)
                        if isInsideCallback() { confused.increment() }
                        let before = threadNumber()
                        await resumedLater()
                        if threadNumber() != before { changes.increment() }
                    }
                }
            }
        }
        #expect(calls.value == 10 * (1 + 19 * 2))
        #expect(confused.value == 0)
        #expect(changes.value > 100, "nothing was tested: the tasks have hardly changed their threads")
        #expect(await token.cancelAndWait() == .finished)
        #expect(await nested.cancelAndWait() == .finished)
        try executor.join()
    }
}

/// Suspends the task until its executor resumes it. `Task.yield()` would put it into the queue of
/// the global executor instead.
private func resumedLater() async {
    await withCheckedContinuation { continuation in
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(1)) { continuation.resume() }
    }
}

/// Resumes a task on another thread each time.
private final class EachJobOnANewThread: TaskExecutor {
    private let threads = Log<TestThread>()

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        threads.append(TestThread { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) })
    }

    func join() throws {
        for thread in threads.entries { try thread.join() }
    }
}

/// Whether the library treats the caller as inside a callback.
private func isInsideCallback() -> Bool { ConcurrentObserveDiagnostics.drain(deadline: .now) == .deferred }
