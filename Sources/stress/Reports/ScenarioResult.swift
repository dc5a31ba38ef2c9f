// SPDX-License-Identifier: Apache-2.0

/// How one scenario went.
struct ScenarioResult {
    let scenario: Scenario
    private(set) var rounds = 0
    private(set) var operations: UInt64 = 0
    private(set) var checks: UInt64 = 0
    private(set) var windows: [(name: String, hits: UInt64)]
    private(set) var notify = Histogram()
    private(set) var wait = Histogram()
    private(set) var violations: [Violation] = []
    private(set) var violationCount = 0
    private(set) var seconds = 0.0
    private(set) var verdict = ScenarioVerdict.pass

    init(scenario: Scenario, windows: [String]) {
        self.scenario = scenario
        self.windows = windows.map { ($0, 0) }
    }

    mutating func add(_ round: Round) {
        rounds += 1
        checks += round.checks
        for worker in round.workers {
            operations += worker.operations
            checks += worker.checks
            notify.merge(worker.notifyLatency)
            wait.merge(worker.waitLatency)
            for index in windows.indices { windows[index].hits += worker.windows[index] }
        }
    }

    mutating func finish(_ violations: Violations, seconds: Double) {
        (violationCount, self.violations) = violations.summary
        self.seconds = seconds
        verdict = violationCount > 0 ? .violated : missedWindows.isEmpty ? .pass : .inconclusive
    }

    var missedWindows: [String] { windows.filter { $0.hits == 0 }.map(\.name) }
}
