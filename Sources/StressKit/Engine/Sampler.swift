// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// The state of a run at one moment.
package struct Sample: Codable, Sendable, Equatable {
    /// The time since the run began, in seconds.
    package let seconds: Double
    package let scenario: String
    package let operationsPerSecond: Double
    package let residentBytes: Int
    /// The values of the host's gauges, by name.
    package let gauges: [String: Double]

    package init(
        seconds: Double,
        scenario: String,
        operationsPerSecond: Double,
        residentBytes: Int,
        gauges: [String: Double] = [:]
    ) {
        (self.seconds, self.scenario, self.operationsPerSecond) = (seconds, scenario, operationsPerSecond)
        (self.residentBytes, self.gauges) = (residentBytes, gauges)
    }
}

/// Takes samples of a run on its own thread, several times a second while threads are under load.
final class Sampler: Sendable {
    private let samples = Guarded<[Sample]>([])
    private let isOver = Atomic<Bool>(false)
    private let start = nanoseconds()
    private let host: RunHost
    /// The time between two samples. It is longer in a long run, so that a report has at most some
    /// thousand samples.
    private let interval: UInt64

    init(_ host: RunHost, total: Duration) {
        (self.host, interval) = (host, max(100_000_000, UInt64(total.seconds * 1e9) / 2_000))
    }

    var all: [Sample] { samples.withLock { $0 } }

    /// Takes samples until `body` has returned.
    func watch<Result>(_ body: () -> Result) -> Result {
        let thread = JoinableThread { self.look() }
        defer {
            // Relaxed: a thread that sees it late takes one more sample.
            isOver.store(true, ordering: .relaxed)
            thread.join()
        }
        return body()
    }

    private func look() {
        var last = (workers: [ObjectIdentifier](), steps: UInt64(0), time: nanoseconds())
        var gauges = GaugeReader(host)
        while !isOver.load(ordering: .relaxed) {
            usleep(UInt32(interval / 1_000))
            let workers = Roster.shared.workers
            let figures = gauges.read()
            let now = (
                workers: workers.map(ObjectIdentifier.init),
                steps: workers.reduce(0) { $0 &+ $1.heartbeat.load(ordering: .relaxed) },
                time: nanoseconds()
            )
            defer { last = now }
            guard let scenario = workers.first?.round.scenario.name else { continue }
            // If other threads run than at the last sample, they have begun to count from 0 since.
            let steps = now.workers == last.workers && now.steps >= last.steps ? now.steps - last.steps : now.steps
            let sample = Sample(
                seconds: Double(now.time - start) / 1e9,
                scenario: scenario,
                operationsPerSecond: Double(steps) / (Double(now.time - last.time) / 1e9),
                residentBytes: ResidentMemory.current,
                gauges: Dictionary(figures.map { ($0.name, $0.value) }) { $1 }
            )
            samples.withLock { $0.append(sample) }
        }
    }
}
