// SPDX-License-Identifier: Apache-2.0

/// The plan of a run: scenarios, times and perturbation.
struct RunPlan: Sendable {
    var scenarios: [Scenario]
    /// The time of the whole run, divided among the scenarios.
    var duration: Duration
    /// Rounds for each scenario, instead of a duration.
    var iterations: Int?
    var threads: Int
    var seed: UInt64
    var perturbations: PerturbationKinds
    var stopsAtFirstFailure: Bool
    /// Whether the scenarios alternate, round by round, while resident memory must stay level.
    var alternates = false
    /// An injection point that is hot in every round, if any.
    var fixedPoint: String?
    /// How long a round lasts.
    var roundLength: Duration = .milliseconds(400)
}

/// Runs scenarios, round by round.
struct Runner {
    let plan: RunPlan
    let progress: Progress
    /// The writer of the run's files, if there are any.
    var recorder: RunRecorder?

    struct Outcome {
        var results: [ScenarioResult] = []
        var memory: MemoryCourse?

        /// How the command ends. A violation outweighs a missed window.
        var exit: StressExit {
            if results.contains(where: { $0.verdict == .violated }) || memory?.hasGrown == true { return .violated }
            return results.contains { $0.verdict == .inconclusive } ? .inconclusive : .pass
        }
    }

    func run() -> Outcome {
        Watchdog.shared.setRecorder(recorder)
        let perturbation = Perturbation(plan.perturbations, fixedPoint: plan.fixedPoint)
        let run = { plan.alternates ? runAlternating(perturbation) : runInOrder(perturbation) }
        let outcome = recorder?.watch(run) ?? run()
        progress.finish()
        recorder?.end(outcome.results, memory: outcome.memory)
        return outcome
    }

    /// Runs one scenario after the other, each for its share of the time.
    private func runInOrder(_ perturbation: Perturbation) -> Outcome {
        let share = plan.duration / max(1, plan.scenarios.count)
        var outcome = Outcome()
        for scenario in plan.scenarios {
            progress.begin(scenario)
            let run = ScenarioRun(scenario, plan, perturbation)
            recorder?.begin(run.result, run.violations)
            self.run(run, until: nanoseconds() + UInt64(share.seconds * 1e9))
            progress.end(run.result)
            outcome.results.append(run.result)
            recorder?.end(outcome.results)
            if plan.stopsAtFirstFailure, run.result.verdict != .pass { break }
        }
        return outcome
    }

    private func run(_ run: ScenarioRun, until end: UInt64) {
        // A scenario whose share is short may miss a window on a busy machine. It then goes on, for
        // 20 seconds at most.
        let lastCall = end + 20_000_000_000
        repeat {
            let now = nanoseconds()
            // After the share, rounds have their full length.
            let remaining = now < end ? Duration.nanoseconds(Int64(end - now)) : plan.roundLength
            run.runRound(
                plan.iterations == nil ? max(.milliseconds(50), min(plan.roundLength, remaining)) : plan.roundLength
            )
            progress.update(run.result, run.violations)
        } while run.violations.isEmpty
            && (plan.iterations.map { run.rounds < $0 }
                ?? (nanoseconds() < end || (!run.result.missedWindows.isEmpty && nanoseconds() < lastCall)))
    }

    /// Runs one round of each scenario, over and over. If a scenario leaves memory behind, it adds
    /// up, and shows in resident memory.
    private func runAlternating(_ perturbation: Perturbation) -> Outcome {
        ProbePool.shared.touch()
        let start = nanoseconds()
        let end = start + UInt64(plan.duration.seconds * 1e9)
        let runs = plan.scenarios.map { ScenarioRun($0, plan, perturbation) }
        var memory = MemoryCourse(warmUpSeconds: min(60, plan.duration.seconds / 4))
        var round = 0
        repeat {
            for run in runs where run.violations.isEmpty {
                progress.begin(run.result.scenario)
                recorder?.begin(run.result, run.violations)
                run.runRound(plan.roundLength)
                progress.update(run.result, run.violations)
                recorder?.end(runs.filter { $0.rounds > 0 }.map(\.result), memory: memory)
                if plan.stopsAtFirstFailure, !run.violations.isEmpty { return Outcome(results: runs.map(\.result)) }
            }
            memory.look(seconds: Double(nanoseconds() - start) / 1e9)
            recorder?.write(ending: .crash)
            round += 1
        } while plan.iterations.map { round < $0 } ?? (nanoseconds() < end)
        // A scenario that has missed windows in a short run goes on, to reach them.
        for run in runs where plan.iterations == nil && run.violations.isEmpty && !run.result.missedWindows.isEmpty {
            self.run(run, until: nanoseconds())
        }
        for run in runs { progress.end(run.result) }
        return Outcome(results: runs.map(\.result), memory: memory)
    }
}

extension Generator {
    /// The seed of one round: it depends on the run's seed, the scenario's name and the round, not
    /// on what else runs.
    static func roundSeed(_ seed: UInt64, _ name: String, _ round: Int) -> UInt64 {
        let hash = name.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        var generator = Generator(seed: seed ^ hash, stream: UInt64(round))
        return generator.next()
    }
}
