// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import ConcurrentObserveTesting
import Testing

extension Promises {
    @Suite("P4 P8 The first value before a timeout", .timeLimit(.minutes(2)))
    struct P04FirstTimeoutTests {}
}

extension Promises.P04FirstTimeoutTests {
    @Test("P4 A timeout of zero, or one that is over, looks at the present value", arguments: Origin.allCases, [0, -5])
    func over(origin: Origin, seconds: Int) async throws {
        let stage = Stage(origin)
        let waited = Waited(for: 1, of: stage, timeout: .seconds(seconds))
        #expect(await waited.outcome == .timeout(stage.number))
        #expect(waited.asked == (origin == .registry ? [] : [0]))
        #expect(stage.observationCount == 0)
        try Process.settle()
    }

    @Test(
        "P8 When the time is over the error has the last value, and the observation has ended",
        arguments: Origin.allCases
    )
    func expiry(origin: Origin) async throws {
        let (stage, clock) = (Stage(origin), ManualClock())
        let waited = Waited(for: 3, of: stage, timeout: .seconds(60), clock: clock)
        try await clock.whenSleeping()
        for number in 1...2 { stage.send(number) }
        clock.advance(by: .seconds(59))
        try await waited.isAsked(2)
        #expect(clock.sleepers == 1)
        clock.advance(by: .seconds(1))
        #expect(await waited.outcome == .timeout(2))
        #expect(stage.observationCount == 0)
        try Process.settle()
    }

    @Test("P4 A value that comes before the timeout is looked at, though the task is late", arguments: Origin.allCases)
    func late(origin: Origin) async throws {
        let (stage, clock) = (Stage(origin), ManualClock())
        let (mayGoOn, isAsked) = (Signal("the end of the time"), Signal("a question"))
        let listener = Listener()
        let task = Task.detached {
            try await listener.waitForSeven(of: stage, clock) { number in
                guard number == 1 else { return }
                isAsked.happen()
                mayGoOn.hold()
            }
        }
        try await clock.whenSleeping()
        stage.send(1)
        try await isAsked.arrival()
        stage.send(7)
        clock.advance(by: .seconds(60))
        // The timer has nothing else to do than to end the wait.
        try await Task.sleep(for: glance)
        stage.send(8)
        mayGoOn.happen()
        #expect(try await task.value == 7)
        #expect(stage.observationCount == 0)
        try Process.settle()
    }

    @Test("P4 The timer ends with the wait, and does not begin for the present value")
    func timer() async throws {
        let (property, clock) = (Observed(0), ManualClock())
        try await property.first(timeout: .seconds(60), clock: clock) { $0 == 0 }
        #expect(clock.sleeps == 0)
        let waited = Waited(for: 1) { try await property.first(timeout: .seconds(60), clock: clock, where: $0) }
        try await clock.whenSleeping()
        property.value = 1
        #expect(await waited.outcome == .value(1))
        #expect(clock.sleepers == 0)
    }

    @Test("P4 The longest timeout is as good as none; the shortest looks once")
    func extremes() async throws {
        let property = Observed(0)
        let wait = Task.immediate { try await property.first(timeout: .seconds(Int64.max)) { $0 == 1 } }
        property.value = 1
        #expect(try await wait.value == 1)
        for shortest in [Duration.seconds(Int64.min), Duration(attoseconds: .min)] {
            await #expect(throws: ObservationTimeout<Int>.self) {
                try await property.first(timeout: shortest) { $0 == 2 }
            }
        }
    }

    @Test("P4 The time that the predicate takes for the present value counts: what comes after it is not looked at")
    func slowPredicate() async throws {
        let (property, clock) = (Observed(0), ManualClock())
        let waited = Waited(for: 1) { accepts in
            try await property.first(timeout: .seconds(60), clock: clock) { number in
                clock.advance(by: .seconds(61))
                return try accepts(number)
            }
        }
        #expect(await waited.outcome == .timeout(0))
        #expect(clock.sleeps == 0)
    }

    @Test(
        "P8 P12 An end that comes before the call returns is thrown, also after the timeout",
        arguments: Origin.allCases,
        [ObservationEnd.cancelled, .sourceDeleted]
    )
    func endBeforeTimeout(origin: Origin, end: ObservationEnd) async throws {
        let (stage, clock) = (Stage(origin), ManualClock())
        let (mayGoOn, isAsked) = (Signal("the end of the time"), Signal("a question"))
        let waited = Waited(for: 7, of: stage, timeout: .seconds(60), clock: clock) { number in
            guard number == 1 else { return }
            isAsked.happen()
            mayGoOn.hold()
        }
        try await clock.whenSleeping()
        stage.send(1)
        try await isAsked.arrival()
        if end == .cancelled { stage.cancelAll() } else { stage.die() }
        clock.advance(by: .seconds(60))
        // The timer has nothing else to do than to end the wait.
        try await Task.sleep(for: glance)
        mayGoOn.happen()
        #expect(await waited.outcome == .ended(end))
        try Process.settle()
    }

    @Test(
        "P4 A clock that cannot sleep ends the wait, also if it cancels the task that sleeps",
        arguments: [false, true]
    )
    func brokenClock(cancels: Bool) async throws {
        let (property, clock) = (Observed(0), BrokenClock(cancels: cancels))
        let waited = Waited(for: 1) { try await property.first(timeout: .seconds(60), clock: clock, where: $0) }
        #expect(await waited.outcome == .timeout(0))
    }

    @Test("P4 The clocks of the standard library; the error says what was waited for")
    func clocks() async throws {
        let property = Observed("starting")
        let error = try await #require(throws: ObservationTimeout<String>.self) {
            try await property.first(timeout: .milliseconds(2)) { $0 == "ready" }
        }
        #expect(error.timeout == .milliseconds(2))
        #expect("\(error)" == "no value was accepted within 0.002 seconds; the last was starting")
        await #expect(throws: ObservationTimeout<String>.self) {
            try await property.first(timeout: .milliseconds(2), clock: SuspendingClock()) { $0 == "ready" }
        }
        let registry = ObserverRegistry<Int>()
        let registryError = try await #require(throws: ObservationTimeout<Int>.self) {
            try await registry.first(timeout: .zero) { _ in true }
        }
        #expect("\(registryError)" == "no value was accepted within 0.0 seconds; there was none")
    }
}

extension Listener {
    /// Waits on this actor, whose threads a predicate may block.
    fileprivate func waitForSeven(
        of stage: Stage,
        _ clock: ManualClock,
        _ ask: @Sendable (Int) -> Void
    ) async throws -> Int {
        let accepts: (Int) -> Bool = { number in
            self.preconditionIsolated()
            ask(number)
            return number == 7
        }
        if let registry = stage.registry.value {
            return try await registry.first(timeout: .seconds(60), clock: clock, where: accepts)
        }
        if let car = stage.car.value {
            return try await car.property(\.axle.wheel.pressure)
                .first(timeout: .seconds(60), clock: clock, where: accepts)
        }
        return try await stage.property.value!.first(timeout: .seconds(60), clock: clock, where: accepts)
    }
}
