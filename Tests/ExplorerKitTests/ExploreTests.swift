// SPDX-License-Identifier: Apache-2.0

import ExplorerKit
import Synchronization
import Testing

/// Toys of a user, each with its mistake and without.
@Suite("explore")
struct ExploreTests {
    /// Expects a failure of this kind, which a replay of its schedule gives again.
    @discardableResult
    private func expectFailure(
        _ kind: ExplorationFailure.Kind,
        preemptions: Int,
        _ search: ScheduleSearch = .preemptions(2),
        mostSteps: Int = 20_000,
        _ program: @escaping @Sendable (ExploredProgram) -> Void
    ) throws -> ExplorationFailure {
        let failure = try #require(throws: ExplorationFailure.self) {
            try explore(search, mostSteps: mostSteps, program)
        }
        #expect(failure.kind == kind && failure.preemptions == preemptions, "\(failure)")
        let again = try #require(throws: ExplorationFailure.self) {
            try explore(.replay(failure.schedule), mostSteps: mostSteps, program)
        }
        #expect(again.kind == kind && again.message == failure.message && again.schedule == failure.schedule)
        return failure
    }

    @Test("A program has as many schedules as are calculated", arguments: [(1, 6), (2, 20), (3, 70)])
    func count(steps: Int, schedules: Int) throws {
        // A thread begins and takes n steps: (2n + 2)! / ((n + 1)! (n + 1)!).
        let explored = try explore(.preemptions(99)) { run in
            for name in ["first", "second"] { run.thread(name) { for _ in 0..<steps { exploredStep("step") } } }
        }
        #expect(explored.schedules == schedules && explored.isComplete)
        #expect(
            !(try explore(.preemptions(0)) { run in
                for name in ["first", "second"] { run.thread(name) { exploredStep("step") } }
            }).isComplete
        )
    }

    @Sendable private static func adding(_ run: ExploredProgram, _ add: @escaping @Sendable (Counter) -> Void) {
        let counter = Counter()
        for name in ["first", "second"] { run.thread(name) { add(counter) } }
        run.finally {
            let sum = counter.plain.value + counter.atomic.load(ordering: .relaxed)
            run.check(sum == 2, "\(sum) of 2")
        }
    }

    @Test(
        "A lost update is found by every search, with one preemption",
        arguments: [
            ScheduleSearch.preemptions(2), .random(), .pct(depth: 3),
        ]
    )
    func lostUpdate(search: ScheduleSearch) throws {
        let failure = try expectFailure(.check, preemptions: 1, search) {
            Self.adding($0) { counter in
                let seen = counter.atomic.load(ordering: .relaxed)
                counter.atomic.store(seen + 1, ordering: .relaxed)
            }
        }
        #expect(failure.message.hasPrefix("1 of 2 (ExplorerKitTests/ExploreTests.swift:"))
        #expect(failure.description.contains("a (first)  b (second)"))
        #expect(failure.description.contains("explore(.replay(\"\(failure.schedule)\"))"))
        try expectFailure(.check, preemptions: 1, search) { Self.adding($0) { $0.plain.value += 1 } }
        try explore(search) { Self.adding($0) { $0.atomic.wrappingAdd(1, ordering: .relaxed) } }
        try explore(search) {
            Self.adding($0) { counter in
                while true {
                    let seen = counter.atomic.load(ordering: .relaxed)
                    if counter.atomic.weakCompareExchange(expected: seen, desired: seen + 1, ordering: .relaxed)
                        .exchanged
                    {
                        return
                    }
                }
            }
        }
    }

    @Sendable private static func locking(_ run: ExploredProgram, _ lock: @escaping @Sendable (Flag) -> Void) {
        let (flag, inside) = (Flag(), ExploredVariable(0))
        for name in ["first", "second"] {
            run.thread(name) {
                lock(flag)
                inside.value += 1
                run.check(inside.value == 1, "both are inside")
                inside.value -= 1
                flag.isTaken.store(false, ordering: .releasing)
            }
        }
    }

    @Test("A lock that tests and then sets")
    func testThenSet() throws {
        try expectFailure(.check, preemptions: 2) {
            Self.locking($0) { flag in
                while flag.isTaken.load(ordering: .acquiring) { exploredPause() }
                flag.isTaken.store(true, ordering: .relaxed)
            }
        }
        try explore {
            Self.locking($0) { flag in
                while flag.isTaken.exchange(true, ordering: .acquiring) { exploredPause() }
            }
        }
    }

    @Test("Two threads that wait in loops do not keep a third from running")
    func fairness() throws {
        for search in [ScheduleSearch.preemptions(2), .random(schedules: 500), .pct(depth: 3, schedules: 500)] {
            try explore(search) { run in
                let flag = Flag()
                for name in ["first", "second"] {
                    run.thread(name) { while !flag.isTaken.load(ordering: .relaxed) { run.pause() } }
                }
                run.thread("third") {
                    run.pause()
                    flag.isTaken.store(true, ordering: .relaxed)
                }
            }
        }
    }

    @Test("Two locks in two orders: a deadlock, and who waits for whom")
    func opposedLocks() throws {
        let failure = try expectFailure(.deadlock, preemptions: 1) { run in
            let (first, second) = (ExploredMutex(0), ExploredMutex(0))
            run.thread("up") { first.withLock { _ in second.withLock { $0 += 1 } } }
            run.thread("down") { second.withLock { _ in first.withLock { $0 += 1 } } }
        }
        #expect(failure.message == "a (up) waits for 'lock' that b has, b (down) waits for 'lock' that a has")
        try explore { run in
            let (first, second) = (ExploredMutex(0), ExploredMutex(0))
            for name in ["up", "down"] { run.thread(name) { first.withLock { _ in second.withLock { $0 += 1 } } } }
        }
        try explore { run in
            let (first, second) = (ExploredMutex(0), ExploredMutex(0))
            run.thread("up") { first.withLock { _ in second.withLock { $0 += 1 } } }
            run.thread("down") { second.withLock { _ in _ = first.withLockIfAvailable { $0 += 1 } } }
        }
    }

    @Sendable private static func handing(_ run: ExploredProgram, waitsInside: Bool) {
        let (condition, isReady) = (ExploredCondition(), ExploredVariable(false))
        run.thread("waiter") {
            condition.lock()
            let isThere = isReady.value
            if waitsInside {
                while !isReady.value { condition.wait() }
                condition.unlock()
            } else {
                condition.unlock()
                condition.lock()
                if !isThere { condition.wait() }
                condition.unlock()
            }
        }
        run.thread("signaller") {
            condition.lock()
            isReady.value = true
            condition.signal()
            condition.unlock()
        }
    }

    @Test("A wake-up is lost between the test and the wait")
    func lostWakeUp() throws {
        let failure = try expectFailure(.deadlock, preemptions: 1) {
            Self.handing($0, waitsInside: false)
        }
        #expect(failure.message == "a (waiter) waits for 'wait for a signal'")
        try explore { Self.handing($0, waitsInside: true) }
    }

    @Test("An object is made twice by a test without the lock")
    func doubleCheckedInitialisation() throws {
        @Sendable func program(_ run: ExploredProgram, checksAgain: Bool) {
            let (object, made) = (ExploredMutex<Int?>(nil), ExploredAtomic(0))
            for name in ["first", "second"] {
                run.thread(name) {
                    if object.withLock({ $0 }) != nil { return }
                    object.withLock { object in
                        if checksAgain, object != nil { return }
                        object = made.wrappingAdd(1, ordering: .relaxed).newValue
                    }
                }
            }
            run.finally { run.check(made.load(ordering: .relaxed) == 1, "made twice") }
        }
        try expectFailure(.check, preemptions: 1) { program($0, checksAgain: false) }
        try explore { program($0, checksAgain: true) }
    }

    @Test("A flag that no thread sets is a livelock")
    func livelock() throws {
        try expectFailure(.livelock, preemptions: 0, mostSteps: 500) { run in
            run.thread("waiter") { while true { run.pause() } }
        }
    }

    @Test("A long schedule is shown without its middle")
    func longSchedule() throws {
        for names in [["only"], ["first", "second"]] {
            let failure = try #require(throws: ExplorationFailure.self) {
                try explore { run in
                    for name in names { run.thread(name) { while true { run.pause() } } }
                }
            }
            #expect(failure.kind == .livelock)
            #expect(failure.description.contains("\n… 19940 steps are left out …\n"))
            #expect(failure.description.split(separator: "\n").count < 70)
            #expect(failure.description.contains(names.count == 1 ? "explore(.replay(\"a20000\"))" : "characters"))
        }
    }

    @Test(
        "A schedule's objects are deinitialised before the next one begins",
        arguments: [
            ScheduleSearch.preemptions(2), .random(schedules: 200), .pct(depth: 2, schedules: 200),
        ]
    )
    func release(search: ScheduleSearch) throws {
        let probes = Probes()
        try explore(search) { run in
            #expect(probes.alive.load(ordering: .relaxed) == 0)
            let probe = Probe(probes)
            for name in ["first", "second"] {
                run.thread(name) { run.check(probe.isAlive.load(ordering: .relaxed), "gone") }
            }
            run.finally { run.check(probe.isAlive.load(ordering: .relaxed), "gone") }
        }
        #expect(probes.made.load(ordering: .relaxed) > 2 && probes.alive.load(ordering: .relaxed) == 0)
    }

    @Test("A failing schedule's objects are deinitialised, too")
    func releaseAfterFailure() throws {
        let probes = Probes()
        try expectFailure(.check, preemptions: 0) { run in
            let probe = Probe(probes)
            run.thread("only") { run.check(!probe.isAlive.load(ordering: .relaxed), "alive") }
        }
        #expect(probes.made.load(ordering: .relaxed) > 1 && probes.alive.load(ordering: .relaxed) == 0)
    }

    @Test("The objects of a deadlock are kept: their deinitialisers would wait for ever", .timeLimit(.minutes(1)))
    func keptByDeadlock() throws {
        let failure = try expectFailure(.deadlock, preemptions: 0) { run in
            let lock = ExploredMutex(0)
            let counts = CountsAtEnd(lock)
            run.thread("stuck") { lock.withLock { _ in lock.withLock { $0 += 1 } } }
            run.thread("ended") { withExtendedLifetime(counts) {} }
        }
        #expect(failure.message == "a (stuck) waits for 'lock' that a has")
    }

    @Test("A failure that outlives its schedule is not deterministic", arguments: [1, 4])
    func failureDoesNotComeAgain(number: Int) throws {
        // In the first schedule, and in one of many.
        let runs = ExploredAtomic(0)
        let failure = try #require(throws: ExplorationFailure.self) {
            try explore { run in
                let isLast = runs.wrappingAdd(1, ordering: .relaxed).newValue == number
                for name in ["first", "second"] { run.thread(name) { exploredStep("step") } }
                run.finally { run.check(!isLast, "number \(number)") }
            }
        }
        #expect(failure.kind == .notDeterministic)
        #expect(failure.message.contains("number \(number) (ExplorerKitTests/ExploreTests.swift:"))
        #expect(failure.message.contains("no failure"))
    }

    @Test(
        "A text that is no schedule is named as such",
        arguments: ["a0", "A2", "a2 b3", "x"]
    )
    func malformed(text: String) throws {
        let failure = try #require(throws: ExplorationFailure.self) {
            try explore(.replay(text)) { run in run.thread("only") { exploredStep("step") } }
        }
        #expect(failure.kind == .replay)
        #expect(failure.message == "\"\(text)\" is no schedule: letters and counts, such as a2b3")
    }

    /// Whether the process ended with this text on standard error.
    private func expectTrap(_ message: String, _ result: ExitTest.Result?, _ place: SourceLocation = #_sourceLocation) {
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains(message), "\(text)", sourceLocation: place)
    }

    @Test("Nonsense traps before a schedule is run")
    func nonsense() async {
        expectTrap(
            "mostSteps must be at least 1",
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                try explore(mostSteps: 0) { _ in }
            }
        )
        expectTrap(
            "a bound of preemptions cannot be negative",
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                try explore(.preemptions(-1)) { _ in }
            }
        )
        expectTrap(
            "a search runs at least one schedule",
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                try explore(.random(schedules: -1)) { _ in }
            }
        )
        expectTrap(
            "a depth is at least 1",
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                try explore(.pct(depth: 0)) { _ in }
            }
        )
    }

    @Test("A thread or check that is added too late traps")
    func addedTooLate() async {
        expectTrap(
            "add threads in the program's closure; a thread starts another with ExploredThread.start",
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                try explore { run in run.thread("outer") { run.thread("inner") {} } }
            }
        )
        expectTrap(
            "call finally in the program's closure",
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                try explore { run in run.thread("outer") { run.finally {} } }
            }
        )
    }

    @Test("A condition is used with its lock")
    func conditionWithoutLock() async {
        expectTrap(
            "unlock: the thread does not have the lock",
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                try explore { run in
                    let condition = ExploredCondition()
                    run.thread("has it") {
                        condition.lock()
                        condition.unlock()
                    }
                    run.thread("has it not") { condition.unlock() }
                }
            }
        )
        expectTrap(
            "wait: the thread does not have the lock",
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                try explore { run in
                    let condition = ExploredCondition()
                    run.thread("has it") {
                        condition.lock()
                        exploredStep("inside")
                        condition.unlock()
                    }
                    run.thread("has it not") { condition.wait() }
                }
            }
        )
    }

    @Test("A program that does something else each time is found out")
    func notDeterministic() throws {
        let runs = ExploredAtomic(0)
        let failure = try #require(throws: ExplorationFailure.self) {
            try explore { run in
                let isOdd = runs.wrappingAdd(1, ordering: .relaxed).newValue % 2 == 1
                run.thread("fickle") { if isOdd { exploredStep("sometimes") } }
                run.thread("steady") { exploredStep("always") }
            }
        }
        #expect(failure.kind == .notDeterministic)
    }

    @Test("A schedule of another program is refused", arguments: ["a1z1", "a9b1", "a9"])
    func misfit(text: String) throws {
        let failure = try #require(throws: ExplorationFailure.self) {
            try explore(.replay(text)) { run in run.thread("only") { exploredStep("step") } }
        }
        #expect(failure.kind == .notDeterministic)
    }

    @Test("Threads that threads start are explored and joined")
    func startedThreads() throws {
        try expectFailure(.check, preemptions: 1) { run in
            let number = ExploredVariable(0)
            run.thread("main") {
                let threads = (0..<2).map { _ in ExploredThread.start("adder") { number.value += 1 } }
                for thread in threads { thread.join() }
                run.check(number.value == 2, "an update is lost")
            }
        }
        try explore { run in
            let number = ExploredMutex(0)
            run.thread("main") {
                let threads = (0..<2).map { _ in ExploredThread.start("adder") { number.withLock { $0 += 1 } } }
                for thread in threads { thread.join() }
                run.check(number.withLock { $0 } == 2, "an update is lost")
            }
        }
    }

    @Test("Several explorations at once, each with its own threads", arguments: 0..<8)
    func parallel(number: Int) throws {
        let failure = try expectFailure(.check, preemptions: 1, .preemptions(1)) {
            Self.adding($0) { $0.plain.value += 1 }
        }
        #expect(failure.schedule.count <= 10 + number)
    }

    @Test("Without an exploration the façade is the real thing")
    func real() {
        let (mutex, atomic, semaphore) = (ExploredMutex(0), ExploredAtomic(0), ExploredSemaphore(value: 0))
        let (condition, place) = (ExploredCondition(), ExploredVariable(0))
        let threads = (0..<4).map { number in
            ExploredThread.start {
                for _ in 0..<1_000 {
                    mutex.withLock { $0 += 1 }
                    atomic.wrappingAdd(1, ordering: .relaxed)
                    exploredStep("nothing")
                    semaphore.signal()
                }
                condition.lock()
                while place.value != number { condition.wait() }
                place.value += 1
                condition.broadcast()
                condition.unlock()
            }
        }
        for _ in 0..<4_000 { semaphore.wait() }
        for thread in threads { thread.join() }
        #expect(
            mutex.withLockIfAvailable { $0 } == 4_000 && atomic.load(ordering: .relaxed) == 4_000 && place.value == 4
        )
    }

    @Test("A crash writes its schedule to standard error")
    func crash() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try explore { run in
                let number = ExploredVariable(0)
                run.thread("first") { number.value = 1 }
                run.thread("second") { precondition(number.value == 0, "crash") }
            }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("under the schedule a2b2, preemptions: 0"), "\(text)")
    }
}

private final class Counter: Sendable {
    let plain = ExploredVariable(0)
    let atomic = ExploredAtomic(0)
}

private final class Flag: Sendable {
    let isTaken = ExploredAtomic(false)
}

private final class Probes: Sendable {
    let made = Atomic(0)
    let alive = Atomic(0)
}

/// Counts how many of its kind there are.
private final class Probe: Sendable {
    let isAlive = ExploredAtomic(true)
    private let probes: Probes

    init(_ probes: Probes) {
        self.probes = probes
        probes.made.wrappingAdd(1, ordering: .relaxed)
        probes.alive.wrappingAdd(1, ordering: .relaxed)
    }

    deinit { probes.alive.wrappingSubtract(1, ordering: .relaxed) }
}

/// Takes a lock when it is deinitialised.
private final class CountsAtEnd: Sendable {
    private let lock: ExploredMutex<Int>
    init(_ lock: ExploredMutex<Int>) { self.lock = lock }
    deinit { lock.withLock { $0 += 1 } }
}
