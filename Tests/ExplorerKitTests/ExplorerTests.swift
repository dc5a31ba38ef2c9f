// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ExplorerKit

/// Tests of the explorer on toys whose schedules are all known.
@Suite("Explorer", .serialized)
struct ExplorerTests {
    private let scheduler = ControlledScheduler()

    @Test(
        "All interleavings are run, each once",
        // A thread of n operations takes n + 1 steps: (3 + 2)! / (3! 2!), and so on.
        arguments: [([1, 1], 6), ([2, 1], 10), ([2, 2], 20), ([3, 2], 35), ([1, 1, 1], 90)]
    )
    func interleavings(operations: [Int], count: Int) throws {
        let order = Shared<[Int]>([])
        let seen = Shared<[[Int]]>([])
        let exploration = Exploration(.steps(operations) { order.value.append($0) }, on: scheduler)
        var schedules: [[Int]] = []
        exploration.betweenRuns = {
            seen.value.append(order.value)
            order.value = []
        }
        exploration.onStep = { step, taken in
            if step == 0 { schedules.append([]) }
            schedules[schedules.count - 1].append(taken.thread)
        }
        let result = try exploration.search(DepthFirst(bound: 8))
        #expect(result.runs == count)
        #expect(result.isComplete && result.finding == nil)
        // Every hundredth is run twice: there are fewer here.
        #expect(Set(schedules).count == count && schedules.count == count)
        // Only the orders of the operations: they, too, are all there.
        #expect(Set(seen.value).count == multinomial(operations))
    }

    @Test(
        "At most so many preemptions",
        // Two threads of n steps: 2 without a preemption, n - 1 places for one in either.
        arguments: [(0, 2), (1, 2 + 2 * 3), (8, 70)]
    )
    func bounds(bound: Int, count: Int) throws {
        #expect(try Exploration(.steps([3, 3]), on: scheduler).search(DepthFirst(bound: bound)).runs == count)
    }

    @Test("The number of schedules that are run is limited on request")
    func limit() throws {
        let result = try Exploration(.steps([3, 3]), on: scheduler).search(DepthFirst(bound: 8), limit: 7)
        #expect(result.runs == 7 && !result.isComplete)
    }

    @Test("A lost update is found with one preemption, not without, and replayed ten times of ten")
    func lostUpdate() throws {
        let exploration = Exploration(.lostUpdate(threads: 2), on: scheduler)
        #expect(try exploration.search(DepthFirst(bound: 0)).finding == nil)
        let finding = try #require(try exploration.search(DepthFirst(bound: 1)).finding)
        #expect(finding.failure.invariant == "toy.sum" && finding.preemptions == 1)
        for _ in 0..<10 {
            let repetition = Repetition(finding.schedule)
            #expect(exploration.run(repetition).finding?.failure.invariant == "toy.sum")
            #expect(!repetition.doesNotFit)
        }
    }

    @Test("A schedule of another program does not fit")
    func misfit() {
        let repetition = Repetition(Schedule([0, 0, 2, 1]))
        _ = Exploration(.steps([2, 2]), on: scheduler).run(repetition)
        #expect(repetition.doesNotFit)
    }

    @Test("Opposed locks: a deadlock with one preemption, none without")
    func deadlock() throws {
        let exploration = Exploration(.opposedLocks, on: scheduler)
        let calm = try exploration.search(DepthFirst(bound: 0))
        #expect(calm.finding == nil && calm.runs == 2)
        let finding = try #require(try exploration.search(DepthFirst(bound: 1)).finding)
        #expect(finding.failure.invariant == "progress.deadlock")
        #expect(finding.failure.message.contains("a (thread a) waits for 'lock'"))
        #expect(finding.failure.message.contains("b (thread b) waits for 'lock'"))
        #expect(scheduler.isBroken)
    }

    @Test("A wait that never ends is a livelock")
    func livelock() throws {
        let scheduler = ControlledScheduler(mostSteps: 500)
        let finding = try #require(try Exploration(.lostFlag, on: scheduler).search(DepthFirst(bound: 1)).finding)
        #expect(finding.failure.invariant == "progress.livelock")
    }

    @Test("A program that is not the same each time is the harness's fault")
    func divergence() {
        let runs = Shared(0)
        let program = Program(name: "fickle", threads: [["maybe"], ["step"]]) {
            runs.value += 1
            let isOdd = runs.value % 2 == 1
            return Program.Instance(threads: [[{ if isOdd { exploredStep("sometimes") } }], [{}]])
        }
        let exploration = Exploration(program, on: scheduler)
        #expect(throws: Exploration.Divergence.self) { try exploration.search(RandomWalk(seed: 1, runs: 1_000)) }
    }

    @Test("The captures of a started thread are destroyed before another thread runs")
    func captures() throws {
        final class Capture: Sendable {
            let states: Shared<[ScheduledThread.State]>
            init(_ states: Shared<[ScheduledThread.State]>) { self.states = states }
            deinit { states.value.append(ScheduledThread.current?.state ?? .paused) }
        }
        let states = Shared<[ScheduledThread.State]>([])
        try explore(.preemptions(1)) { run in
            run.thread("starts") {
                let capture = Capture(states)
                _ = ExploredThread.start { withExtendedLifetime(capture) { exploredStep("step") } }
            }
        }
        #expect(!states.value.isEmpty && states.value.allSatisfy { $0 == .ready })
    }

    @Test("Omitted operations are not run")
    func omissions() throws {
        let order = Shared<[Int]>([])
        let omissions = try #require(Omissions(text: "a0a1b1"))
        let exploration = Exploration(.steps([2, 2]) { order.value.append($0) }, omitting: omissions, on: scheduler)
        _ = exploration.run(Undisturbed())
        #expect(order.value == [1])
    }

    @Test("The next thread at every step")
    func roundRobin() throws {
        let schedule = Exploration(.steps([2, 2, 2]), on: scheduler).run(RoundRobin()).run.schedule
        #expect(schedule.steps == [0, 1, 2, 0, 1, 2, 0, 1, 2])
    }

    @Test("Random schedules are those of the seed, and reach every interleaving")
    func random() throws {
        func schedules(seed: UInt64) throws -> [[Int]] {
            var schedules: [[Int]] = []
            let exploration = Exploration(.steps([1, 1]), on: scheduler)
            exploration.onStep = { step, taken in
                if step == 0 { schedules.append([]) }
                schedules[schedules.count - 1].append(taken.thread)
            }
            #expect(try exploration.search(RandomWalk(seed: seed, runs: 99)).runs == 99)
            return schedules
        }
        #expect(try schedules(seed: 3) == schedules(seed: 3))
        #expect(try schedules(seed: 3) != schedules(seed: 4))
        #expect(Set(try schedules(seed: 3)).count == 6)
    }

    @Test("Random priorities find an ordering as often as their depth promises")
    func priorities() throws {
        // Depth 1 changes no priority: every thread runs to its end, in one of 3! orders.
        var orders: Set<[Int]> = []
        let calm = Exploration(.steps([2, 2, 2]), on: scheduler)
        var order: [Int] = []
        calm.onStep = { step, taken in order = (step == 0 ? [] : order) + [taken.thread] }
        calm.betweenRuns = { orders.insert(order) }
        #expect(try calm.search(PriorityWalk(depth: 1, seed: 1, runs: 99)).isComplete)
        #expect(orders.count == 6)
        for order in orders { #expect(Schedule(order).text.count == 6, "\(order)") }

        // A lost update takes depth 2: two threads, six steps, at least once in 2 * 6.
        let exploration = Exploration(.lostUpdate(threads: 2), on: scheduler)
        #expect(try exploration.search(PriorityWalk(depth: 1, seed: 1, runs: 500)).finding == nil)
        #expect(try exploration.search(PriorityWalk(depth: 2, seed: 1, runs: 500)).finding != nil)
    }

    @Test("A failure is shrunk: operations, threads, preemptions")
    func shrinking() throws {
        let program = Program.lostUpdate(threads: 3, additions: 2)
        let bound = 3
        func search(_ omissions: Omissions, _ bound: Int) -> Shrinker.Candidate? {
            let exploration = Exploration(program, omitting: omissions, on: scheduler)
            guard let finding = try? exploration.search(DepthFirst(bound: bound)).finding else { return nil }
            return Shrinker.Candidate(
                omissions: omissions,
                schedule: finding.schedule,
                preemptions: finding.preemptions,
                message: finding.failure.message
            )
        }
        let found = try #require(search(Omissions(), bound))
        let smallest = Shrinker(operations: program.threads.map(\.count), search: search).shrink(found, bound: bound)
        // Two additions in two threads, and one preemption: nothing less shows it.
        #expect(smallest.omissions.operations.count == 4)
        #expect(
            Set(smallest.schedule.steps.filter { step in smallest.schedule.steps.count { $0 == step } > 1 }).count == 2
        )
        #expect(smallest.preemptions == 1)
        #expect(smallest.message == "1 of 2")
    }

    @Test("A fault is a choice of the explorer: each is made once for one preemption, and replayed")
    func faults() throws {
        let refused = Shared<[Bool]>([])
        let exploration = Exploration(.asking(2, refused), on: scheduler)
        var seen: [[Bool]] = []
        exploration.betweenRuns = {
            seen.append(refused.value)
            refused.value = []
        }
        #expect(try exploration.search(DepthFirst(bound: 1)).isComplete)
        #expect(seen == [[false, false], [false, true], [true, false]])
        let schedule = Schedule([0, 0, toyFault.index, 0, 0])
        #expect(Schedule(text: schedule.text) == schedule && schedule.text == "a2x1a2")
        _ = exploration.run(Repetition(schedule))
        #expect(refused.value == [true, false])
    }

    @Test("Random schedules have each fault, one a schedule")
    func randomFaults() throws {
        let refused = Shared<[Bool]>([])
        let exploration = Exploration(.asking(4, refused), on: scheduler)
        exploration.mostFaults = 1
        var seen: Set<[Bool]> = []
        exploration.betweenRuns = {
            seen.insert(refused.value)
            refused.value = []
        }
        _ = try exploration.search(RandomWalk(seed: 1, runs: 200))
        #expect(seen == Set((0...4).map { place in (0..<4).map { $0 == place } }))
    }

    private func multinomial(_ counts: [Int]) -> Int {
        func factorial(_ number: Int) -> Int { (1...max(1, number)).reduce(1, *) }
        return counts.reduce(factorial(counts.reduce(0, +))) { $0 / factorial($1) }
    }
}

/// Schedules that are written down, and read again.
@Suite("Schedules")
struct ScheduleTests {
    @Test("A schedule is written in runs and read back", arguments: [[], [0], [0, 0, 1, 0, 8, 8, 9], [16, 0]])
    func schedules(steps: [Int]) {
        #expect(Schedule(text: Schedule(steps).text) == Schedule(steps))
    }

    @Test("Runs are short")
    func runs() {
        #expect(Schedule([0, 0, 0, 1, 8, 8, 0]).text == "a3b1r2a1")
    }

    @Test(
        "A text that is not a schedule is refused",
        arguments: ["a", "3", "a3q1", "a0", "a-1", "a3 b1", "a9999999999", "A3"]
    )
    func notSchedules(text: String) {
        #expect(Schedule(text: text) == nil)
    }

    @Test("A schedule is shown with a column for each thread")
    func columns() {
        let text = Columns.text([
            Columns.Step(thread: 0, name: "thread a", label: "begin"),
            Columns.Step(thread: 8, name: "observe-reclaim", label: "signal"),
        ])
        #expect(
            text == """
                a (thread a)  r (observe-reclaim)
                ------------  -------------------
                begin
                              signal
                """
        )
    }
}
