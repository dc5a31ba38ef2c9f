// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A report of this command: a run, and the results for seeded bugs and known defects. A file has
/// one object.
@dynamicMemberLookup
struct CommandReport: Codable, Sendable {
    var run: Report
    /// The results for the seeded bugs.
    var kills: [Kill] = []
    /// The engines' results for known defects; nil if they were not asked for.
    var trials: [Trial]?

    subscript<Value>(dynamicMember member: KeyPath<Report, Value>) -> Value { run[keyPath: member] }

    init(_ run: Report, kills: [Kill] = [], trials: [Trial]? = nil) {
        (self.run, self.kills, self.trials) = (run, kills, trials)
    }

    /// Makes the report of a command that runs no scenarios itself.
    init(
        _ command: String,
        seed: UInt64,
        seconds: Double,
        exit: StressExit,
        kills: [Kill] = [],
        trials: [Trial]? = nil
    ) {
        let run = Report(
            command: command,
            seed: seed,
            build: LibraryBuild.name,
            threads: usualThreads,
            perturbations: PerturbationArgument.usual.kinds.list,
            machine: MachineDescription(LibraryBuild.facts),
            seconds: seconds,
            exitCode: exit.rawValue
        )
        self.init(run, kills: kills, trials: trials)
    }

    private enum Key: CodingKey { case command, exitCode, seconds, kills, trials }

    func encode(to encoder: any Encoder) throws {
        try run.encode(to: encoder)
        var fields = encoder.container(keyedBy: Key.self)
        try fields.encode(kills, forKey: .kills)
        try fields.encodeIfPresent(trials, forKey: .trials)
    }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Key.self)
        kills = try fields.decode([Kill].self, forKey: .kills)
        trials = try fields.decodeIfPresent([Trial].self, forKey: .trials)
        // The report of another engine has only its kills.
        run =
            if let run = try? Report(from: decoder) { run } else {
                Report(
                    command: try fields.decode(String.self, forKey: .command),
                    build: LibraryBuild.name,
                    machine: MachineDescription(LibraryBuild.facts),
                    seconds: try fields.decode(Double.self, forKey: .seconds),
                    exitCode: try fields.decode(Int32.self, forKey: .exitCode)
                )
            }
    }

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
        guard schema.schemaVersion == Report.currentSchema else {
            throw Failure(
                message: "'\(path)' has schema \(schema.schemaVersion), this command reads \(Report.currentSchema)"
            )
        }
        guard let report = try? JSONDecoder().decode(Self.self, from: data) else {
            throw Failure(
                message: "'\(path)' is not whole: it says schema \(schema.schemaVersion), but fields are missing"
            )
        }
        self = report
    }

    /// Combines several reports: see ``Report/init(merging:)``.
    init(merging reports: [CommandReport]) {
        run = Report(merging: reports.map(\.run))
        kills = reports.flatMap(\.kills)
        trials = reports.contains { $0.trials != nil } ? reports.flatMap { $0.trials ?? [] } : nil
    }

    // MARK: As files

    var json: Data { get throws { try Report.json(self) } }

    var junit: String {
        let isWatched = run.machine.sanitizer == Sanitizer.realtime.rawValue
        return JUnitReport.text(
            run,
            skipped: isWatched ? [:] : [Realtime.invariant: "RealtimeSanitizer alone checks it"],
            Kill.Engine.allCases.compactMap { engine in
                let kills = kills.filter { $0.engine == engine }
                return kills.isEmpty ? nil : suite(engine, kills)
            }
        )
    }

    private func suite(_ engine: Kill.Engine, _ kills: [Kill]) -> JUnitReport.Suite {
        let cases = kills.map { kill in
            var one = JUnitReport.Case("\(kill.mutant ?? "control"), \(kill.scenario), seed \(kill.seed)", kill.seconds)
            if kill.verdict == .absent { one.outcome = ("skipped", kill.text, "") }
            if kill.isFailure { one.outcome = ("failure", kill.text, kill.output ?? "") }
            return one
        }
        return .init("mutants, \(engine.title)", kills.reduce(0) { $0 + $1.seconds }, cases)
    }

    var html: String {
        let engines = kills.map(\.engine) + (trials ?? []).map(\.engine)
        var page = HTMLReport.Additions()
        page.hasSeed = engines.isEmpty || engines.contains(where: \.hasSeed)
        page.hasScenarios = engines.isEmpty || engines.contains(where: \.runsScenarios)
        if !page.hasSeed {
            page.note = "A schedule that the explorer prints is replayed step by step by `stress replay`."
        }
        page.failures = kills.filter(\.isFailure).map { kill in
            HTMLReport.card(
                "\(kill.mutant ?? "control"): \(kill.text)",
                "\(kill.engine.title), \(kill.scenario)" + (kill.engine.hasSeed ? ", seed \(kill.seed)" : ""),
                HTMLReport.pre(kill.output ?? "")
            )
        }
        page.sections = [HTMLReport.killMatrix(self), HTMLReport.calibration(self)]
        return HTMLReport.text(run, page)
    }
}
