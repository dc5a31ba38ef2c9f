// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// One pass of a scenario. It makes fresh objects, puts them under load for some time, and then
/// checks at rest that everything adds up.
final class Round: @unchecked Sendable {
    // Unchecked: `workers` is written by the thread that runs the round, before and after the
    // others run.
    let scenario: Scenario
    let seed: UInt64
    let threads: Int
    let violations: Violations
    let perturbation: Perturbation
    private(set) var workers: [Worker] = []
    /// How many checks there were besides the workers'.
    private let checkCount = Atomic<UInt64>(0)

    private let deadline: UInt64
    private let isStopped = Atomic<Bool>(false)
    private let library: ConcurrentObserveDiagnostics

    init(
        scenario: Scenario,
        seed: UInt64,
        threads: Int,
        duration: Duration,
        perturbation: Perturbation,
        violations: Violations
    ) {
        self.scenario = scenario
        self.seed = seed
        self.threads = threads
        self.violations = violations
        self.perturbation = perturbation
        deadline = nanoseconds() + UInt64(duration.seconds * 1e9)
        library = .current()
    }

    /// Whether the threads should stop: the time is up, or something was violated.
    var isOver: Bool {
        // Relaxed: a thread that sees it later stops later.
        if isStopped.load(ordering: .relaxed) { return true }
        guard nanoseconds() >= deadline || !violations.isEmpty else { return false }
        isStopped.store(true, ordering: .relaxed)
        return true
    }

    /// Runs `body` on each thread over and over until the round is over.
    func load(_ body: @escaping @Sendable (Worker) -> Void) {
        load([Role(threads: threads, body)])
    }

    /// The work of some of the threads.
    struct Role {
        let threads: Int
        let body: @Sendable (Worker) -> Void

        init(threads: Int, _ body: @escaping @Sendable (Worker) -> Void) {
            self.threads = threads
            self.body = body
        }
    }

    /// Runs several roles, each on its own number of threads.
    func load(_ roles: [Role]) {
        var running: [JoinableThread] = []
        var team: [(Worker, @Sendable (Worker) -> Void)] = []
        for role in roles {
            for _ in 0..<role.threads {
                team.append((Worker(index: workers.count + team.count, round: self), role.body))
            }
        }
        workers += team.map(\.0)
        Roster.shared.enlist(workers)
        Watchdog.shared.watch(team.map(\.0))
        for (worker, body) in team {
            running.append(
                JoinableThread {
                    worker.attach {
                        self.perturbation.threadStarted(worker)
                        while !self.isOver { body(worker) }
                    }
                }
            )
        }
        for thread in running { thread.join() }
        perturbation.rest()
        Watchdog.shared.watch([])
    }

    var checks: UInt64 { checkCount.load(ordering: .relaxed) }

    /// Releases the workers, which retain the round. Call it once their counts are merged.
    func discardWorkers() {
        Roster.shared.enlist([])
        workers = []
    }

    // MARK: At rest

    /// Whether faults are made in this round. Then the library's bounds need not hold.
    var isFaulted: Bool { perturbation.faults?.isActive ?? false }

    func check(_ holds: Bool, _ invariant: String, _ message: @autoclosure () -> String) {
        // Relaxed: a statistic.
        checkCount.add(1, ordering: .relaxed)
        if !holds { violations.report(invariant, message()) }
    }

    /// Counts checks that were made elsewhere. Relaxed: a statistic.
    func add(checks: UInt64) { checkCount.add(checks, ordering: .relaxed) }

    /// Checks that all retired items are reclaimed, and that no observation is left. Call it when
    /// the scenario's objects are gone.
    func checkRest(liveObservers: Int = 0) {
        guard violations.isEmpty else { return }
        let outcome = drain()
        let now = ConcurrentObserveDiagnostics.current()
        if outcome == .timedOut { WaitInVain.note(20_000_000_000) }
        check(outcome == .finished, "P16.backlog-drains", "drain ended with \(outcome); \(now)")
        check(now.backlog == 0, "P16.backlog-drains", "\(now.backlog) items are not reclaimed at rest")
        check(
            now.liveObservers == library.liveObservers + liveObservers,
            "P14.nothing-left",
            "\(now.liveObservers - library.liveObservers) observations are live at rest, \(liveObservers) expected"
        )
        #if INSTRUMENTED
        check(
            Instrumentation.walksOnFreedTables == 0,
            "memory.table-in-use",
            "\(Instrumentation.walksOnFreedTables) walks ended on a freed table"
        )
        #endif
    }

    /// Waits until the library has done its deferred work, and the work that follows from it: a
    /// deinit may have ended other observations.
    @discardableResult
    func drain() -> WaitOutcome {
        var outcome = WaitOutcome.finished
        var attempts = 0
        repeat {
            outcome = ConcurrentObserveDiagnostics.drain(deadline: .now + .seconds(20))
            attempts += 1
        } while outcome == .finished && attempts < 50 && ConcurrentObserveDiagnostics.current().backlog > 0
        return outcome
    }
}
