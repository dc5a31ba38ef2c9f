// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation

/// Shows that the checks can fail: each seeded bug must be found, and without a bug nothing may be
/// found.
struct MutantsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mutants",
        abstract:
            "Switch on every seeded bug of this build's engine, one after another: each must be caught by what it names."
    )

    @Argument(
        help:
            "Seeded bugs, each as one word with hyphens or as its sentence in quotes; without any, all of the engine.",
        transform: SeededBug.init(parsing:)
    )
    var mutant: [SeededBug] = []

    @Option(help: "Seeds to try each with: it must be caught with every one.")
    var seeds: Int = 1

    @Option(help: "The first seed.")
    var seed: UInt64 = 1

    @Option(help: "run: scenarios on real threads. explorer: controlled schedules. histories: `stress histories`.")
    var engine: MutantsEngine = .run

    enum MutantsEngine: String, ExpressibleByArgument, CaseIterable { case run, explorer, histories }

    @Flag(help: "List the seeded bugs, and which engine looks for each in what.")
    var list = false

    @OptionGroup(title: "Reports")
    var files: ReportFiles

    mutating func validate() throws {
        guard (1...1000).contains(seeds) else { throw ValidationError("--seeds takes 1 to 1000, not \(seeds)") }
    }

    func run() throws {
        CatalogueCheck.enforce()
        if list { return print(Self.catalogue) }
        let others = mutant.filter { !bugsOfEngine.contains($0) }
        guard others.isEmpty else {
            let names = others.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("this build's engine '\(engine)' does not look for: \(names); see --list")
        }
        let start = nanoseconds()
        var kills =
            switch engine {
            case .run: try runScenarios()
            case .explorer: ExplorerMutants.run(mutant)
            case .histories: try HistoryMutants.run(mutant, seed: seed)
            }
        kills += absent
        let report = CommandReport(kills, seed: seed, seconds: Double(nanoseconds() - start) / 1e9)
        files.write(report)
        let matrix = KillMatrix(kills)
        print(matrix.text)
        print("stress: \(report.verdict), seed \(seed), \(Format.seconds(report.seconds))")
        throw StressExit(rawValue: report.exitCode)!
    }

    /// The results for bugs that this build's backend cannot have. The report names each of them.
    private var absent: [Kill] {
        guard mutant.isEmpty else { return [] }
        return switch engine {
        case .run:
            Mutant.ofEveryBackend.filter { SeededBug.absent.contains($0.bug) && $0.engine == engineOfBuild }
                .map { Kill(absent: $0.bug.rawValue, $0.killEngine, in: $0.scenario) }
        case .explorer:
            ExplorerMutant.ofEveryBackend.filter { SeededBug.absent.contains($0.bug) }
                .map { Kill(absent: $0.bug.rawValue, .explorer, in: $0.program) }
        case .histories: []
        }
    }

    private var bugsOfEngine: [SeededBug] {
        switch engine {
        case .run: mutantsOfBuild.map(\.bug)
        case .explorer: ExplorerMutant.all.map(\.bug)
        case .histories: HistoryMutant.all.map(\.bug)
        }
    }

    /// The seeded bugs for the scenarios of this build.
    private var mutantsOfBuild: [Mutant] {
        Mutant.all.filter { $0.engine == engineOfBuild }
    }

    private var engineOfBuild: Mutant.Engine { Sanitizer.current.map(Mutant.Engine.sanitizer) ?? .plain }

    /// The list of all seeded bugs, each with its engine and with the place where the engine looks
    /// for it.
    private static var catalogue: String {
        var table = TextTable([("seeded bug", false), ("engine", false), ("looked for in", false)])
        for mutant in Mutant.all where mutant.killEngine != .histories {
            table.add([mutant.bug.rawValue, mutant.engineAsTyped, mutant.scenario])
        }
        for mutant in ExplorerMutant.all { table.add([mutant.bug.rawValue, "explorer", mutant.program]) }
        for mutant in HistoryMutant.all { table.add([mutant.bug.rawValue, "histories", mutant.subject]) }
        return table.text
    }

    /// Runs the scenarios of this build with each seeded bug, and each scenario without a bug.
    private func runScenarios() throws -> [Kill] {
        let chosen = mutantsOfBuild.filter { mutant.isEmpty || mutant.contains($0.bug) }
        let kills = try kill(chosen)
        let controls = Set(chosen.map(\.scenario)).sorted().map { scenario in
            let own = chosen.filter { $0.scenario == scenario }
            let run = ChildRun(control: scenario, seed: seed, budget: Self.controlBudget(kills, scenario))
            // A control has no faults.
            let kind = own.first { $0.faults.isEmpty } ?? own[0]
            return (run: run, engine: kind.killEngine, isAlone: kind.needsTheMachine)
        }
        let clean = try inPairs(controls) { $0.isAlone ? nil : printed(try kill(control: $0.run, $0.engine)) }
        return kills + (try zip(clean, controls).map { try $0 ?? printed(kill(control: $1.run, $1.engine)) })
    }

    /// Looks for the bugs for a short time, two at a time. Then looks for each bug that was not
    /// found, one at a time, for its whole budget.
    private func kill(_ mutants: [Mutant]) throws -> [Kill] {
        let hunts = mutants.flatMap { mutant in (seed..<seed + UInt64(seeds)).map { (mutant: mutant, seed: $0) } }
        let caught = try inPairs(hunts) { mutant, seed -> Kill? in
            if mutant.needsTheMachine { return nil }
            let kill = try kill(mutant, seed: seed, within: min(mutant.budget, .seconds(3)))
            return kill.isFailure ? nil : printed(kill)
        }
        return try zip(caught, hunts).map {
            try $0 ?? printed(kill($1.mutant, seed: $1.seed, within: $1.mutant.budget))
        }
    }

    /// Returns the time for which a scenario runs without a bug. It is four times as long as the
    /// search for its slowest bug, without waits that ended without an event, but between 2 s and
    /// 6 s.
    private static func controlBudget(_ kills: [Kill], _ scenario: String) -> Duration {
        let slowest = kills.filter { $0.scenario == scenario }.map { $0.secondsToFind ?? $0.seconds }.max() ?? 0
        return .seconds(min(6, max(2, 4 * slowest)))
    }

    /// Runs the scenario with the seeded bug, and returns the result.
    private func kill(_ mutant: Mutant, seed: UInt64, within budget: Duration) throws -> Kill {
        let (catcher, outcome) = try mutant.hunt(seed: seed, within: budget)
        return Kill(
            mutant: mutant.bug.rawValue,
            engine: mutant.killEngine,
            scenario: mutant.scenario,
            seed: seed,
            verdict: catcher == nil ? .survived : .killed,
            outcome: outcome,
            catcher: catcher
        )
    }

    /// Runs the scenario without a bug, and returns the result.
    private func kill(control: ChildRun, _ engine: Kill.Engine) throws -> Kill {
        let outcome = try control.run()
        if !outcome.isClean { StandardError.print(outcome.output) }
        return Kill(
            mutant: nil,
            engine: engine,
            scenario: control.scenario,
            seed: control.seed,
            verdict: outcome.isClean ? .clean : .failed,
            outcome: outcome,
            catcher: nil
        )
    }

    /// Prints the result at once, and returns it.
    private func printed(_ kill: Kill) -> Kill {
        let name = kill.mutant ?? "control \(kill.scenario)"
        StandardError.print("\(name): \(kill.text), seed \(kill.seed), \(Format.seconds(kill.seconds))")
        return kill
    }
}

extension Kill {
    fileprivate init(
        mutant: String?,
        engine: Engine,
        scenario: String,
        seed: UInt64,
        verdict: Verdict,
        outcome: ChildRun.Outcome,
        catcher: Mutant.Catcher?
    ) {
        let isExpected = verdict == .killed || verdict == .clean
        self.init(
            mutant: mutant,
            engine: engine,
            scenario: scenario,
            seed: seed,
            verdict: verdict,
            catcher: catcher?.text,
            signal: outcome.signal,
            seconds: outcome.seconds,
            output: isExpected ? nil : "exit \(outcome.exit)\n\(outcome.output)",
            secondsToFind: outcome.secondsToFind
        )
    }
}

extension CommandReport {
    /// Makes the report of `stress mutants`.
    fileprivate init(_ kills: [Kill], seed: UInt64, seconds: Double) {
        let matrix = KillMatrix(kills)
        let exit: StressExit = matrix.failedControls > 0 ? .violated : matrix.survivors > 0 ? .mutantSurvived : .pass
        self.init("mutants", seed: seed, seconds: seconds, exit: exit, kills: kills)
    }
}
