// SPDX-License-Identifier: Apache-2.0

/// One scenario's rounds, and the sum of their results.
final class ScenarioRun {
    let violations: Violations
    private(set) var result: ScenarioResult
    private let scenario: Scenario
    private let plan: RunPlan
    private let perturbation: Perturbation
    /// How many rounds were run.
    private(set) var rounds = 0
    private var nanosecondsSpent: UInt64 = 0

    init(_ scenario: Scenario, _ plan: RunPlan, _ perturbation: Perturbation) {
        self.scenario = scenario
        self.plan = plan
        self.perturbation = perturbation
        violations = Violations(scenario: scenario.name, seed: plan.seed)
        result = ScenarioResult(scenario: scenario, windows: scenario.windows)
    }

    /// Runs one round, which lasts about `length`.
    func runRound(_ length: Duration) {
        let start = nanoseconds()
        unsafe CurrentRun.violations = violations
        CrashReport.enter(scenario.name)
        let seed = Generator.roundSeed(plan.seed, scenario.name, rounds)
        let crowd = plan.perturbations.subtracting(scenario.excluded).contains(.crowd) ? 3 : 1
        let threads = max(plan.threads * crowd, scenario.leastThreads)
        perturbation.prepare(
            seed: seed,
            excluding: scenario.excluded,
            threads: threads,
            round: rounds,
            length: length,
            violations
        )
        let round = Round(
            scenario: scenario,
            seed: seed,
            threads: threads,
            duration: length,
            perturbation: perturbation,
            violations: violations
        )
        scenario.run(round)
        perturbation.faults?.rest()
        result.add(round)
        round.discardWorkers()
        rounds += 1
        nanosecondsSpent += nanoseconds() - start
        result.finish(violations, seconds: Double(nanosecondsSpent) / 1e9)
    }
}
