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

    mutating func validate() throws {
        guard (1...1000).contains(seeds) else { throw ValidationError("--seeds takes 1 to 1000, not \(seeds)") }
        for name in mutant where Mutant.named(name) == nil { throw ValidationError("unknown mutant '\(name)'") }
    }

    func run() throws {
        let chosen =
            mutant.isEmpty ? Mutant.all.filter { $0.engine == Sanitizer.current } : mutant.map { Mutant.named($0)! }
        var table = TextTable([
            ("mutant", false), ("scenario", false), ("seed", true), ("caught by", false), ("after", true),
        ])
        var survivors = 0
        for mutant in chosen {
            for offset in 0..<UInt64(seeds) {
                let outcome = try ChildRun(
                    scenario: mutant.scenario,
                    mutant: mutant.name,
                    seed: seed + offset,
                    budget: mutant.budget
                ).run()
                let catcher = mutant.catchers.first { $0.hasCaught(outcome) }
                if catcher == nil { survivors += 1 }
                let verdict = catcher?.text ?? "SURVIVED (exit \(outcome.exit))"
                let seconds = "\((outcome.seconds * 10).rounded() / 10) s"
                StandardError.print("\(mutant.name): \(verdict), \(seconds)")
                table.add([mutant.name.description, mutant.scenario, "\(seed + offset)", verdict, seconds])
            }
        }
        let budget = chosen.map(\.budget).max() ?? .seconds(1)
        for scenario in Set(chosen.map(\.scenario)).sorted() {
            let outcome = try ChildRun(scenario: scenario, mutant: nil, seed: seed, budget: min(budget, .seconds(20)))
                .run()
            let isClean = outcome.exit == 0 && !outcome.output.contains("Sanitizer:")
            if !isClean { StandardError.print(outcome.output) }
            StandardError.print("control \(scenario): \(isClean ? "pass" : "FAILED (exit \(outcome.exit))")")
            table.add([
                "none (control)", scenario, "\(seed)", isClean ? "nothing" : "FAILED",
                "\((outcome.seconds * 10).rounded() / 10) s",
            ])
            if !isClean { throw StressExit.violated }
        }
        print(table.text)
        print(
            "stress: \(chosen.count) mutants, \(survivors) survived, \(Sanitizer.current?.rawValue ?? "no") sanitizer"
        )
        throw survivors == 0 ? StressExit.pass : .mutantSurvived
    }
}
#endif
