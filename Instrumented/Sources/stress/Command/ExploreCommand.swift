// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation

/// Runs small programs on the library under one schedule after the other.
struct ExploreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explore",
        abstract:
            "Run small programs on the library's own code under controlled schedules; without names, all of them.",
        discussion: """
            One thread runs at a time, and may be switched at every step: this covers sequential consistency only. What the \
            processor's memory does beyond that is for the models (Scripts/check-models.sh).
            """
    )

    @Argument(help: "Programs, as `stress explore --list` names them.")
    var program: [String] = []

    @Flag(help: "List the programs.")
    var list = false

    @OptionGroup var search: SearchOptions

    mutating func validate() throws {
        for name in program where LibraryProgram.named(name) == nil {
            throw unknown("program", name, among: LibraryProgram.all.map(\.name), listedBy: "stress explore --list")
        }
    }

    func run() throws {
        if list {
            for program in LibraryProgram.all { print("\(program.name): \(program.summary)") }
            return
        }
        if search.isChild { ExplorationChild.explore(LibraryProgram.named(program[0])!, search) }
        print("stress: sequential consistency only; \(search.text)")
        var worst = StressExit.pass
        for program in program.isEmpty ? LibraryProgram.all : program.map({ LibraryProgram.named($0)! }) {
            let report = ExplorationReport(program, search)
            print(report.text)
            fflush(nil)
            if worst == .pass { worst = report.exit }
        }
        throw worst
    }
}

/// The options that choose the schedules.
struct SearchOptions: ParsableArguments {
    @Option(help: "All schedules with at most so many preemptions.")
    var bound: Int = 2

    @Option(help: "Instead: random priorities that change at so many steps less one, --runs times (PCT).")
    var pct: Int?

    @Flag(help: "Instead: any thread at every step, --runs times.")
    var random = false

    @Flag(help: "Instead: the next thread at every step, once.")
    var roundRobin = false

    @Option(help: "Schedules to run at most; 10,000 with --pct and --random, else as many as there are.")
    var runs: Int?

    @Option(help: "Reproduces the schedules of --pct and --random.")
    var seed: UInt64 = 1

    @Option(
        help: """
            Adds faults to the programs, one a schedule: a list as in no-thread,exit; or all. A fault costs as much as a \
            preemption.
            """
    )
    var faults: String?

    @Option(help: "Switch on a seeded bug, as `stress mutants --list` names it.", transform: SeededBug.init(parsing:))
    var mutant: SeededBug?

    @Option(help: .hidden)
    var omit: String = "none"

    @Flag(name: .customLong("child"), help: .hidden)
    var isChild = false

    mutating func validate() throws {
        guard (0...8).contains(bound) else { throw ValidationError("--bound takes 0 to 8, not \(bound)") }
        if let pct, !(1...16).contains(pct) { throw ValidationError("--pct takes 1 to 16, not \(pct)") }
        if let runs, runs < 1 { throw ValidationError("--runs takes 1 or more, not \(runs)") }
        if [pct != nil, random, roundRobin].count(where: { $0 }) > 1 {
            throw ValidationError("--pct, --random and --round-robin exclude each other")
        }
        if let faults, ExploredFaults(text: faults) == nil {
            throw ValidationError("--faults takes any of no-thread, exit, or all, not '\(faults)'")
        }
        guard Omissions(text: omit) != nil else { throw ValidationError("--omit takes operations, not '\(omit)'") }
    }

    var addedFaults: ExploredFaults { faults.flatMap { ExploredFaults(text: $0) } ?? [] }

    /// Returns the options for all schedules with at most `bound` preemptions.
    static func depthFirst(
        _ bound: Int,
        _ mutant: SeededBug?,
        _ omissions: Omissions = Omissions(),
        faults: ExploredFaults = [],
        runs: Int? = nil
    ) -> SearchOptions {
        var search = SearchOptions()
        (search.bound, search.pct, search.random, search.roundRobin) = (bound, nil, false, false)
        (search.runs, search.seed, search.mutant, search.omit, search.isChild) = (
            runs, 1, mutant, omissions.text, false
        )
        search.faults = faults.isEmpty ? nil : faults.text
        return search
    }

    /// The options as arguments of a command line.
    var arguments: [String] {
        var arguments = ["--bound", "\(bound)", "--seed", "\(seed)", "--omit", omit]
        if let pct { arguments += ["--pct", "\(pct)"] }
        if random { arguments.append("--random") }
        if roundRobin { arguments.append("--round-robin") }
        if let runs { arguments += ["--runs", "\(runs)"] }
        if let mutant { arguments += ["--mutant", mutant.rawValue] }
        if let faults { arguments += ["--faults", faults] }
        return arguments
    }

    /// The strategy; nil for all schedules with at most `bound` preemptions.
    var strategy: (any Strategy)? {
        if let pct { return PriorityWalk(depth: pct, seed: seed, runs: runs ?? 10_000) }
        if random { return RandomWalk(seed: seed, runs: runs ?? 10_000) }
        if roundRobin { return RoundRobin() }
        return nil
    }

    var isExhaustive: Bool { strategy == nil }

    var text: String {
        if let pct { return "random priorities, depth \(pct), seed \(seed)" }
        if random { return "random schedules, seed \(seed)" }
        if roundRobin { return "the next thread at every step" }
        return faults == nil
            ? "all schedules with at most \(bound) preemptions"
            : "all schedules with at most \(bound) preemptions; one of them may be a fault: \(addedFaults.text)"
    }
}
