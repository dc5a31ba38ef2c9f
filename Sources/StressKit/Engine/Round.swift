// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// One pass of a scenario: it makes fresh objects, puts them under load for some time, and then
/// checks at rest that everything adds up.
public final class Round: @unchecked Sendable {
    // Unchecked: `workers` is written by the thread that runs the round, before and after the
    // others run.
    package let scenario: Scenario
    /// The round's own seed, derived from the run's: for what a scenario draws outside of workers.
    public let seed: UInt64
    /// How many threads a load of one body has.
    public let threads: Int
    package let violations: Violations
    package let perturbation: Perturbation
    package private(set) var workers: [Worker] = []
    /// How many checks there were besides the workers'.
    private let checkCount = Atomic<UInt64>(0)

    private let length: UInt64
    /// When the present load ends. Relaxed: a thread that sees it later stops later.
    private let deadline: Atomic<UInt64>
    private let isStopped = Atomic<Bool>(false)
    package let host: RunHost
    /// The host's record of the round's begin.
    package let context: (any Sendable)?

    package init(
        scenario: Scenario,
        seed: UInt64,
        threads: Int,
        duration: Duration,
        perturbation: Perturbation,
        violations: Violations,
        host: RunHost = RunHost()
    ) {
        (self.scenario, self.seed, self.threads) = (scenario, seed, threads)
        (self.violations, self.perturbation, self.host) = (violations, perturbation, host)
        length = UInt64(duration.seconds * 1e9)
        deadline = Atomic(nanoseconds() + length)
        context = host.roundBegins()
    }

    /// Whether the threads should stop: the time of the load is up, or something was violated. Any
    /// thread; a body that loops itself asks it.
    public var isOver: Bool {
        // Relaxed: a thread that sees it later stops later.
        if isStopped.load(ordering: .relaxed) { return true }
        guard nanoseconds() >= deadline.load(ordering: .relaxed) || !violations.isEmpty else { return false }
        isStopped.store(true, ordering: .relaxed)
        return true
    }

    /// Runs `body` on ``threads`` threads over and over for the length of a round, and returns when
    /// all threads have ended. The thread that runs the round calls it, as often as it wants. After
    /// a violation it returns at once.
    public func load(_ body: @escaping @Sendable (Worker) -> Void) {
        load([Role(threads: threads, body)])
    }

    /// The work of some of the threads of a round.
    public struct Role: Sendable {
        let threads: Int
        let body: @Sendable (Worker) -> Void

        /// Makes a role that so many threads play.
        public init(threads: Int, _ body: @escaping @Sendable (Worker) -> Void) {
            (self.threads, self.body) = (threads, body)
        }
    }

    /// Runs several roles at once, each on its own number of threads, for the length of a round.
    public func load(_ roles: [Role]) {
        deadline.store(nanoseconds() + length, ordering: .relaxed)
        isStopped.store(false, ordering: .relaxed)
        var team: [(Worker, @Sendable (Worker) -> Void)] = []
        for role in roles {
            for _ in 0..<role.threads {
                team.append((Worker(index: workers.count + team.count, round: self), role.body))
            }
        }
        workers += team.map(\.0)
        Roster.shared.enlist(workers)
        Watchdog.shared.watch(team.map(\.0))
        let running = team.map { worker, body in
            JoinableThread {
                worker.attach {
                    self.perturbation.threadStarted(worker)
                    while !self.isOver { body(worker) }
                }
            }
        }
        for thread in running { thread.join() }
        perturbation.rest()
        Watchdog.shared.watch([])
    }

    package var checks: UInt64 { checkCount.load(ordering: .relaxed) }

    /// How many operations the threads have begun. At rest: between loads, or after them.
    public var operations: UInt64 { workers.reduce(0) { $0 + $1.operations } }

    /// Adds a worker that no load has started.
    package func enlist(_ worker: Worker) { workers.append(worker) }

    /// Releases the workers, which retain the round. Call it once their counts are merged.
    package func discardWorkers() {
        Roster.shared.enlist([])
        workers = []
    }

    /// Whether faults are made in this round. Then bounds of time and memory need not hold.
    package var isFaulted: Bool { perturbation.faults?.isActive ?? false }

    /// Checks an invariant at rest, before or after a load. Any thread; a violation ends the
    /// run.
    ///
    /// - Parameters:
    ///   - holds: Whether it holds.
    ///   - invariant: Its name, as in "cache.bounded". The first violation of each is kept.
    ///   - message: The facts that contradict it, for the reader of the failure.
    public func check(_ holds: Bool, _ invariant: String, _ message: @autoclosure () -> String) {
        // Relaxed: a statistic.
        checkCount.add(1, ordering: .relaxed)
        if !holds { violations.report(invariant, message()) }
    }

    /// Counts checks that were made elsewhere. Relaxed: a statistic.
    package func add(checks: UInt64) { checkCount.add(checks, ordering: .relaxed) }
}
