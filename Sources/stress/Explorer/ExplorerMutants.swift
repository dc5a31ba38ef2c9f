// SPDX-License-Identifier: Apache-2.0

#if INSTRUMENTED
import Glibc

/// `stress mutants --engine explorer`: the explorer must find every race that is seeded for it, replay it ten times of ten, and find
/// nothing where nothing is seeded.
enum ExplorerMutants {
    private static let repetitions = 10

    /// - Parameter names: Mutants; without names, all.
    static func run(_ names: [String]) throws -> Never {
        let chosen = ExplorerMutant.all.filter { names.isEmpty || names.contains($0.name) }
        var table = TextTable([
            ("mutant", false), ("program", false), ("found", false), ("steps", true), ("preemptions", true),
            ("replayed", true), ("after", true),
        ])
        var survivors = 0
        for mutant in chosen {
            let start = nanoseconds()
            let program = LibraryProgram.named(mutant.program)!
            let verdict = ExplorationProcess.explore(program, .depthFirst(2, mutant.name))
            let time = Format.time(nanoseconds() - start)
            guard case .found(let invariant, _, let schedule, let preemptions) = verdict,
                mutant.invariants.contains(invariant)
            else {
                survivors += 1
                StandardError.print("\(mutant.name): SURVIVED in \(program.name): \(verdict.line)")
                table.add([mutant.name, program.name, "SURVIVED", "", "", "", time])
                continue
            }
            let string = ExplorationString(
                program: program.name,
                mutant: mutant.name,
                omissions: Omissions(),
                schedule: schedule
            ).text
            let replayed = (0..<repetitions).count { _ in
                if case .found(invariant, _, _, _) = ExplorationProcess.replay(string).verdict { true } else { false }
            }
            StandardError.print("\(mutant.name): \(invariant), \(time), replayed \(replayed)/\(repetitions)")
            table.add([
                mutant.name, program.name, invariant, "\(schedule.steps.count)", "\(preemptions)",
                "\(replayed)/\(repetitions)", time,
            ])
            if replayed != repetitions { harnessFailure("a failing schedule passes when it is replayed: \(string)") }
        }
        print(table.text)
        var exit = survivors == 0 ? StressExit.pass : .mutantSurvived
        for program in LibraryProgram.all where chosen.contains(where: { $0.program == program.name }) {
            let report = ExplorationReport(program, .depthFirst(2, nil))
            print("control \(report.text)")
            fflush(nil)
            if report.exit != .pass { exit = report.exit }
        }
        print("stress: \(chosen.count) mutants, \(survivors) survived, explorer")
        fflush(nil)
        throw exit
    }
}
#endif
