// SPDX-License-Identifier: Apache-2.0

/// One scenario's epochs, and what they have added up to.
final class ScenarioRun {
    let violations: Violations
    private(set) var result: ScenarioResult
    private let scenario: Scenario
    private let plan: RunPlan
    private let perturbation: Perturbation
    private var round = 0
    private var nanosecondsSpent: UInt64 = 0

    init(_ scenario: Scenario, _ plan: RunPlan, _ perturbation: Perturbation) {
        self.scenario = scenario
        self.plan = plan
        self.perturbation = perturbation
        violations = Violations(scenario: scenario.name, seed: plan.seed)
        result = ScenarioResult(scenario: scenario, windows: scenario.windows)
    }

    /// Epochs that were run.
    var rounds: Int { round }

    /// Runs one epoch of about so long.
    func runEpoch(_ length: Duration) {
        let start = nanoseconds()
        unsafe CurrentRun.violations = violations
        CrashReport.enter(scenario.name)
        let seed = Generator.epochSeed(plan.seed, scenario.name, round)
        let crowd = plan.perturbations.subtracting(scenario.spared).contains(.crowd) ? 3 : 1
        let threads = max(plan.threads * crowd, scenario.leastThreads)
        perturbation.prepare(
            seed: seed,
            sparing: scenario.spared,
            threads: threads,
            round: round,
            length: length,
            violations
        )
        let epoch = Epoch(
            scenario: scenario,
            seed: seed,
            threads: threads,
            duration: length,
            perturbation: perturbation,
            violations: violations
        )
        scenario.run(epoch)
        perturbation.faults?.rest()
        result.add(epoch)
        epoch.discardLanes()
        round += 1
        nanosecondsSpent += nanoseconds() - start
        result.finish(violations, seconds: Double(nanosecondsSpent) / 1e9)
    }
}
