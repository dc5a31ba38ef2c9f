// SPDX-License-Identifier: Apache-2.0

/// The rounds of one scenario, and the sum of their results.
package final class ScenarioRun {
    package let violations: Violations
    package private(set) var result: ScenarioResult
    private let scenario: Scenario
    private let plan: RunPlan
    private let perturbation: Perturbation
    private var nanosecondsSpent: UInt64 = 0

    package init(_ scenario: Scenario, _ plan: RunPlan, _ perturbation: Perturbation) {
        (self.scenario, self.plan, self.perturbation) = (scenario, plan, perturbation)
        violations = Violations(scenario: scenario.name, seed: plan.seed, host: plan.host)
        result = ScenarioResult(scenario)
    }

    /// Runs one round with a load of about `length`.
    package func runRound(_ length: Duration) {
        let start = nanoseconds()
        unsafe Violations.current = violations
        CrashReport.enter(scenario.name)
        let seed = Generator.roundSeed(plan.seed, scenario.name, result.rounds)
        let isCrowded =
            plan.perturbations.subtracting(scenario.excluded).contains(.crowd)
            && result.rounds % plan.crowdInterval == plan.crowdInterval - 1
        let threads = max(plan.threads * (isCrowded ? 3 : 1), scenario.leastThreads)
        perturbation.prepare(
            seed: seed,
            excluding: scenario.excluded,
            threads: threads,
            round: result.rounds,
            length: length,
            violations
        )
        let round = Round(
            scenario: scenario,
            seed: seed,
            threads: threads,
            duration: length,
            perturbation: perturbation,
            violations: violations,
            host: plan.host
        )
        Watchdog.shared.watch(round)
        scenario.run(round)
        Watchdog.shared.rest()
        perturbation.faults?.rest()
        result.add(round)
        round.discardWorkers()
        nanosecondsSpent += nanoseconds() - start
        result.finish(violations, seconds: Double(nanosecondsSpent) / 1e9)
    }
}

extension Violations {
    /// The violations of the present round, for code on threads that the round has not started.
    /// Written between rounds.
    package nonisolated(unsafe) static var current: Violations?
}
