// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Synchronization
import Testing

extension Promises {
    @Suite("P4 P5 The first value that is accepted", .timeLimit(.minutes(2)))
    struct P04FirstTests {}
}

// MARK: - What is offered

extension Promises.P04FirstTests {
    @Test(
        "P4 The present value of anything is the first that is looked at",
        arguments: ObservableKind.properties,
        [nil, Duration.zero, .seconds(600)]
    )
    func present(kind: ObservableKind, timeout: Duration?) async throws {
        let (thing, use) = (ObservableThing(kind), WaitingUse(number: 7, timeout: timeout))
        thing.send(7)
        _ = thing.with(use)
        let waited = use.waited.take()!
        #expect(await waited.outcome == .value(7))
        #expect(waited.asked == [7])
        #expect(thing.observationCounts.allSatisfy { $0 == 0 })
    }

    @Test(
        "P4 Each change of anything after it is looked at, up to the one that is accepted",
        arguments: ObservableKind.allCases,
        [nil, Duration.seconds(600)]
    )
    func later(kind: ObservableKind, timeout: Duration?) async throws {
        let (thing, use) = (ObservableThing(kind), WaitingUse(number: 3, timeout: timeout))
        _ = thing.with(use)
        let waited = use.waited.take()!
        // While a list begins to be observed, several changes may become one: the first question
        // comes after that.
        if kind == .registry {
            try await eventuallyAsync("the observation") { thing.observationCounts.allSatisfy { $0 == 1 } }
        } else {
            try await waited.isAsked(1)
        }
        for number in 1...4 { thing.send(number) }
        #expect(await waited.outcome == .value(3))
        #expect(waited.asked == (kind == .registry ? [1, 2, 3] : [0, 1, 2, 3]))
        #expect(thing.observationCounts.allSatisfy { $0 == 0 })
    }

    @Test("P4 A derived value, which nothing else keeps", arguments: DerivedKind.allCases)
    func derived(kind: DerivedKind) async throws {
        let lives = Lives()
        do {
            let sources = DerivedSources(lives)
            let waited = kind.observe(sources) { property in Self.wait(for: 70, of: property) }
            try await waited.isAsked(1)
            sources.set(7)
            #expect(await waited.outcome == .value(70))
            #expect(waited.asked.first == 0)
        }
        try Process.settle()
        try lives.waitUntilNoneIsLeft()
    }

    private static func wait(for number: Int, of property: some ObservableProperty<Int>) -> Waited {
        Waited(for: number) { accepts in try await property.first(where: accepts) }
    }

    @Test("P4 Every change of several threads is looked at once, in order")
    func everyChange() async throws {
        let property = Observed(0)
        let waited = Waited(for: 4_000) { accepts in try await property.first(where: accepts) }
        try await waited.isAsked(1)
        try onThreads(4) { _ in for _ in 0..<1_000 { property.modify { $0 += 1 } } }
        #expect(await waited.outcome == .value(4_000))
        #expect(waited.asked == Array(0...4_000))
    }

    @Test(
        "P4 A change that races with the call is not missed",
        arguments: Origin.versioned,
        [nil, Duration.seconds(600)]
    )
    func race(origin: Origin, timeout: Duration?) async throws {
        for _ in 0..<500 {
            let stage = Stage(origin)
            let waited = Waited(for: 1, of: stage, timeout: timeout)
            let setter = TestThread { stage.send(1) }
            #expect(await waited.outcome == .value(1))
            try setter.join()
        }
        try Process.settle()
    }

    @Test("P4 Several tasks wait for different values of one property")
    func several() async throws {
        let property = Observed(0)
        let all = (1...20).map { number in
            Waited(for: number) { accepts in try await property.first(where: accepts) }
        }
        try await eventuallyAsync("the observations") { property.observationCount == 20 }
        for number in 1...20 { property.value = number }
        for (index, waited) in all.enumerated() { #expect(await waited.outcome == .value(index + 1)) }
        #expect(property.observationCount == 0)
    }
}

// MARK: - The predicate

extension Promises.P04FirstTests {
    @Test(
        "P5 The predicate takes a lock that setters hold, and observes, reads and sets the property",
        arguments: [false, true]
    )
    func reentrant(isTimed: Bool) async throws {
        let property = Observed(0)
        let lock = Mutex(0)
        let setters = Hammer(threads: 2) { lock.withLock { _ in property.modify { $0 += 1 } } }
        try setters.waitUntilWarm()
        let accepts: @Sendable (Int) -> Bool = { number in
            lock.withLock { $0 = number }
            let token = property.observeValues { _ in }
            property.modify { $0 += 1 }
            token.cancel()
            return property.value > number && number > 2_000
        }
        let found =
            if isTimed {
                try await property.first(timeout: .seconds(600), where: accepts)
            } else {
                try await property.first(where: accepts)
            }
        #expect(found > 2_000)
        try setters.stop()
        #expect(property.observationCount == 0)
        try Process.settle()
    }

    @Test("P5 The predicate runs on the actor that waits, which it need not leave")
    @MainActor
    func isolation() async throws {
        let property = Observed(0)
        var asked: [Int] = []
        let setter = Task.detached {
            try await eventuallyAsync("the observation") { property.observationCount == 1 }
            property.value = 1
        }
        try await property.first { number in
            MainActor.preconditionIsolated()
            asked.append(number)
            return number == 1
        }
        try await setter.value
        try await property.first(timeout: .seconds(600)) { number in
            MainActor.preconditionIsolated()
            asked.append(number)
            return true
        }
        #expect(asked == [0, 1, 1])
    }

    @Test(
        "P8 What the predicate throws is thrown, and the observation has ended",
        arguments: Origin.allCases,
        [nil, Duration.seconds(600)]
    )
    func refusal(origin: Origin, timeout: Duration?) async throws {
        let stage = Stage(origin)
        let waited = Waited(for: 1, of: stage, timeout: timeout)
        try await waited.begins(stage)
        stage.send(-1)
        #expect(await waited.outcome == .refused)
        #expect(stage.observationCount == 0)
        try Process.settle()
    }
}
