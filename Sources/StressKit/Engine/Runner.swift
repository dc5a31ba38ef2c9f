// SPDX-License-Identifier: Apache-2.0

/// The plan of a run: its scenarios, times and perturbation.
package struct RunPlan: Sendable {
    package var scenarios: [Scenario]
    /// The time of the whole run, divided among the scenarios.
    package var duration: Duration
    /// The number of rounds for each scenario; nil if the duration ends the run.
    package var iterations: Int?
    package var threads: Int
    package var seed: UInt64
    package var perturbations: PerturbationKinds
    package var stopsAtFirstFailure: Bool
    /// Whether the scenarios alternate, round by round. This shows whether resident memory stays
    /// level.
    package var alternates: Bool
    /// The name of an injection point that is hot in every round; nil if there is none.
    package var fixedPoint: String?
    /// The time of a round's load.
    package var roundLength: Duration
    /// With `crowd`, one round of this number has three times as many threads.
    package var crowdInterval = 1
    /// The longest additional time for a scenario that has missed a window.
    package var lastCall = Duration.seconds(20)
    package var host: RunHost

    package init(
        scenarios: [Scenario],
        duration: Duration,
        iterations: Int? = nil,
        threads: Int,
        seed: UInt64,
        perturbations: PerturbationKinds,
        stopsAtFirstFailure: Bool = false,
        alternates: Bool = false,
        roundLength: Duration = .milliseconds(400),
        host: RunHost
    ) {
        (self.scenarios, self.duration, self.iterations, self.threads) = (scenarios, duration, iterations, threads)
        (self.seed, self.perturbations, self.alternates) = (seed, perturbations, alternates)
        (self.stopsAtFirstFailure, self.roundLength, self.host) = (stopsAtFirstFailure, roundLength, host)
    }
}

/// Runs scenarios, round by round.
package struct Runner {
    package let plan: RunPlan
    package let progress: ProgressLine
    /// Writes the run's files; nil if there are none.
    package var recorder: RunRecorder?

    package init(plan: RunPlan, progress: ProgressLine, recorder: RunRecorder? = nil) {
        (self.plan, self.progress, self.recorder) = (plan, progress, recorder)
    }

    package struct Outcome {
        package var results: [ScenarioResult] = []
        package var memory: MemoryCourse?

        /// The exit code of the command. A violation has a higher rank than a missed window.
        package var exit: StressExit {
            if results.contains(where: { $0.verdict == .violated }) || memory?.hasGrown == true { return .violated }
            return results.contains { $0.verdict == .inconclusive } ? .inconclusive : .pass
        }
    }

    package func run() -> Outcome {
        Watchdog.shared.setRecorder(recorder)
        let perturbation = plan.host.perturbation(plan)
        let run = { plan.alternates ? runAlternating(perturbation) : runInOrder(perturbation) }
        let outcome = recorder?.watch(run) ?? run()
        progress.finish()
        recorder?.end(outcome.results, memory: outcome.memory)
        return outcome
    }

    /// Runs the scenarios one after the other, each for its share of the time.
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
        // A scenario with a short share may miss a window on a busy machine. It then goes on.
        let lastCall = end + UInt64(plan.lastCall.seconds * 1e9)
        repeat {
            let now = nanoseconds()
            // After the share, rounds have their full length.
            let remaining = now < end ? Duration.nanoseconds(Int64(end - now)) : plan.roundLength
            run.runRound(
                plan.iterations == nil ? max(.milliseconds(50), min(plan.roundLength, remaining)) : plan.roundLength
            )
            progress.update(run.result, run.violations)
        } while run.violations.isEmpty
            && (plan.iterations.map { run.result.rounds < $0 }
                ?? (nanoseconds() < end || (!run.result.missedWindows.isEmpty && nanoseconds() < lastCall)))
    }

    /// Runs one round of each scenario, again and again. Memory that a scenario leaks then adds up,
    /// and shows in resident memory.
    private func runAlternating(_ perturbation: Perturbation) -> Outcome {
        let start = nanoseconds()
        let end = start + UInt64(plan.duration.seconds * 1e9)
        let runs = plan.scenarios.map { ScenarioRun($0, plan, perturbation) }
        var memory = MemoryCourse(plan.host.memoryInvariant, warmUpSeconds: min(60, plan.duration.seconds / 4))
        var round = 0
        repeat {
            for run in runs where run.violations.isEmpty {
                progress.begin(run.result.scenario)
                recorder?.begin(run.result, run.violations)
                run.runRound(plan.roundLength)
                progress.update(run.result, run.violations)
                recorder?.end(runs.filter { $0.result.rounds > 0 }.map(\.result), memory: memory)
                if plan.stopsAtFirstFailure, !run.violations.isEmpty { return Outcome(results: runs.map(\.result)) }
            }
            memory.look(seconds: Double(nanoseconds() - start) / 1e9)
            recorder?.write(ending: .crash)
            round += 1
        } while plan.iterations.map { round < $0 } ?? (nanoseconds() < end)
        // In a short run, a scenario that has missed windows goes on until it reaches them.
        for run in runs where plan.iterations == nil && run.violations.isEmpty && !run.result.missedWindows.isEmpty {
            self.run(run, until: nanoseconds())
        }
        for run in runs { progress.end(run.result) }
        return Outcome(results: runs.map(\.result), memory: memory)
    }
}
