// SPDX-License-Identifier: Apache-2.0

/// Keeps the files of a run correct at any moment. They are also written before each scenario, as
/// they must be if the process crashes in it.
package final class RunRecorder: Sendable {
    private struct State {
        var finished: [ScenarioResult] = []
        var running: (result: ScenarioResult, violations: Violations)?
        var memory: MemoryCourse?
    }

    private let plan: RunPlan
    private let save: (@Sendable (Report) -> Void)?
    private let start = nanoseconds()
    private let state = Guarded(State())
    /// Takes samples of the run; nil if no file shows them.
    private let sampler: Sampler?

    /// Makes a recorder.
    ///
    /// - Parameter save: Writes the files; nil if there are none.
    package init(_ plan: RunPlan, save: (@Sendable (Report) -> Void)?) {
        (self.plan, self.save) = (plan, save)
        sampler = save == nil ? nil : Sampler(plan.host, total: plan.iterations == nil ? plan.duration : .zero)
    }

    /// Takes samples of the run while `body` runs.
    func watch<Result>(_ body: () -> Result) -> Result { sampler.map { $0.watch(body) } ?? body() }

    /// Records that a scenario begins, or a round of one if scenarios alternate.
    func begin(_ result: ScenarioResult, _ violations: Violations) {
        state.withLock { $0.running = (result, violations) }
        if !plan.alternates { write(ending: .crash) }
    }

    func end(_ results: [ScenarioResult], memory: MemoryCourse? = nil) {
        state.withLock {
            $0.running = nil
            $0.finished = results
            $0.memory = memory
        }
    }

    /// Writes the files as they must be if the process ended now.
    ///
    /// - Parameter dump: The activities of the threads, if the run hangs.
    @discardableResult
    package func write(ending exit: StressExit, dump: String? = nil) -> Report {
        let state = state.withLock { $0 }
        let running = state.running.map { Report.ScenarioRow(unfinished: $0.result, $0.violations, dump: dump) }
        let report = Report(
            command: "run",
            seed: plan.seed,
            build: plan.host.build,
            threads: plan.threads,
            perturbations: (PerturbationKinds.delays + plan.host.faults).filter { plan.perturbations.contains($0.kind) }
                .map(\.name),
            machine: MachineDescription(plan.host.facts),
            seconds: Double(nanoseconds() - start) / 1e9,
            exitCode: exit.rawValue,
            scenarios: state.finished.map(Report.ScenarioRow.init) + (running.map { [$0] } ?? []),
            samples: sampler?.all ?? [],
            memory: state.memory
        )
        save?(report)
        return report
    }
}
