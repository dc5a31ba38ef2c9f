// SPDX-License-Identifier: Apache-2.0

/// What to run.
struct RunPlan: Sendable {
    var scenarios: [Scenario]
    /// For the whole run, divided among the scenarios.
    var duration: Duration
    /// Epochs for each scenario, instead of a duration.
    var iterations: Int?
    var threads: Int
    var seed: UInt64
    var perturbations: PerturbationKinds
    var stopsAtFirstFailure: Bool
    /// An injection point that is hot in every epoch, if any.
    var fixedPoint: String?
    /// How long an epoch lasts.
    var epochLength: Duration = .milliseconds(400)
}

/// Runs scenarios one after the other, epoch by epoch.
struct Runner {
    let plan: RunPlan
    let progress: Progress

    func run() -> [ScenarioResult] {
        let perturbation = Perturbation(plan.perturbations, fixedPoint: plan.fixedPoint)
        let share = plan.duration / max(1, plan.scenarios.count)
        var results: [ScenarioResult] = []
        for scenario in plan.scenarios {
            progress.begin(scenario)
            let result = run(scenario, for: share, perturbation)
            progress.end(result)
            results.append(result)
            if plan.stopsAtFirstFailure, result.verdict != .pass { break }
        }
        progress.finish()
        return results
    }

    private func run(_ scenario: Scenario, for duration: Duration, _ perturbation: Perturbation) -> ScenarioResult {
        let violations = Violations(scenario: scenario.name)
        unsafe CurrentRun.violations = violations
        let start = nanoseconds()
        let end = start + UInt64(duration.seconds * 1e9)
        // A short share on a busy machine may miss a window: the scenario goes on for it, but not for ever.
        let lastCall = end + 5_000_000_000
        var result = ScenarioResult(scenario: scenario, windows: scenario.windows)
        var round = 0
        repeat {
            let seed = Generator.epochSeed(plan.seed, scenario.name, round)
            perturbation.prepare(seed: seed)
            let now = nanoseconds()
            // Whole epochs again for windows that were missed.
            let remaining = now < end ? Duration.nanoseconds(Int64(end - now)) : plan.epochLength
            let length =
                plan.iterations == nil ? max(.milliseconds(50), min(plan.epochLength, remaining)) : plan.epochLength
            let epoch = Epoch(
                scenario: scenario,
                seed: seed,
                threads: max(plan.threads, scenario.leastThreads),
                duration: length,
                perturbation: perturbation,
                violations: violations
            )
            scenario.run(epoch)
            result.add(epoch)
            epoch.discardLanes()
            progress.update(scenario, result, violations)
            round += 1
        } while violations.isEmpty
            && (plan.iterations.map { round < $0 }
                ?? (nanoseconds() < end || (!result.missedWindows.isEmpty && nanoseconds() < lastCall)))
        result.finish(violations, seconds: Double(nanoseconds() - start) / 1e9)
        return result
    }
}

extension Generator {
    /// The seed of one epoch: it depends on the run's seed, the scenario's name and the round, not on what else runs.
    static func epochSeed(_ seed: UInt64, _ name: String, _ round: Int) -> UInt64 {
        let hash = name.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        var generator = Generator(seed: seed ^ hash, stream: UInt64(round))
        return generator.next()
    }
}
