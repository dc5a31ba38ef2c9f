// SPDX-License-Identifier: Apache-2.0

/// The result of one scenario.
package struct ScenarioResult {
    package let scenario: Scenario
    package private(set) var rounds = 0
    package private(set) var operations: UInt64 = 0
    package private(set) var checks: UInt64 = 0
    package private(set) var windows: [(name: String, hits: UInt64)]
    package private(set) var latencies: [(name: String, histogram: Histogram)] = []
    package private(set) var violations: [Violation] = []
    package private(set) var violationCount = 0
    package private(set) var seconds = 0.0
    package private(set) var verdict = ScenarioVerdict.pass

    package init(_ scenario: Scenario) {
        self.scenario = scenario
        windows = scenario.windows.map { ($0, 0) }
    }

    package mutating func add(_ round: Round) {
        rounds += 1
        checks += round.checks
        for worker in round.workers {
            operations += worker.operations
            checks += worker.checks
            for index in windows.indices { windows[index].hits += worker.windows[index] }
            for (name, histogram) in worker.latencies {
                if let index = latencies.firstIndex(where: { $0.name == name.description }) {
                    latencies[index].histogram.merge(histogram)
                } else {
                    latencies.append((name.description, histogram))
                }
            }
        }
    }

    package mutating func finish(_ violations: Violations, seconds: Double) {
        (violationCount, self.violations) = violations.summary
        self.seconds = seconds
        verdict = violationCount > 0 ? .violated : missedWindows.isEmpty ? .pass : .inconclusive
    }

    package var missedWindows: [String] { windows.filter { $0.hits == 0 }.map(\.name) }
}
