// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import ConcurrentObserveTesting
import Testing

extension Promises {
    @Suite("A manual clock", .timeLimit(.minutes(1)), .leavesNothingBehind)
    struct ManualClockTests {}
}

extension Promises.ManualClockTests {
    @Test("Stands still until it is advanced, and wakes who is due")
    func advance() async throws {
        let (clock, woken) = (ManualClock(), ObserverRegistry<Int>())
        let recording = woken.record()
        let tasks = [30, 10, 20].map { seconds in
            Task {
                try await clock.sleep(for: .seconds(seconds))
                woken.notify(seconds)
            }
        }
        try await clock.whenSleeping(3)
        clock.advance(by: .seconds(9))
        #expect(clock.sleepers == 3)
        clock.advance(by: .seconds(1))
        try await recording.expect([10])
        clock.advance(by: .seconds(10))
        try await recording.expect([20])
        clock.advance(by: .seconds(100))
        try await recording.expect([30])
        #expect(clock.now.offset == .seconds(120) && clock.sleeps == 3)
        for task in tasks { try await task.value }
    }

    @Test("A sleep until a moment that has passed returns at once; a cancelled one throws")
    func edges() async throws {
        let clock = ManualClock()
        clock.advance(by: .seconds(5))
        try await clock.sleep(until: .init(offset: .seconds(5)))
        let task = Task { try await clock.sleep(for: .seconds(1)) }
        try await clock.whenSleeping()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(clock.sleepers == 0)
        let cancelled = Task {
            unsafe withUnsafeCurrentTask { task in unsafe task?.cancel() }
            try await clock.sleep(for: .seconds(1))
        }
        await #expect(throws: CancellationError.self) { try await cancelled.value }
    }

    @Test("Waiting for a sleep ends with it, although the sleep has ended since")
    func endedSleep() async throws {
        let clock = ManualClock()
        let sleeping = Task {
            while !Task.isCancelled {
                let sleep = Task { try await clock.sleep(for: .seconds(1)) }
                while clock.sleepers == 0 { await Task.yield() }
                sleep.cancel()
                _ = await sleep.result
            }
        }
        for _ in 0..<100 { try await clock.whenSleeping() }
        sleeping.cancel()
        await sleeping.value
    }

    @Test("Measures the timeout of a first value")
    func first() async throws {
        let (clock, speed) = (ManualClock(), Observed(0))
        let task = Task { try await speed.first(timeout: .seconds(60), clock: clock) { $0 > 100 } }
        try await clock.whenSleeping()
        clock.advance(by: .seconds(60))
        await #expect(throws: ObservationTimeout<Int>.self) { try await task.value }
    }

    @Test("Eight threads sleep, cancel and advance: each sleep returns once")
    func race() async throws {
        let (clock, count) = (ManualClock(), Counter())
        await withTaskGroup { group in
            for number in 0..<400 {
                group.addTask {
                    let task = Task { try await clock.sleep(for: .seconds(1)) }
                    if number % 3 == 0 { task.cancel() }
                    clock.advance(by: .milliseconds(100))
                    _ = await task.result
                    count.increment()
                }
            }
            group.addTask {
                while count.value < 400 {
                    clock.advance(by: .seconds(1))
                    await Task.yield()
                }
            }
        }
        #expect(count.value == 400 && clock.sleepers == 0)
    }

    @Test("A sleep that does not come is an issue")
    func noSleep() async throws {
        let issues = try await recordedIssues {
            try await ManualClock().whenSleeping(2, within: .milliseconds(10))
        }
        #expect(issues.map(\.text) == ["0 of 2 tasks sleep after 0.01 seconds"])
    }
}
