// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// One round of a scenario: it makes new objects, puts them under load for some time, and then
/// checks their state at rest.
public final class Round: @unchecked Sendable {
    // Unchecked: the thread that runs the round writes `workers`, before and after the other
    // threads run.
    package let scenario: Scenario
    /// The round's own seed. It is derived from the run's seed. A scenario uses it for random
    /// choices that no worker makes.
    public let seed: UInt64
    /// The number of threads of a load with one body.
    public let threads: Int
    package let violations: Violations
    package let perturbation: Perturbation
    package private(set) var workers: [Worker] = []
    /// The number of checks that were not made by workers.
    private let checkCount = Atomic<UInt64>(0)

    private let length: UInt64
    /// The time at which the present load ends. Relaxed: a thread that sees it later stops later.
    private let deadline: Atomic<UInt64>
    private let isStopped = Atomic<Bool>(false)
    package let host: RunHost
    /// The host's record of the state before the round.
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

    /// Whether the threads should stop: the time of the load has passed, or an invariant was
    /// violated. Any thread. A body that has a loop of its own must ask it.
    public var isOver: Bool {
        // Relaxed: a thread that sees it later stops later.
        if isStopped.load(ordering: .relaxed) { return true }
        guard nanoseconds() >= deadline.load(ordering: .relaxed) || !violations.isEmpty else { return false }
        isStopped.store(true, ordering: .relaxed)
        return true
    }

    /// Runs `body` on ``threads`` threads, again and again, until the time of the load has passed.
    /// Returns when all threads have ended. Only the thread that runs the round may call it, any
    /// number of times. After a violation it returns at once.
    public func load(_ body: @escaping @Sendable (Worker) -> Void) {
        load([Role(threads: threads, body)])
    }

    /// The work of some of a round's threads.
    public struct Role: Sendable {
        let threads: Int
        let body: @Sendable (Worker) -> Void

        /// Makes a role for this number of threads.
        public init(threads: Int, _ body: @escaping @Sendable (Worker) -> Void) {
            (self.threads, self.body) = (threads, body)
        }
    }

    /// Runs several roles at once, each on its own number of threads, until the time of the load
    /// has passed.
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
        Watchdog.shared.watch(self, team.map(\.0))
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
        Watchdog.shared.watch(self)
    }

    package var checks: UInt64 { checkCount.load(ordering: .relaxed) }

    /// The number of operations that the threads have begun. Read it at rest: between loads, or
    /// after them.
    public var operations: UInt64 { workers.reduce(0) { $0 + $1.operations } }

    /// Adds a worker that no load has started.
    package func enlist(_ worker: Worker) { workers.append(worker) }

    /// Releases the workers, which retain the round. Call it once, after their counts are merged.
    package func discardWorkers() {
        Roster.shared.enlist([])
        workers = []
    }

    /// Whether faults happen in this round. Bounds of time and memory then need not hold.
    package var isFaulted: Bool { perturbation.faults?.isActive ?? false }

    /// Checks an invariant at rest, before or after a load. Any thread. A violation ends the run.
    ///
    /// - Parameters:
    ///   - holds: Whether the invariant holds.
    ///   - invariant: Its name, as in "cache.bounded". Only the first violation of each invariant
    ///     is kept.
    ///   - message: The facts that contradict the invariant, for the reader of the failure.
    public func check(_ holds: Bool, _ invariant: String, _ message: @autoclosure () -> String) {
        // Relaxed: a statistic.
        checkCount.add(1, ordering: .relaxed)
        if !holds { violations.report(invariant, message()) }
    }

    /// Counts checks that other code has made. Relaxed: a statistic.
    package func add(checks: UInt64) { checkCount.add(checks, ordering: .relaxed) }
}
