// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import ConcurrentObserveTesting
import Dispatch
import Testing

extension Promises {
    @Suite("A recording", .timeLimit(.minutes(1)), .leavesNothingBehind)
    struct RecordingTests {}
}

extension Promises.RecordingTests {
    private final class Car: ConcurrentObservable {
        let mileage = Observed(0)
    }

    @Test("Records the changes of everything observable, in order")
    func kinds() async throws {
        let (a, b, car) = (Observed(0), Observed("x"), Car())
        let derived = a.map { $0 * 10 }
        let registry = ObserverRegistry<String>(label: "events")
        let (values, path, results) = (a.record(), car.property(\.mileage).record(), derived.record())
        let (pairs, events) = (Group(a, b).record(options: .initial), registry.record())
        let (sequence, initial) = (a.values().record(), a.record(options: .initial))
        a.value = 1
        a.value = 2
        car.mileage.value = 7
        registry.notify("hello")
        try await values.expect([1, 2])
        try await path.expect([7])
        try await results.expect([10, 20])
        try await pairs.expect([(0, "x"), (1, "x"), (2, "x")], by: { $0.new == $1 })
        try await events.expect(["hello"])
        try await sequence.expect([1, 2])
        try await initial.expect([Change(reason: .initial, old: nil, new: 0, version: 0)])
        let next = try await initial.next()
        #expect(next.new == 1 && next.old == 0)
        initial.ignoreRest()
        try values.expectNoEvents()
    }

    @Test("Waits for deliveries on other threads")
    func deliveries() async throws {
        let property = Observed(0)
        let recordings = [
            property.record(), property.record(delivery: .serial()),
            property.record(delivery: .queue(DispatchQueue(label: "recording"))),
        ]
        Task.detached { for number in 1...100 { property.value = number } }
        for recording in recordings { try await recording.expect(Array(1...100)) }
        #expect(recordings[2].token?.deliveryCounts?.received == 100)
    }

    @Test("Eight threads change the recorded sources: every change is there, once")
    func race() async throws {
        let (property, registry) = (Observed(0), ObserverRegistry<Int>())
        let (inline, serial, events) = (property.record(), property.record(delivery: .serial()), registry.record())
        try onEightThreads { thread in
            for number in 0..<1_000 {
                property.modify { $0 += 1 }
                registry.notify(thread * 1_000 + number)
            }
        }
        try await serial.expect(Array(1...8_000))
        #expect(inline.unreadEvents.map(\.version).sorted() == Array(1...8_000))
        #expect(events.unreadEvents.sorted() == Array(0..<8_000))
        inline.ignoreRest()
        events.ignoreRest()
    }

    @Test("Eight threads observe and release while others change: nothing is left")
    func churn() async throws {
        let property = Observed(0)
        try onEightThreads { _ in
            for _ in 0..<300 {
                let recording = property.record()
                property.modify { $0 += 1 }
                recording.ignoreRest()
            }
        }
        #expect(property.observationCount == 0)
    }

    @Test("A difference names missing and surplus events, line by line, at the call")
    func difference() async throws {
        let line = #_sourceLocation.line + 5
        let issues = try await recordedIssues {
            let property = Observed(0)
            let recording = property.record()
            for number in [1, 7, 3] { property.value = number }
            try await recording.expect([1, 2, 3])
        }
        #expect(issues.count == 1)
        #expect(issues.first?.sourceLocation?.line == line)
        #expect(
            issues.first?.text == """
                - expected, + received:
                  1  (valueChanged, old 0, version 1)
                - 2
                + 7  (valueChanged, old 1, version 2)
                  3  (valueChanged, old 7, version 3)
                """
        )
    }

    @Test("Long lists are shown where they differ")
    func longDifference() async throws {
        let issues = try await recordedIssues {
            let registry = ObserverRegistry<Int>()
            let recording = registry.record()
            for number in 1...5_000 where number != 2_500 { registry.notify(number) }
            registry.notify(5_001)
            try await recording.expect(Array(1...5_000))
        }
        let lines = issues.first?.text.split(separator: "\n") ?? []
        #expect(lines.contains("- 2500") && lines.contains("+ 5001"))
        #expect(lines.contains("  … 2493 more as expected"))
    }

    @Test("A missing event is an issue at the limit, which any clock measures")
    func limit() async throws {
        let clock = ManualClock()
        let property = Observed(0)
        async let issues = recordedIssues {
            let recording = property.record()
            property.value = 1
            try await recording.expect([1, 2], within: .seconds(60), clock: clock)
        }
        try await clock.whenSleeping()
        clock.advance(by: .seconds(60))
        #expect(
            try await issues.first?.text == """
                - expected, + received:
                  1  (valueChanged, old 0, version 1)
                - 2
                no event came within 60.0 seconds
                """
        )
    }

    @Test("The end of the source ends a wait at once, and can be expected")
    func end() async throws {
        let issues = try await recordedIssues {
            var property: Observed<Int>? = Observed(0)
            let recording = property!.record()
            property = nil
            try await recording.next(within: .seconds(100))
        }
        #expect(issues.first?.text == "no event comes any more: the observation has ended, sourceDeleted")
        let registry = ObserverRegistry<Int>()
        let (events, sequence) = (registry.record(), registry.events().record())
        registry.cancelAllObservations()
        #expect(try await events.expectEnd() == .cancelled)
        #expect(try await sequence.expectEnd() == nil)
    }

    @Test("Events that are left are an issue where the recording was made")
    func left() async throws {
        let line = #_sourceLocation.line + 3
        let issues = try await recordedIssues {
            let property = Observed(0)
            let recording = property.record()
            for number in 1...3 { property.value = number }
            try await recording.expect([1])
        }
        #expect(issues.map { $0.sourceLocation?.line } == [line])
        #expect(
            issues.first?.text == """
                2 events were delivered and not expected:
                + 2  (valueChanged, old 1, version 2)
                + 3  (valueChanged, old 2, version 3)
                """
        )
        let unexpected = try await recordedIssues {
            let registry = ObserverRegistry<Int>()
            let recording = registry.record()
            registry.notify(5)
            try recording.expectNoEvents()
        }
        #expect(unexpected.map(\.text) == ["delivered, and not expected:\n+ 5"])
    }

    @Test("A cancelled task waits no longer")
    func cancellation() async throws {
        let (property, clock) = (Observed(0), ManualClock())
        let task = Task {
            let recording = property.record()
            try await recording.next(clock: clock)
        }
        try await clock.whenSleeping()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(clock.sleepers == 0)
    }
}
