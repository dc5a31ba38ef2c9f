// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation

/// Undoes the repairs of known defects, and lets the engines look for these defects.
struct CalibrateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "calibrate",
        abstract: "Take back the repairs of known defects: which engine finds each, unaided, and how fast.",
        discussion: """
            No engine is given a scenario, an injection point or an invariant. `plain` and `faults` are the smoke profile over and \
            over, `histories` every subject one after another, `explorer` every program with one preemption, then with two. A build with a sanitizer has one \
            engine, the sanitizer's. Models and litmus tests have their own scripts; `Scripts/kill-matrix.sh` merges all.
            """
    )

    @Argument(help: "Defects, as --list names them; without names, all.")
    var defect: [String] = []

    @Flag(help: "List the defects, with their sources.")
    var list = false

    @Flag(help: "List the tests that take a repair back.")
    var listTests = false

    @Option(help: "May be repeated; without one, all.")
    var engine: [CalibratedEngine] = []

    @Option(
        help: "How long an engine looks for one defect; without it, a minute. \(DurationArgument.help)",
        transform: DurationArgument.init(parsing:)
    )
    var budget = DurationArgument(.seconds(60))

    @Option(help: "The first seed.")
    var seed: UInt64 = 1

    @OptionGroup(title: "Reports")
    var files: ReportFiles

    enum CalibratedEngine: String, ExpressibleByArgument, CaseIterable {
        case plain, faults, explorer, histories

        var engine: Kill.Engine {
            switch self {
            case .plain: .plain
            case .faults: .faults
            case .explorer: .explorer
            case .histories: .histories
            }
        }
    }

    mutating func validate() throws {
        for name in defect where KnownDefect.named(name) == nil {
            throw unknown("defect", name, among: KnownDefect.all.map(\.name), listedBy: "stress calibrate --list")
        }
    }

    func run() throws {
        let chosen = defect.isEmpty ? KnownDefect.all : defect.map { KnownDefect.named($0)! }
        if list {
            for defect in chosen { print("\(defect.name) (\(defect.origin.text)): \(defect.summary)") }
            return
        }
        if listTests {
            for test in chosen.flatMap(\.tests.names) { print(test) }
            return
        }
        let start = nanoseconds()
        var trials: [Trial] = []
        var report = CommandReport(trials, seed: seed, since: start)
        for engine in engines {
            for defect in [nil] + chosen.map(Optional.some) {
                if let defect, defect.seeded.names.isEmpty { continue }
                let trial = try look(for: defect, engine)
                let name = defect?.name ?? "nothing taken back"
                let found = trial.catcher.map { "\($0) in \(trial.place ?? "?")" } ?? "nothing, \(trial.extent ?? "")"
                StandardError.print("\(engine.title): \(name): \(found), \(Format.seconds(trial.seconds))")
                trials.append(trial)
                report = CommandReport(trials, seed: seed, since: start)
                files.write(report)
            }
        }
        print(Calibration([], trials, defects: chosen).text)
        print("stress: \(report.verdict), seed \(seed), \(Format.seconds(report.seconds))")
        throw StressExit(rawValue: report.exitCode)!
    }

    private var engines: [Kill.Engine] {
        switch Sanitizer.current {
        case .thread: [.thread]
        case .address: [.address]
        case .realtime: [.realtime]
        case nil: engine.isEmpty ? [.plain, .faults, .explorer, .histories] : engine.map(\.engine)
        }
    }

    private func look(for defect: KnownDefect?, _ engine: Kill.Engine) throws -> Trial {
        let start = nanoseconds()
        let bug = try (defect?.seeded.names.first).map(SeededBug.init(parsing:))
        let (finding, extent): (Hunt.Finding?, String)
        switch engine {
        case .explorer: (finding, extent) = explore(bug)
        case .histories: (finding, extent) = try recordHistories(bug)
        default: (finding, extent) = try runScenarios(bug, withFaults: engine == .faults)
        }
        return Trial(
            defect: defect?.name,
            engine: engine,
            catcher: finding?.catcher,
            place: finding?.place,
            seconds: Double(nanoseconds() - start) / 1e9,
            extent: extent
        )
    }

    /// Runs the smoke profile repeatedly, each time with another seed.
    private func runScenarios(_ bug: SeededBug?, withFaults: Bool) throws -> (Hunt.Finding?, String) {
        let end = nanoseconds() + UInt64(budget.duration.seconds * 1e9)
        var seeds = Generator(seed: seed, stream: 0)
        var runs = 0
        repeat {
            var arguments = ["run", "--seed", "\(seeds.next() >> 32)"]
            if withFaults { arguments += ["--perturb", "yield,stall,affinity,faults"] }
            if let bug { arguments += ["--mutant", bug.rawValue] }
            runs += 1
            if let finding = try Hunt(arguments: arguments, limit: .seconds(150)).run() {
                return (finding, "smoke runs: \(runs)")
            }
        } while nanoseconds() < end
        return (nil, "smoke runs: \(runs)")
    }

    /// Records histories of one subject after the other.
    private func recordHistories(_ bug: SeededBug?) throws -> (Hunt.Finding?, String) {
        let batch = 20_000
        let end = nanoseconds() + UInt64(budget.duration.seconds * 1e9)
        var seeds = Generator(seed: seed, stream: 0)
        var batches = 0
        repeat {
            for subject in HistorySubject.all {
                var arguments = ["histories", subject.name, "--histories", "\(batch)"]
                arguments += ["--seed", "\(seeds.next() >> 32)"]
                if let bug { arguments += ["--mutant", bug.rawValue] }
                batches += 1
                if let finding = try Hunt(arguments: arguments, limit: .seconds(150)).run() {
                    return (Hunt.Finding(catcher: finding.catcher, place: finding.place ?? subject.name), "")
                }
            }
        } while nanoseconds() < end
        return (nil, "\(Format.count(UInt64(batches * batch))) histories")
    }

    /// Explores one program after the other: first all with one preemption, then with two until the
    /// time is over.
    private func explore(_ bug: SeededBug?) -> (Hunt.Finding?, String) {
        let end = nanoseconds() + UInt64(budget.duration.seconds * 1e9)
        var explored = 0
        for bound in 1...2 {
            for program in LibraryProgram.all where bound == 1 || nanoseconds() < end {
                if case .found(let invariant, _, _, _) = ExplorationProcess.explore(program, .depthFirst(bound, bug)) {
                    return (Hunt.Finding(catcher: invariant, place: program.name), "")
                }
                explored += bound - 1
            }
        }
        return (nil, "one preemption, and two in \(explored) of \(LibraryProgram.all.count) programs")
    }
}

extension CommandReport {
    /// Makes the report of `stress calibrate` so far. A defect that is not found is no failure
    /// here, because `stress report` needs the results of all engines for that.
    fileprivate init(_ trials: [Trial], seed: UInt64, since start: UInt64) {
        let exit: StressExit = trials.contains { $0.defect == nil && $0.catcher != nil } ? .violated : .pass
        self.init("calibrate", seed: seed, seconds: Double(nanoseconds() - start) / 1e9, exit: exit, trials: trials)
    }
}
