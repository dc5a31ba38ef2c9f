// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Synchronization
import Testing

extension Promises {
    @Suite("P10 Token lifetime")
    struct P10TokenLifetimeTests {}
}

extension Promises.P10TokenLifetimeTests {
    @Test("P10 A token that is not kept sees nothing")
    func unassigned() throws {
        let registry = ObserverRegistry<Int>()
        let lives = Lives()
        let received = Counter()
        do {
            let life = lives.make()
            _ = registry.observe { _ in
                life.touch()
                received.increment()
            }
        }
        #expect(registry.observationCount == 0)
        registry.notify(1)
        #expect(received.value == 0)
        try lives.waitUntilNoneIsLeft()
    }

    @Test("P10 Of tens of thousands of tokens each ends its own observation")
    func many() throws {
        let registry = ObserverRegistry<Int>()
        let lives = Lives()
        let sum = Sum()
        // Beyond some size a registry makes observers and tokens in advance.
        var tokens = (0..<40_000).map { number -> ObservationToken? in
            let life = lives.make()
            return registry.observe { event in
                life.touch()
                sum.add(event * number)
            }
        }
        #expect(Set(tokens.map { ObjectIdentifier($0!) }).count == 40_000)
        registry.notify(1)
        #expect(sum.value == (0..<40_000).reduce(0, +))
        for number in stride(from: 0, to: 40_000, by: 3) { tokens[number] = nil }
        sum.clear()
        registry.notify(1)
        #expect(sum.value == (0..<40_000).reduce(0) { $1 % 3 == 0 ? $0 : $0 + $1 })
        #expect(registry.observationCount == 26_666)
        tokens = []
        #expect(registry.observationCount == 0)
        try lives.waitUntilNoneIsLeft()
    }

    @Test("P10 The process counts the observations that are lost with a token that is not kept")
    func releasedEarly() async {
        await #expect(processExitsWith: .success) {
            func released() -> Int { ConcurrentObserveDiagnostics.current().tokensReleasedEarly }
            let (number, text, event) = (Observed(1), Observed("a"), ObserverRegistry<Int>())
            let (car, owner, weak) = (Car(1), Referent("owner"), WeakObserved<Referent>(nil))
            var expected = 0
            let lost: [() -> ObservationToken?] = [
                { event.observe { _ in } },
                { number.observe { _ in } },
                { number.observe(options: [.initial, .prior]) { _ in } },
                { number.observe(delivery: .serial()) { _ in } },
                { number.removingDuplicates().observe { _ in } },
                { number.map { $0 + 1 }.observe { _ in } },
                { number.bind(to: text, transform: { String($0) }) },
                { Group(number, text).observe { _ in } },
                { car.property(\.axle.wheel.pressure).observe { _ in } },
                { number.observe(owner: owner) { _, _ in } },
            ]
            for (index, observe) in lost.enumerated() {
                _ = observe()
                expected += 1
                check(released() == expected, "observation \(index): \(released()) instead of \(expected)")
                // Who ends an observation has not lost it.
                observe()?.cancel()
                check(released() == expected, "cancelled observation \(index): \(released()) instead of \(expected)")
            }
            // The library's own tokens do not count.
            _ = try await number.first { $0 == 1 }
            for sequence in [
                number.values(options: .initial),
                car.property(\.axle.wheel.pressure).values(options: .initial),
            ] {
                var iterator = sequence.makeAsyncIterator()
                _ = await iterator.next()
            }
            for _ in 0..<3 { weak.value = Referent("short") }
            for _ in 0..<3 { _ = WeakObserved(owner) }
            Group(number, weak).commit { transaction in transaction[weak] = owner }
            number.bindBidirectionally(with: Observed(0)).cancel()
            try Process.settle()
            check(released() == expected, "\(released()) instead of \(expected)")
            // Long enough to be meant.
            let kept = number.observe { _ in }
            try await Task.sleep(for: .milliseconds(1_600))
            _ = consume kept
            check(released() == expected, "after 1.6 s: \(released()) instead of \(expected)")
        }
    }

    @Test("P17 A thread leaves no observers behind that were made for it in advance")
    func inAdvance() async {
        await #expect(processExitsWith: .success) {
            let registry = ObserverRegistry<Int>()
            let tokens = (0..<40_000).map { _ in registry.observe { _ in } }
            func useThreads(_ count: Int) throws -> Int {
                for _ in 0..<count {
                    // All that other threads have kept, and one more.
                    try onNewThread {
                        for token in (0..<600).map({ _ in registry.observe { _ in } }) { token.cancel() }
                    }
                }
                try Process.settle()
                return Process.residentBytes
            }
            let before = try useThreads(40)
            let growth = try useThreads(200) - before
            // Each thread makes 48 KiB in advance.
            check(growth < 4 << 20, "\(growth) bytes more")
            withExtendedLifetime(tokens) {}
        }
    }

    @Test("P10 Dropping the last reference ends the observation, not an earlier one")
    func lastReference() throws {
        let registry = ObserverRegistry<Int>()
        let received = Counter()
        let ends = Log<ObservationEnd>()
        let (first, second) = (Slot<ObservationToken>(), Slot<ObservationToken>())
        first.put(registry.observe { _ in received.increment() })
        second.put(first.value!)
        first.value!.onEnd { ends.append($0) }
        first.clear()
        registry.notify(1)
        #expect(received.value == 1)
        second.clear()
        #expect(registry.observationCount == 0)
        registry.notify(2)
        #expect(received.value == 1)
        try eventually("the end") { ends.count == 1 }
        #expect(ends.entries == [.cancelled])
    }

    @Test("P10 Dropped inside its own callback, which goes on with its captures alive")
    func insideItsOwnCallback() throws {
        let registry = ObserverRegistry<Int>()
        let lives = Lives()
        let token = Slot<ObservationToken>()
        let aliveAfterwards = Log<Int>()
        let received = Log<Int>()
        do {
            let life = lives.make()
            token.put(
                registry.observe { event in
                    received.append(event)
                    token.clear()
                    _ = ConcurrentObserveDiagnostics.drain()
                    registry.notify(event + 1)
                    aliveAfterwards.append(lives.alive)
                    life.touch()
                }
            )
        }
        registry.notify(1)
        #expect(received.entries == [1])
        #expect(aliveAfterwards.entries == [1])
        #expect(registry.observationCount == 0)
        try lives.waitUntilNoneIsLeft()
    }

    @Test("P10 Dropped on one thread while its callback runs on another, whose captures live on")
    func duringACallbackElsewhere() throws {
        let registry = ObserverRegistry<Int>()
        let lives = Lives()
        let entered = Signal("the callback")
        let release = Signal("the callback's release")
        let token = Slot<ObservationToken>()
        do {
            let life = lives.make()
            token.put(
                registry.observe { _ in
                    entered.happen()
                    release.hold()
                    life.touch()
                }
            )
        }
        let ended = Counter()
        token.value?.onEnd { _ in ended.increment() }
        let notifier = TestThread { registry.notify(1) }
        try entered.wait()
        token.clear()
        #expect(registry.observationCount == 0)
        #expect(ConcurrentObserveDiagnostics.drain(deadline: .now + glance) == .timedOut)
        #expect(lives.alive == 1)
        #expect(ended.value == 0)
        release.happen()
        try notifier.join()
        try lives.waitUntilNoneIsLeft()
    }

    @Test("P10 Sets and arrays keep tokens; emptying them ends the observations")
    func collections() {
        let registry = ObserverRegistry<Int>()
        let received = Counter()
        var set: Set<ObservationToken> = []
        var array: [ObservationToken] = []
        registry.observe { _ in received.increment() }.store(in: &set)
        registry.observe { _ in received.increment() }.store(in: &set)
        registry.observe { _ in received.increment() }.store(in: &array)
        set.first?.store(in: &set)
        #expect(set.count == 2)
        registry.notify(1)
        #expect(received.value == 3)
        set.removeAll()
        #expect(registry.observationCount == 1)
        registry.notify(2)
        #expect(received.value == 4)
        array.removeAll()
        #expect(registry.observationCount == 0)
    }

    @Test("P10 A handle does not keep the observation going, and outlives it")
    func handles() {
        let registry = ObserverRegistry<Int>()
        let handles = Slot<ObservationHandle>()
        let token = Slot(registry.observe { (_: Int, observation: ObservationHandle) in handles.put(observation) })
        registry.notify(1)
        #expect(handles.value?.isActive == true)
        token.clear()
        #expect(registry.observationCount == 0)
        #expect(handles.value?.isActive == false)
        handles.value?.cancel()
        #expect(registry.observationCount == 0)
    }

    @Test("P10 A kept handle ends the observation from any thread")
    func keptHandle() throws {
        let registry = ObserverRegistry<Int>()
        let handles = Slot<ObservationHandle>()
        let token = registry.observe { (_: Int, observation: ObservationHandle) in handles.put(observation) }
        registry.notify(1)
        try onNewThread { handles.value?.cancel() }
        #expect(!token.isActive)
        #expect(registry.observationCount == 0)
    }
}

/// A sum to which many closures add.
private final class Sum: Sendable {
    private let sum = Atomic<Int>(0)

    // Relaxed, all: one thread uses it.
    func add(_ number: Int) { sum.add(number, ordering: .relaxed) }
    func clear() { sum.store(0, ordering: .relaxed) }
    var value: Int { sum.load(ordering: .relaxed) }
}
