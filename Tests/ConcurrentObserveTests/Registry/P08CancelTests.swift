// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Glibc
import Testing

extension Promises {
    @Suite("P8 cancel()")
    struct P08CancelTests {}
}

// MARK: - One thread

extension Promises.P08CancelTests {
    @Test("P8 A change that begins after cancel() returned is not delivered")
    func silence() {
        let registry = ObserverRegistry<Int>()
        let received = Log<Int>()
        let token = registry.observe { received.append($0) }
        #expect(token.isActive)
        registry.notify(1)
        token.cancel()
        #expect(!token.isActive)
        registry.notify(2)
        #expect(received.entries == [1])
        #expect(registry.observationCount == 0)
    }

    @Test("P8 Cancelling twice has one effect")
    func twice() throws {
        let registry = ObserverRegistry<Int>()
        let received = Counter()
        let ends = Log<ObservationEnd>()
        let bystander = registry.observe { _ in received.increment() }
        let token = registry.observe { _ in received.increment() }
        token.onEnd { ends.append($0) }
        token.cancel()
        token.cancel()
        #expect(token.cancelAndWaitBlocking() == .finished)
        token.cancel()
        #expect(registry.observationCount == 1)
        registry.notify(1)
        #expect(received.value == 1)
        try eventually("the end") { ends.count > 0 }
        try Process.settle()
        #expect(ends.entries == [.cancelled])
        bystander.cancel()
    }

    @Test("P8 removeAll ends all of this registry, each as cancelled, and the registry goes on")
    func removeAll() throws {
        let registry = ObserverRegistry<Int>()
        let other = ObserverRegistry<Int>()
        let received = Counter()
        let ends = Log<ObservationEnd>()
        let tokens = (0..<20).map { _ in registry.observe { _ in received.increment() } }
        let bystander = other.observe { _ in received.increment() }
        for token in tokens { token.onEnd { ends.append($0) } }
        tokens[3].cancel()
        registry.cancelAllObservations()
        registry.cancelAllObservations()
        #expect(registry.observationCount == 0)
        #expect(tokens.allSatisfy { !$0.isActive })
        registry.notify(1)
        #expect(received.value == 0)
        try eventually("all ends") { ends.count == 20 }
        #expect(ends.entries.allSatisfy { $0 == .cancelled })
        let fresh = registry.observe { _ in received.increment() }
        registry.notify(1)
        other.notify(1)
        #expect(received.value == 2)
        withExtendedLifetime((fresh, bystander)) {}
    }

    @Test("P8 Cancelling in any order leaves exactly the others", arguments: 0..<8)
    func anyOrder(seed: Int) {
        var random = SplitMix(seed: UInt64(seed))
        let registry = ObserverRegistry<Int>()
        var expected: [Int: ObservationToken] = [:]
        let received = Slot<Set<Int>>([])
        for index in 0..<300 {
            expected[index] = registry.observe { _ in received.put(received.value!.union([index])) }
            if let victim = expected.keys.sorted().randomElement(using: &random), random.next() % 3 > 0 {
                expected.removeValue(forKey: victim)?.cancel()
            }
            guard index % 20 == 0 else { continue }
            received.put([])
            registry.notify(1)
            #expect(received.value == Set(expected.keys))
            #expect(registry.observationCount == expected.count)
        }
    }
}

/// The random numbers of Steele, Lea and Flood (2014): the same ones for the same seed.
struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}

// MARK: - Several threads

extension Promises.P08CancelTests {
    @Test("P8 Two threads cancel at once: one effect")
    func twoThreads() throws {
        let registry = ObserverRegistry<Int>()
        let lives = Lives()
        let ends = Counter()
        let rounds = 500
        let tokens = (0..<rounds).map { _ in
            let life = lives.make()
            return registry.observe { _ in life.touch() }
        }
        for token in tokens { token.onEnd { _ in ends.increment() } }
        try onThreads(2) { thread in
            for (index, token) in tokens.enumerated() {
                if thread == 0 || index % 3 > 0 { token.cancel() } else { token.cancelAndWaitBlocking() }
            }
        }
        #expect(registry.observationCount == 0)
        try lives.waitUntilNoneIsLeft()
        try Process.settle()
        #expect(lives.dead == rounds)
        #expect(ends.value == rounds)
    }

    @Test("P8 cancel() and a removal of all at once: one effect each")
    func againstRemoveAll() throws {
        let registry = ObserverRegistry<Int>()
        let lives = Lives()
        let ends = Counter()
        let rounds = 300
        try onThreads(3) { thread in
            for _ in 0..<rounds {
                guard thread > 0 else {
                    registry.cancelAllObservations()
                    continue
                }
                let life = lives.make()
                let token = registry.observe { _ in life.touch() }
                token.onEnd { _ in ends.increment() }
                registry.notify(1)
                token.cancel()
                if token.isActive { ends.add(-1_000_000) }
            }
        }
        try lives.waitUntilNoneIsLeft()
        try Process.settle()
        #expect(registry.observationCount == 0)
        #expect(ends.value == 2 * rounds)
    }

    @Test("P8 cancel() returns while a callback of the observation is running elsewhere")
    func duringACallback() throws {
        let registry = ObserverRegistry<Int>()
        let entered = Signal("the callback")
        let release = Signal("the callback's release")
        let received = Counter()
        let token = registry.observe { _ in
            received.increment()
            entered.happen()
            release.hold()
        }
        let notifier = TestThread {
            registry.notify(1)
            registry.notify(2)
        }
        try entered.wait()
        token.cancel()
        #expect(!token.isActive)
        #expect(registry.observationCount == 0)
        release.happen()
        try notifier.join()
        #expect(received.value == 1)
    }

    @Test("P8 Cancelled right after its registration, 100,000 times across threads")
    func rightAfterObserve() throws {
        let registry = ObserverRegistry<Int>()
        let lives = Lives()
        let (threads, rounds) = (4, 25_000)
        let notifier = Hammer(threads: 1) { registry.notify(1) }
        try notifier.waitUntilWarm()
        try onThreads(threads) { _ in
            for _ in 0..<rounds {
                let life = lives.make()
                registry.observe { _ in life.touch() }.cancel()
            }
        }
        try notifier.stop()
        #expect(registry.observationCount == 0)
        try lives.waitUntilNoneIsLeft()
        #expect(lives.dead == threads * rounds)
        try Process.settle()
        #expect(ConcurrentObserveDiagnostics.current().liveObservers == 0)
    }

    @Test("P8 What one thread cancels is silent in the notifications that another thread begins afterwards")
    func handedOver() throws {
        let registry = ObserverRegistry<Int>()
        let latest = Counter()
        let late = Counter()
        // Each round: the canceller ends the observation, signals the notifier, which notifies.
        let cancelled = Counter()
        let notified = Counter()
        let rounds = 2_000
        let notifier = TestThread {
            for round in 1...rounds {
                while cancelled.value < round { sched_yield() }
                registry.notify(round)
                notified.increment()
            }
        }
        for round in 1...rounds {
            let token = registry.observe { event in if event >= round { late.increment() } }
            latest.increment()
            token.cancel()
            cancelled.increment()
            while notified.value < round { sched_yield() }
        }
        try notifier.join()
        #expect(late.value == 0)
    }
}

// MARK: - Without memory

extension Promises.P08CancelTests {
    @Test("P8 Cancelling needs no memory: 10,000 observations end where none can be had")
    func withoutMemory() async {
        await #expect(processExitsWith: .success) {
            let registry = ObserverRegistry<Int>()
            let calls = Counter()
            let deaths = Counter()
            var tokens = observe(registry, times: 10_000, calls, deaths)
            // The same once with memory: the library's threads exist, and the language's runtime
            // knows all types involved.
            let first = observe(registry, times: 10_000, calls, deaths)
            cancelAndNotify(first, registry)
            try Process.settle()
            let callsBefore = calls.value

            // Nor a thread: the system may have the stack of one that has ended, but not what it
            // needs to run.
            Process.withoutMoreThreads {
                Process.withoutMoreMemory { cancelAndNotify(tokens, registry) }
            }
            check(calls.value == callsBefore, "a cancelled observer was called")
            check(registry.observationCount == 0, "\(registry.observationCount) observations are left")
            check(!tokens[9_999].isActive, "the last observation goes on")
            try eventually("the end of all captures") { deaths.value == 20_000 }
            tokens = []
        }
    }

    @Test("P8 Cancelling needs no thread: 10,000 observations end where none can be had, within seconds")
    func withoutThreads() async {
        await #expect(processExitsWith: .success) {
            // Eight each: a table that grows is a retirement, and there is to be none yet.
            let registries = (0..<1_250).map { _ in ObserverRegistry<Int>() }
            let deaths = Counter()
            let calls = Counter()
            let tokens = registries.flatMap { observe($0, times: 8, calls, deaths) }
            check(ConcurrentObserveDiagnostics.current().retired == 0, "the library's threads may exist already")

            // The library has no thread yet and gets none. That must not cost time for each.
            let begin = ContinuousClock.now
            Process.withoutMoreThreads { cancelAndNotify(tokens, registries[0]) }
            let time = ContinuousClock.now - begin
            check(registries.allSatisfy { $0.observationCount == 0 }, "some observations are left")
            check(time < .seconds(5), "cancelling took \(time)")
            try Process.settle()
            check(deaths.value == 10_000, "\(10_000 - deaths.value) captures are left")
        }
    }
}

private func observe(
    _ registry: ObserverRegistry<Int>,
    times: Int,
    _ calls: Counter,
    _ deaths: Counter
) -> [ObservationToken] {
    (0..<times).map { _ in
        let mortal = Mortal(deaths)
        return registry.observe { _ in
            mortal.touch()
            calls.increment()
        }
    }
}

private func cancelAndNotify(_ tokens: [ObservationToken], _ registry: ObserverRegistry<Int>) {
    for token in tokens { token.cancel() }
    registry.notify(1)
}
