// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A run as it is kept in a file: all that its tables and pages show.
struct Report: Codable, Sendable {
    /// Grows by one when a field changes its meaning or goes.
    static let currentSchema = 2

    var schemaVersion = currentSchema
    /// The command: `run`, `mutants`, or `calibrate`.
    let command: String
    let seed: UInt64
    let build: String
    let threads: Int
    let perturbations: [String]
    let machine: MachineDescription
    let seconds: Double
    let exitCode: Int32
    /// The exit code in a word.
    let verdict: String
    let scenarios: [ScenarioRow]
    let samples: [Sample]
    /// The results for the seeded bugs.
    let kills: [Kill]
    /// How resident memory went, where the run was long enough to show it.
    let memory: MemoryCourse?
    /// The engines' results for known defects, if they were asked for.
    var trials: [Trial]?

    struct ScenarioRow: Codable, Sendable {
        let name: String
        let promises: [String]
        let invariants: [String]
        let seconds: Double
        let rounds: Int
        let operations: UInt64
        let checks: UInt64
        let windows: [WindowRow]
        let violationCount: Int
        let violations: [Violation]
        let notifyNanoseconds: LatencyRow?
        let cancelAndWaitNanoseconds: LatencyRow?
        let verdict: ScenarioVerdict
        /// The threads' activities when it hung.
        let dump: String?

        var missedWindows: [String] { windows.filter { $0.hits == 0 }.map(\.name) }
    }

    struct WindowRow: Codable, Sendable {
        let name: String
        let hits: UInt64
    }

    struct LatencyRow: Codable, Sendable {
        let samples: UInt64
        let p50: UInt64
        let p90: UInt64
        let p99: UInt64
        let p999: UInt64
        let p9999: UInt64
        let max: UInt64

        init?(_ histogram: Histogram) {
            guard histogram.total > 0 else { return nil }
            func quantile(_ fraction: Double) -> UInt64 { histogram.quantile(fraction)! }
            samples = histogram.total
            p50 = quantile(0.5)
            p90 = quantile(0.9)
            p99 = quantile(0.99)
            p999 = quantile(0.999)
            p9999 = quantile(0.9999)
            max = histogram.maximum
        }
    }
}

/// How a scenario went, as reports name it.
enum ScenarioVerdict: String, Codable, Sendable {
    case pass, violated, inconclusive, hang
    /// It was running when the report was written: the process has crashed, or was ended.
    case unfinished

    /// The word for tables, in which all but a pass stands out.
    var text: String { self == .pass ? rawValue : rawValue.uppercased() }
}

extension Report {
    struct Failure: Error { let message: String }

    /// Reads a report.
    init(contentsOf path: String) throws(Failure) {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw Failure(message: "cannot read '\(path)'")
        }
        struct Schema: Decodable { let schemaVersion: Int }
        guard let schema = try? JSONDecoder().decode(Schema.self, from: data) else {
            throw Failure(message: "'\(path)' is not a report of this command")
        }
        guard schema.schemaVersion == Self.currentSchema else {
            throw Failure(
                message: "'\(path)' has schema \(schema.schemaVersion), this command reads \(Self.currentSchema)"
            )
        }
        if let report = try? JSONDecoder().decode(Report.self, from: data) {
            self = report
        } else if let kills = try? JSONDecoder().decode(Kills.self, from: data) {
            self.init(kills)
        } else {
            throw Failure(
                message: "'\(path)' is not whole: it says schema \(schema.schemaVersion), but fields are missing"
            )
        }
    }

    /// The kills in the report of another engine than this command. The rest is ignored.
    private struct Kills: Decodable {
        let command: String
        let exitCode: Int32
        let seconds: Double
        let kills: [Kill]
    }

    private init(_ kills: Kills) {
        self.init(
            command: kills.command,
            seed: 0,
            build: LibraryBuild.name,
            threads: 0,
            perturbations: [],
            machine: MachineDescription(),
            seconds: kills.seconds,
            exitCode: kills.exitCode,
            verdict: StressExit(rawValue: kills.exitCode).map { "\($0)" } ?? "unknown",
            scenarios: [],
            samples: [],
            kills: kills.kills,
            memory: nil
        )
    }

    var json: Data {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            return try encoder.encode(self)
        }
    }

    /// Several reports as one: the machine of the first, the scenarios and kills of all, the worst
    /// end.
    init(merging reports: [Report]) {
        let first = reports[0]
        let worst = reports.max { StressExit.severity(of: $0.exitCode) < StressExit.severity(of: $1.exitCode) }!
        self.init(
            command: Set(reports.map(\.command)).sorted().joined(separator: " and "),
            seed: first.seed,
            build: first.build,
            threads: first.threads,
            perturbations: first.perturbations,
            machine: first.machine,
            seconds: reports.reduce(0) { $0 + $1.seconds },
            exitCode: worst.exitCode,
            verdict: worst.verdict,
            scenarios: reports.flatMap(\.scenarios),
            samples: reports.flatMap(\.samples),
            kills: reports.flatMap(\.kills),
            memory: reports.compactMap(\.memory).first,
            trials: reports.contains { $0.trials != nil } ? reports.flatMap { $0.trials ?? [] } : nil
        )
    }
}
