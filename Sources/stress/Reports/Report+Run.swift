// SPDX-License-Identifier: Apache-2.0

import Foundation

extension Report {
    /// Makes the report of `stress run`.
    init(
        _ results: [ScenarioRow],
        plan: RunPlan,
        exit: StressExit,
        seconds: Double,
        samples: [Sample],
        memory: MemoryCourse?
    ) {
        self.init(
            command: "run",
            seed: plan.seed,
            build: LibraryBuild.name,
            threads: plan.threads,
            perturbations: plan.perturbations.list,
            machine: MachineDescription(),
            seconds: seconds,
            exitCode: exit.rawValue,
            verdict: "\(exit)",
            scenarios: results,
            samples: samples,
            kills: [],
            memory: memory
        )
    }
}

extension Report.ScenarioRow {
    init(_ result: ScenarioResult) {
        self.init(
            result,
            violations: result.violations,
            count: result.violationCount,
            verdict: result.verdict,
            dump: nil
        )
    }

    /// A scenario that is not over.
    ///
    /// - Parameter dump: The activities of its threads, if it hangs.
    init(unfinished result: ScenarioResult, _ violations: Violations, dump: String?) {
        let (count, first) = violations.summary
        let verdict: ScenarioVerdict = dump == nil ? .unfinished : .hang
        self.init(result, violations: first, count: count, verdict: verdict, dump: dump)
    }

    private init(
        _ result: ScenarioResult,
        violations: [Violation],
        count: Int,
        verdict: ScenarioVerdict,
        dump: String?
    ) {
        self.init(
            name: result.scenario.name,
            promises: result.scenario.promises,
            invariants: result.scenario.invariants,
            seconds: result.seconds,
            rounds: result.rounds,
            operations: result.operations,
            checks: result.checks,
            windows: result.windows.map { Report.WindowRow(name: $0.name, hits: $0.hits) },
            violationCount: count,
            violations: violations,
            notifyNanoseconds: Report.LatencyRow(result.notify),
            cancelAndWaitNanoseconds: Report.LatencyRow(result.wait),
            verdict: verdict,
            dump: dump
        )
    }
}
