// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import ConcurrentObserveTesting
import Testing

extension Promises {
    @Suite("P8 P11 P12 The end of a wait for the first value", .timeLimit(.minutes(2)))
    struct P04FirstEndTests {}
}

extension Promises.P04FirstEndTests {
    private static let timeouts = [nil, Duration.seconds(60)]

    @Test("P8 A task that is cancelled before it waits looks at nothing", arguments: Origin.allCases, timeouts)
    func cancelledBefore(origin: Origin, timeout: Duration?) async throws {
        let stage = Stage(origin)
        let waited = Waited(for: 0) { accepts in
            unsafe withUnsafeCurrentTask { task in unsafe task!.cancel() }
            return try await Self.wait(for: stage, timeout, accepts)
        }
        #expect(await waited.outcome == .cancelled)
        #expect(waited.asked == [])
        #expect(stage.observationCount == 0)
    }

    private static func wait(
        for stage: Stage,
        _ timeout: Duration?,
        _ accepts: (Int) throws -> Bool
    ) async throws -> Int {
        if let registry = stage.registry.value {
            guard let timeout else { return try await registry.first(where: accepts) }
            return try await registry.first(timeout: timeout, where: accepts)
        }
        guard let timeout else { return try await stage.observed.first(where: accepts) }
        return try await stage.observed.first(timeout: timeout, where: accepts)
    }

    @Test("P8 Cancelling the task ends the wait at once, and the observation", arguments: Origin.allCases, timeouts)
    func cancelled(origin: Origin, timeout: Duration?) async throws {
        let (stage, clock) = (Stage(origin), ManualClock())
        let waited = Waited(for: 1, of: stage, timeout: timeout, clock: clock)
        try await waited.begins(stage)
        waited.cancel()
        #expect(await waited.outcome == .cancelled)
        #expect(stage.observationCount == 0)
        #expect(clock.sleepers == 0)
        try Process.settle()
    }

    @Test("P8 Cancelling all observations ends the wait with that reason", arguments: Origin.allCases, timeouts)
    func removed(origin: Origin, timeout: Duration?) async throws {
        let stage = Stage(origin)
        let waited = Waited(for: 1, of: stage, timeout: timeout)
        try await waited.begins(stage)
        stage.cancelAll()
        #expect(await waited.outcome == .ended(.cancelled))
        try Process.settle()
    }

    @Test("P11 P12 A wait does not keep its source, whose death ends it", arguments: Origin.allCases, timeouts)
    func death(origin: Origin, timeout: Duration?) async throws {
        let stage = Stage(origin)
        let waited = Waited(for: 2, of: stage, timeout: timeout)
        try await waited.begins(stage)
        stage.send(1)
        try await waited.isAsked(origin == .registry ? 1 : 2)
        let isAlive = stage.isAlive
        stage.die()
        #expect(!isAlive())
        #expect(await waited.outcome == .ended(.sourceDeleted))
        try Process.settle()
    }

    @Test("P12 A group's wait ends with a member", arguments: timeouts)
    func member(timeout: Duration?) async throws {
        let (first, second) = (Observed(0), Slot(Observed(0)))
        let waited = Waited(for: 3) { [weak second = second.value!] accepts in
            let sum: ((Int, Int)) throws -> Bool = { try accepts($0.0 + $0.1) }
            // No variable: that would keep the members.
            guard let timeout else { return try await Group(first, second!).first(where: sum).0 }
            return try await Group(first, second!).first(timeout: timeout, where: sum).0
        }
        try await waited.isAsked(1)
        second.clear()
        #expect(await waited.outcome == .ended(.sourceDeleted))
        try await eventuallyAsync("the end of the observation") { first.observationCount == 0 }
    }

    @Test("P11 A wait does not keep the referent of a weak property", arguments: [false, true], timeouts)
    func referent(isPath: Bool, timeout: Duration?) async throws {
        let (team, isAsked) = (Team(), Counter())
        let referent = Slot(Referent("lead"))
        team.lead.value = referent.value
        let accepts: @Sendable (Referent?) -> Bool = { found in
            isAsked.increment()
            return found == nil
        }
        let task = Task.detached {
            let found: Referent? =
                switch (isPath, timeout) {
                case (false, nil): try await team.lead.first(where: accepts)
                case (false, let timeout?): try await team.lead.first(timeout: timeout, where: accepts)
                case (true, nil): try await team.property(\.lead).first(where: accepts)
                case (true, let timeout?):
                    try await team.property(\.lead).first(timeout: timeout, where: accepts)
                }
            return found == nil
        }
        try await eventuallyAsync("the question") { isAsked.value == 1 }
        let weak = Weak(referent.value!)
        referent.clear()
        #expect(weak.object == nil)
        #expect(try await task.value)
        try Process.settle()
    }

    @Test(
        "P11 A timeout's last value of a weak property is the referent, or nil if that is gone",
        arguments: [false, true]
    )
    func lastReferent(dies: Bool) async throws {
        let (lead, clock) = (WeakObserved<Referent>(), ManualClock())
        let referent = Slot(Referent("lead"))
        lead.value = referent.value
        let task = Task.detached {
            do {
                try await lead.first(timeout: .seconds(60), clock: clock) { _ in false }
                return "found"
            } catch let error as ObservationTimeout<Referent?> {
                return error.lastValue!.map(\.description) ?? "nil"
            }
        }
        try await clock.whenSleeping()
        if dies { referent.clear() }
        clock.advance(by: .seconds(60))
        #expect(try await task.value == (dies ? "nil" : "lead"))
        try Process.settle()
    }

    @Test(
        "P8 P12 A value, a cancellation, the timeout and the death race: one outcome, and nothing is left",
        arguments: Origin.allCases
    )
    func race(origin: Origin) async throws {
        var outcomes: [Waited.Outcome] = []
        for round in 0..<400 {
            let (stage, clock) = (Stage(origin), ManualClock())
            let waited = Waited(for: 1, of: stage, timeout: .seconds(1), clock: clock)
            if round % 4 != 0 { try await clock.whenSleeping() }
            try onThreads(4) { thread in
                switch (thread + round) % 4 {
                case 0: waited.cancel()
                case 1: clock.advance(by: .seconds(1))
                case 2: stage.sendIfAlive(1)
                // While the task has not begun, it needs the stage.
                default: if round % 4 != 0 { stage.die() }
                }
            }
            outcomes.append(await waited.outcome)
            #expect(clock.sleepers == 0)
        }
        for outcome in outcomes {
            let isPossible =
                switch outcome {
                case .value(1), .timeout(nil), .timeout(0), .cancelled, .ended(.sourceDeleted): true
                default: false
                }
            #expect(isPossible, "\(outcome)")
        }
        try Process.settle()
    }
}

private final class Team: ConcurrentObservable {
    let lead = WeakObserved<Referent>()
}

extension Stage {
    fileprivate func sendIfAlive(_ number: Int) {
        property.value?.value = number
        car.value?.setPressure(number)
        registry.value?.notify(number)
    }
}
