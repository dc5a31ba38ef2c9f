// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A run as a machine reads it.
struct JSONReport: Encodable {
    /// Grows by one when a field changes its meaning or goes.
    let schemaVersion = 1
    let seed: UInt64
    let build = LibraryBuild.name
    let threads: Int
    let machine: MachineDescription
    let exitCode: Int32
    let scenarios: [ScenarioRow]

    struct ScenarioRow: Encodable {
        let name: String
        let promises: [String]
        let invariants: [String]
        let seconds: Double
        let epochs: Int
        let operations: UInt64
        let checks: UInt64
        let windows: [WindowRow]
        let violationCount: Int
        let violations: [Violation]
        let notifyNanoseconds: LatencyRow?
        let cancelAndWaitNanoseconds: LatencyRow?
        let verdict: String
    }

    struct WindowRow: Encodable {
        let name: String
        let hits: UInt64
    }

    struct LatencyRow: Encodable {
        let samples: UInt64
        let p50: UInt64
        let p99: UInt64
        let p999: UInt64
        let max: UInt64

        init?(_ histogram: Histogram) {
            guard let p50 = histogram.quantile(0.5), let p99 = histogram.quantile(0.99),
                let p999 = histogram.quantile(0.999)
            else { return nil }
            (samples, self.p50, self.p99, self.p999, max) = (histogram.total, p50, p99, p999, histogram.maximum)
        }
    }

    init(_ results: [ScenarioResult], plan: RunPlan) {
        seed = plan.seed
        threads = plan.threads
        machine = MachineDescription()
        exitCode = results.exit.rawValue
        scenarios = results.map { result in
            ScenarioRow(
                name: result.scenario.name,
                promises: result.scenario.promises,
                invariants: result.scenario.invariants,
                seconds: result.seconds,
                epochs: result.epochs,
                operations: result.operations,
                checks: result.checks,
                windows: result.windows.map { WindowRow(name: $0.name, hits: $0.hits) },
                violationCount: result.violationCount,
                violations: result.violations,
                notifyNanoseconds: LatencyRow(result.notify),
                cancelAndWaitNanoseconds: LatencyRow(result.wait),
                verdict: result.verdictText
            )
        }
    }

    func write(to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        try encoder.encode(self).write(to: URL(fileURLWithPath: path))
    }
}
