// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// How a run was at one moment.
struct Sample: Codable, Sendable, Equatable {
    /// Since the run began.
    let seconds: Double
    let scenario: String
    let operationsPerSecond: Double
    let gracePeriodsPerSecond: Double
    /// Retired and not yet reclaimed.
    let backlog: Int
    let residentBytes: Int
}

/// Looks at a run from a thread of its own, several times a second while threads are under load.
final class Sampler: Sendable {
    private let samples = Guarded<[Sample]>([])
    private let isOver = Atomic<Bool>(false)
    private let start = nanoseconds()
    /// The time between two looks. A long run has a longer one, so that a report stays within some
    /// thousand samples.
    private let interval: UInt64

    init(total: Duration) { interval = max(100_000_000, UInt64(total.seconds * 1e9) / 2_000) }

    var all: [Sample] { samples.withLock { $0 } }

    /// Looks until `body` has returned.
    func watch<Result>(_ body: () -> Result) -> Result {
        let thread = JoinableThread { self.look() }
        defer {
            // Relaxed: the thread that sees it later looks once more.
            isOver.store(true, ordering: .relaxed)
            thread.join()
        }
        return body()
    }

    private func look() {
        var last = (workers: [ObjectIdentifier](), steps: UInt64(0), time: nanoseconds(), periods: 0)
        while !isOver.load(ordering: .relaxed) {
            usleep(UInt32(interval / 1_000))
            let workers = Roster.shared.workers
            let library = ConcurrentObserveDiagnostics.current()
            let now = (
                workers: workers.map(ObjectIdentifier.init),
                steps: workers.reduce(0) { $0 &+ $1.heartbeat.load(ordering: .relaxed) },
                time: nanoseconds(),
                periods: library.gracePeriods
            )
            defer { last = now }
            guard let scenario = workers.first?.round.scenario.name else { continue }
            let seconds = Double(now.time - last.time) / 1e9
            // Other threads than at the last look have begun from nothing since.
            let steps = now.workers == last.workers && now.steps >= last.steps ? now.steps - last.steps : now.steps
            let sample = Sample(
                seconds: Double(now.time - start) / 1e9,
                scenario: scenario,
                operationsPerSecond: Double(steps) / seconds,
                gracePeriodsPerSecond: Double(now.periods - last.periods) / seconds,
                backlog: library.backlog,
                residentBytes: ResidentMemory.current
            )
            samples.withLock { $0.append(sample) }
        }
    }
}
