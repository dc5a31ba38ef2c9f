// SPDX-License-Identifier: Apache-2.0

#if INSTRUMENTED
import ArgumentParser
import Foundation

/// Proves that the checks can fail: each seeded bug must be caught, and without one nothing.
struct MutantsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mutants",
        abstract: "Switch on every seeded bug of this build's engine in turn: each must be caught by what it names."
    )

    @Argument(help: "Mutants by name; without names, all of this build's engine.")
    var mutant: [String] = []

    @Option(help: "Seeds to try each with: it must be caught with every one.")
    var seeds: Int = 1

    @Option(help: "The first seed.")
    var seed: UInt64 = 1

    @Option(help: "run: this build's scenarios. explorer: controlled schedules, see `stress explore`.")
    var engine: MutantsEngine = .run

    enum MutantsEngine: String, ExpressibleByArgument { case run, explorer }

    mutating func validate() throws {
        guard (1...1000).contains(seeds) else { throw ValidationError("--seeds takes 1 to 1000, not \(seeds)") }
        for name in mutant where Mutant.named(name) == nil { throw ValidationError("unknown mutant '\(name)'") }
    }

    func run() throws {
        if engine == .explorer { try ExplorerMutants.run(mutant) }
        let engine = Sanitizer.current.map(Mutant.Engine.sanitizer) ?? .plain
        let chosen = Mutant.all.filter {
            $0.engine == engine && (mutant.isEmpty || mutant.contains($0.name.description))
        }
        var table = TextTable([
            ("mutant", false), ("scenario", false), ("seed", true), ("caught by", false), ("after", true),
        ])
        var survivors = 0
        for mutant in chosen {
            for seed in seed..<seed + UInt64(seeds) {
                let (catcher, outcome) = try mutant.hunt(seed: seed)
                if catcher == nil { survivors += 1 }
                let verdict = catcher?.text ?? "SURVIVED (exit \(outcome.exit))"
                StandardError.print("\(mutant.name): \(verdict), \(outcome.timeText)")
                table.add([mutant.name.description, mutant.scenario, "\(seed)", verdict, outcome.timeText])
            }
        }
        // The same without a bug, for as long as the most patient of the scenario's mutants: nothing may be caught.
        for scenario in Set(chosen.map(\.scenario)).sorted() {
            let budget = chosen.filter { $0.scenario == scenario }.map(\.budget).max()!
            let outcome = try ChildRun(control: scenario, seed: seed, budget: budget).run()
            let verdict = outcome.isClean ? "nothing" : "FAILED (exit \(outcome.exit))"
            StandardError.print("control \(scenario): \(verdict), \(outcome.timeText)")
            table.add(["none (control)", scenario, "\(seed)", verdict, outcome.timeText])
            if !outcome.isClean {
                StandardError.print(outcome.output)
                throw StressExit.violated
            }
        }
        print(table.text)
        print(
            "stress: \(chosen.count) mutants, \(survivors) survived, \(Sanitizer.current?.rawValue ?? "no") sanitizer"
        )
        throw survivors == 0 ? StressExit.pass : .mutantSurvived
    }
}
#endif
