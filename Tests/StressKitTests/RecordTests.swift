// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StressKit

extension Rounds.RecordTests {
    @Test("A crash within a scenario leaves files that say so")
    func provisional() throws {
        let written = Guarded<[Report]>([])
        let found = Guarded<Report?>(nil)
        let scenario = Scenario(name: "test", summary: "", invariants: ["P1.a"], windows: []) { _ in
            found.withLock { $0 = written.withLock(\.last) }
        }
        let plan = RunPlan.test([scenario], iterations: 1)
        let recorder = RunRecorder(plan) { report in written.withLock { $0.append(report) } }
        let exit = Runner(plan: plan, progress: .silent, recorder: recorder).run().exit
        let during = try #require(found.withLock { $0 })
        #expect(during.exitCode == StressExit.crash.rawValue)
        #expect(during.scenarios.map(\.verdict) == [.unfinished])
        let after = recorder.write(ending: exit)
        #expect(after.exitCode == 0)
        #expect(after.scenarios.map(\.verdict) == [.pass])
    }

    @Test("A violation carries the last events of the threads, the finder's most, oldest first")
    func events() throws {
        let violations = Violations(scenario: "test", seed: 9)
        let round = Round(
            scenario: Scenario(name: "test", summary: "", invariants: [], windows: []) { _ in },
            seed: 1,
            threads: 2,
            duration: .zero,
            perturbation: Perturbation([]),
            violations: violations
        )
        let workers = (0..<2).map { Worker(index: $0, round: round) }
        Roster.shared.enlist(workers)
        defer { Roster.shared.enlist([]) }
        workers[0].begin("zero")
        workers[1].begin("one")
        workers[1].note("callback", 1 << 40 | 3)
        workers[1].check(true, "P1.a", "")
        #expect(violations.summary.total == 0)
        workers[1].check(false, "P1.a", "found")
        workers[0].check(false, "P1.a", "found again")
        let (total, first) = violations.summary
        let violation = try #require(first.first)
        #expect(total == 2 && first.count == 1)
        #expect(violation.seed == 9 && violation.thread == 1 && violation.message == "found")
        #expect(violation.events.map(\.text) == ["zero 1", "one 1", "callback, closure 3 of thread 0"])
        #expect(violation.events.map(\.thread) == [0, 1, 1])
    }
}

@Suite("Event ring")
struct EventRingTests {
    @Test("The ring keeps the last events, in their order")
    func last() {
        let ring = EventRing()
        for number in 1...200 as ClosedRange<UInt64> { ring.note("event", number, at: number) }
        func numbers(_ count: Int) -> [UInt64] {
            var found: [UInt64] = []
            unsafe ring.forLast(count) { _, _, number in found.append(number) }
            return found
        }
        #expect(numbers(3) == [198, 199, 200])
        #expect(numbers(1_000) == Array(137...200))
    }
}

@Suite("Memory course")
struct MemoryCourseTests {
    /// Returns the memory course of a run of ten minutes.
    private func course(_ level: (Double) -> Double) -> MemoryCourse {
        var course = MemoryCourse("P16.flat", warmUpSeconds: 60)
        for second in stride(from: 0.0, through: 600, by: 15) {
            course.add(MemoryCourse.Point(seconds: second, residentBytes: Int(level(second) * 1_048_576)))
        }
        return course
    }

    @Test("Memory that grows by more than 4 MiB after the first minute is not flat; memory that fills at first is")
    func growth() throws {
        #expect(course { 80 + $0 / 60 }.hasGrown)
        #expect(!course { 80 + min($0, 50) }.hasGrown)
        #expect(!course { 80 + $0 / 600 }.hasGrown)
        let slope = try #require(course { 80 + $0 / 60 }.slope)
        #expect(abs(slope / 1_048_576 - 1) < 0.01)
    }

    @Test("Memory that is resident by chance at some looks is no growth, and hides none")
    func scatter() {
        let scatter: (Double) -> Double = { Int($0 / 15) % 3 == 0 ? 0 : 9 }
        #expect(!course { 80 + scatter($0) }.hasGrown)
        #expect(course { 80 + $0 / 60 + scatter($0) }.hasGrown)
    }

    @Test("A run that is too short to judge says so")
    func short() {
        var course = MemoryCourse("P16.flat", warmUpSeconds: 60)
        for second in 0..<70 {
            course.add(MemoryCourse.Point(seconds: Double(second) * 0.9, residentBytes: second << 24))
        }
        #expect(course.growth == nil && !course.hasGrown)
        #expect(course.text.contains("not judged"))
    }
}
