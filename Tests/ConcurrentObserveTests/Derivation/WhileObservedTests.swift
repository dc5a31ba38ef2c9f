// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import ConcurrentObserveTesting
import Dispatch
import Glibc
import Synchronization
import Testing

extension Promises {
    @Suite("A source that runs while it is observed", .leavesNothingBehind, .timeLimit(.minutes(2)))
    struct WhileObservedTests {}
}

/// A clock that wakes tasks late: only once `wakes` is true.
private struct LateClock: Clock {
    struct Instant: InstantProtocol {
        let time: Duration
        func advanced(by duration: Duration) -> Instant { Instant(time: time + duration) }
        func duration(to other: Instant) -> Duration { other.time - time }
        static func < (left: Instant, right: Instant) -> Bool { left.time < right.time }
    }

    let time = Observed(Duration.zero)
    let sleepers = Observed(0)
    let wakes = Observed(false)
    var now: Instant { Instant(time: time.value) }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        sleepers.modify { $0 += 1 }
        try await wakes.first { $0 }
    }
}

extension Promises.WhileObservedTests {
    /// Counts the runs that have begun, and those that are going on.
    private final class Runs: Sendable {
        let begun = Observed(0)
        let going = Observed(0)
        let most = Atomic(0)

        /// Waits until its task is cancelled. Then runs for some time, as functions do.
        func run(delay: Int = 0) async {
            begun.modify { $0 += 1 }
            going.modify { going in
                going += 1
                // Before a test can see the new number.
                most.max(going, ordering: .relaxed)
            }
            try? await Task.sleep(for: .seconds(1_000))
            for _ in 0..<delay { await Task.yield() }
            going.modify { $0 -= 1 }
        }
    }

    @Test("A run begins with the first observer, and is cancelled after the last")
    func firstAndLast() async throws {
        let runs = Runs()
        let property = WhileObserved(0) { property in
            property.value = 7
            await runs.run()
        }
        try await Task.sleep(for: .milliseconds(20))
        #expect(runs.begun.value == 0 && property.value == 0)

        let first = property.record(options: .initial)
        try await first.expect([0, 7])
        let second = property.observe { _ in }
        #expect(try await property.first { $0 == 7 } == 7)
        try await runs.going.first(timeout: .seconds(20)) { $0 == 1 }
        await second.cancelAndWait()
        #expect(runs.going.value == 1)
        withExtendedLifetime(first) {}
        #expect(runs.begun.value == 1)
    }

    @Test("The next run begins after the last one has returned")
    func oneAtATime() async throws {
        let runs = Runs()
        let mayReturn = Observed(false)
        let isCancelled = Observed(false)
        let property = WhileObserved(0) { _ in
            await runs.run()
            isCancelled.value = true
            // In a task of its own, which is not cancelled.
            await Task { _ = try? await mayReturn.first { $0 } }.value
        }
        await property.observe { _ in }.cancelAndWait()
        try await isCancelled.first(timeout: .seconds(20)) { $0 }
        let token = property.observe { _ in }
        try await Task.sleep(for: .milliseconds(20))
        #expect(runs.begun.value == 1)
        mayReturn.value = true
        try await runs.begun.first(timeout: .seconds(20)) { $0 == 2 }
        withExtendedLifetime(token) {}
    }

    @Test("Within the grace time an observer finds the run that goes on")
    func grace() async throws {
        let runs = Runs()
        let clock = ManualClock()
        let property = WhileObserved(0, grace: .seconds(5), clock: clock) { _ in await runs.run() }
        var token: ObservationToken? = property.observe { _ in }
        try await runs.going.first(timeout: .seconds(20)) { $0 == 1 }
        for _ in 0..<3 {
            token = nil
            try await clock.whenSleeping()
            token = property.observe { _ in }
            clock.advance(by: .seconds(5))
        }
        #expect(runs.begun.value == 1 && runs.going.value == 1)
        token = nil
        try await clock.whenSleeping()
        clock.advance(by: .seconds(5))
        try await runs.going.first(timeout: .seconds(20)) { $0 == 0 }
        withExtendedLifetime(token) {}
    }

    @Test("The grace time begins when the last observation ends, also within another grace time")
    func graceWithinGrace() async throws {
        let (runs, clock) = (Runs(), ManualClock())
        let property = WhileObserved(0, grace: .seconds(5), clock: clock) { _ in await runs.run() }
        let ended = Observed(0)
        for count in 1...2 {
            property.observe { _ in }.onEnd { _ in ended.modify { $0 += 1 } }.cancel()
            try await ended.first(timeout: .seconds(20)) { $0 == count }
            try await runs.going.first(timeout: .seconds(20)) { $0 == 1 }
            try await clock.whenSleeping()
            clock.advance(by: .seconds(count == 1 ? 1 : 4))
        }
        try await clock.whenSleeping()
        #expect(runs.going.value == 1)
        clock.advance(by: .seconds(1))
        try await runs.going.first(timeout: .seconds(20)) { $0 == 0 }
    }

    @Test("An observer that comes after the grace time gets a run, even if its end is noticed late")
    func lateWakeup() async throws {
        let clock = LateClock()
        let runs = Observed(0)
        let property = WhileObserved(0, grace: .seconds(5), clock: clock) { _ in runs.modify { $0 += 1 } }
        let first = property.observe { _ in }
        try await runs.first(timeout: .seconds(20)) { $0 == 1 }
        await first.cancelAndWait()
        try await clock.sleepers.first(timeout: .seconds(20)) { $0 == 1 }
        clock.time.value = .seconds(6)
        let second = property.observe { _ in }
        clock.wakes.value = true
        try await runs.first(timeout: .seconds(20)) { $0 == 2 }
        withExtendedLifetime(second) {}
    }

    @Test("A run whose grace time is over ends, also if an observer came and went before that was noticed")
    func lateWakeupWithoutObservers() async throws {
        let (clock, runs) = (LateClock(), Runs())
        let property = WhileObserved(0, grace: .seconds(5), clock: clock) { _ in await runs.run() }
        let first = property.observe { _ in }
        try await runs.going.first(timeout: .seconds(20)) { $0 == 1 }
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                let (begun, mayEnd, hasEnded) = (Counter(), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
                // As many as there are threads, and more: the task of the runs cannot go on.
                for _ in 0..<64 {
                    Task.detached {
                        begun.increment()
                        mayEnd.wait()
                    }
                }
                while begun.value == 0 { usleep(1_000) }
                usleep(20_000)
                for token in [first, nil] {
                    let token = token ?? property.observe { _ in }
                    token.onEnd { _ in hasEnded.signal() }.cancel()
                    hasEnded.wait()
                    clock.time.value = .seconds(6)
                }
                for _ in 0..<64 { mayEnd.signal() }
                continuation.resume()
            }
        }
        // The clock does not wake who waits for the second grace time.
        try await runs.going.first(timeout: .seconds(20)) { $0 == 0 }
    }

    @Test("A function that returns is called again only when the property was unobserved")
    func returnsEarly() async throws {
        let begun = Observed(0)
        let property = WhileObserved(0) { property in
            begun.modify { $0 += 1 }
            property.value = begun.value
        }
        var tokens = [property.observe { _ in }]
        try await begun.first(timeout: .seconds(20)) { $0 == 1 }
        tokens.append(property.observe { _ in })
        try await Task.sleep(for: .milliseconds(20))
        #expect(begun.value == 1)
        tokens = []
        try await whenQuiet()
        tokens.append(property.observe { _ in })
        try await property.first(timeout: .seconds(20)) { $0 == 2 }
        withExtendedLifetime(tokens) {}
    }

    @Test("When the object is released its run is cancelled, and observations end (P12)")
    func released() async throws {
        let runs = Runs()
        let ends = Observed<[ObservationEnd]>([])
        var property: WhileObserved<Int>? = WhileObserved(0, grace: .seconds(1_000)) { _ in await runs.run() }
        let token = property!.observe { _ in }.onEnd { end in ends.modify { $0.append(end) } }
        try await runs.going.first(timeout: .seconds(20)) { $0 == 1 }
        property = nil
        try await runs.going.first(timeout: .seconds(20)) { $0 == 0 }
        try await ends.first(timeout: .seconds(20)) { $0 == [.sourceDeleted] }
        withExtendedLifetime(token) {}
    }

    @Test("It may be observed in the body of another property's modify (P5)")
    func insideBody() async throws {
        let runs = Runs()
        let property = WhileObserved(0) { _ in await runs.run() }
        let token = Observed(0).modify { _ in property.observe { _ in } }
        try await runs.going.first(timeout: .seconds(20)) { $0 == 1 }
        withExtendedLifetime(token) {}
    }

    @Test("A negative grace time traps with the remedy")
    func negativeGrace() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = WhileObserved(0, grace: .seconds(-1)) { _ in }
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("Use .zero or more."))
    }

    @Test("Whatever observers come and go, one run goes on while there is one, and none without")
    func races() async throws {
        for round in 0..<100 {
            let runs = Runs()
            let property = WhileObserved(0) { property in
                property.value += 1
                await runs.run(delay: round % 5)
            }
            await withTaskGroup { group in
                for _ in 0..<3 {
                    group.addTask {
                        for step in 0..<20 {
                            let token = property.observe { _ in }
                            for _ in 0..<(step * round % 7) { await Task.yield() }
                            if step.isMultiple(of: 2) { await token.cancelAndWait() }
                        }
                    }
                }
            }
            try await runs.going.first(timeout: .seconds(20)) { $0 == 0 }
            let token = property.observe { _ in }
            try await runs.going.first(timeout: .seconds(20)) { $0 == 1 }
            #expect(runs.most.load(ordering: .relaxed) == 1)
            withExtendedLifetime(token) {}
        }
    }
}
