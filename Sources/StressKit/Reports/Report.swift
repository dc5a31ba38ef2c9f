// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A run as it is kept in a file. It has all data that tables and pages show.
package struct Report: Codable, Sendable {
    /// The version of the file's format. It grows by one if a field gets another meaning, or is
    /// removed.
    package static let currentSchema = 3

    package var schemaVersion = currentSchema
    /// The command, such as `run`.
    package var command: String
    package let seed: UInt64
    package let build: String
    package let threads: Int
    package let perturbations: [String]
    package let machine: MachineDescription
    package var seconds: Double
    package var exitCode: Int32
    /// The name of the exit code.
    package var verdict: String
    package var scenarios: [ScenarioRow] = []
    package var samples: [Sample] = []
    /// The course of resident memory; nil if the run was too short to show it.
    package var memory: MemoryCourse?

    package init(
        command: String,
        seed: UInt64 = 0,
        build: String,
        threads: Int = 0,
        perturbations: [String] = [],
        machine: MachineDescription,
        seconds: Double,
        exitCode: Int32,
        scenarios: [ScenarioRow] = [],
        samples: [Sample] = [],
        memory: MemoryCourse? = nil
    ) {
        (self.command, self.seed, self.build, self.threads) = (command, seed, build, threads)
        (self.perturbations, self.machine, self.seconds) = (perturbations, machine, seconds)
        (self.exitCode, self.scenarios, self.samples, self.memory) = (exitCode, scenarios, samples, memory)
        verdict = StressExit(rawValue: exitCode).map { "\($0)" } ?? "unknown"
    }

    /// The result of one scenario.
    package struct ScenarioRow: Codable, Sendable {
        package let name: String
        package let promises: [String]
        package let invariants: [String]
        package let seconds: Double
        package let rounds: Int
        package let operations: UInt64
        package let checks: UInt64
        package let windows: [WindowRow]
        package let violationCount: Int
        package let violations: [Violation]
        package let latencies: [LatencyRow]
        package let verdict: ScenarioVerdict
        /// The activities of the threads when the scenario hung; nil if it did not.
        package let dump: String?

        package var missedWindows: [String] { windows.filter { $0.hits == 0 }.map(\.name) }

        package init(_ result: ScenarioResult) {
            self.init(result, (result.violationCount, result.violations), result.verdict, nil)
        }

        /// Makes the row of a scenario that has not ended.
        ///
        /// - Parameter dump: The activities of its threads, if it hangs.
        package init(unfinished result: ScenarioResult, _ violations: Violations, dump: String?) {
            self.init(result, violations.summary, dump == nil ? .unfinished : .hang, dump)
        }

        package init(
            _ result: ScenarioResult,
            _ violations: (total: Int, first: [Violation]),
            _ verdict: ScenarioVerdict,
            _ dump: String?
        ) {
            let scenario = result.scenario
            (name, promises, self.verdict, self.dump) = (scenario.name, scenario.promises, verdict, dump)
            (seconds, rounds, operations, checks) = (result.seconds, result.rounds, result.operations, result.checks)
            windows = result.windows.map { WindowRow(name: $0.name, hits: $0.hits) }
            (violationCount, self.violations) = violations
            latencies = result.latencies.compactMap(LatencyRow.init)
            // A test does not list its invariants.
            invariants = scenario.invariants.isEmpty ? violations.first.map(\.invariant) : scenario.invariants
        }
    }

    package struct WindowRow: Codable, Sendable {
        package let name: String
        package let hits: UInt64
    }

    package struct LatencyRow: Codable, Sendable {
        package let name: String
        package let samples: UInt64
        package let p50: UInt64
        package let p90: UInt64
        package let p99: UInt64
        package let p999: UInt64
        package let p9999: UInt64
        package let max: UInt64

        package init?(_ name: String, _ histogram: Histogram) {
            guard histogram.total > 0 else { return nil }
            func quantile(_ fraction: Double) -> UInt64 { histogram.quantile(fraction)! }
            (self.name, samples, max) = (name, histogram.total, histogram.maximum)
            (p50, p90, p99) = (quantile(0.5), quantile(0.9), quantile(0.99))
            (p999, p9999) = (quantile(0.999), quantile(0.9999))
        }

        /// The median, the 99th percentile and the maximum as text.
        var text: String { "\(name) p50 \(Format.time(p50)), p99 \(Format.time(p99)), max \(Format.time(max))" }

        /// The points of a curve: the durations over the percentiles.
        var curve: [(x: Double, y: Double)] {
            zip(0..., [p50, p90, p99, p999, p9999, max]).map { (Double($0), Double($1)) }
        }
    }

    package var json: Data { get throws { try Self.json(self) } }

    package static func json(_ report: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(report)
    }

    /// Combines several reports: the machine of the first, the scenarios of all, and the exit code
    /// with the highest rank.
    ///
    /// - Precondition: There is at least one report.
    package init(merging reports: [Report]) {
        self = reports[0]
        let worst = reports.max { StressExit.severity(of: $0.exitCode) < StressExit.severity(of: $1.exitCode) }!
        command = Set(reports.map(\.command)).sorted().joined(separator: " and ")
        seconds = reports.reduce(0) { $0 + $1.seconds }
        (exitCode, verdict) = (worst.exitCode, worst.verdict)
        (scenarios, samples) = (reports.flatMap(\.scenarios), reports.flatMap(\.samples))
        memory = reports.compactMap(\.memory).first
    }
}

/// The result of a scenario in one word.
package enum ScenarioVerdict: String, Codable, Sendable {
    case pass, violated, inconclusive, hang
    /// The scenario was running when the report was written: the process has crashed, or was ended.
    case unfinished

    /// The word in tables. All words but a pass are in upper case.
    package var text: String { self == .pass ? rawValue : rawValue.uppercased() }
}
