// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Runs `stress mutants --engine explorer`. The explorer must find every seeded race, replay it
/// each time, and find nothing without a seeded bug.
enum ExplorerMutants {
    /// The number of times that each failing schedule is replayed.
    private static var repetitions: Int { 10 }

    /// Looks for seeded bugs. Prints the duration of each search when it ends.
    ///
    /// - Parameter bugs: The bugs to look for. If this is empty, all of them.
    static func run(_ bugs: [SeededBug]) -> [Kill] {
        let chosen = ExplorerMutant.all.filter { bugs.isEmpty || bugs.contains($0.bug) }
        var table = TextTable([
            ("mutant", false), ("program", false), ("found", false), ("steps", true), ("preemptions", true),
            ("replayed", true), ("after", true),
        ])
        var kills: [Kill] = []
        for mutant in chosen {
            let start = nanoseconds()
            let name = mutant.bug.rawValue
            let program = LibraryProgram.named(mutant.program)!
            let verdict = ExplorationProcess.explore(
                program,
                .depthFirst(2, mutant.bug, faults: mutant.faults)
            )
            let seconds = Double(nanoseconds() - start) / 1e9
            let time = Format.seconds(seconds)
            guard case .found(let invariant, _, let schedule, let preemptions) = verdict,
                mutant.invariants.contains(invariant)
            else {
                kills.append(
                    Kill(name, program, .survived, catcher: nil, seconds: seconds, output: verdict.line)
                )
                StandardError.print("\(name): SURVIVED in \(program.name): \(verdict.line)")
                table.add([name, program.name, "SURVIVED", "", "", "", time])
                continue
            }
            let string = ExplorationString(
                program: program.name,
                faults: mutant.faults,
                mutant: name,
                omissions: Omissions(),
                schedule: schedule
            ).text
            let replayed = (0..<repetitions).count { _ in
                if case .found(invariant, _, _, _) = ExplorationProcess.replay(string).verdict { true } else { false }
            }
            StandardError.print("\(name): \(invariant), \(time), replayed \(replayed)/\(repetitions)")
            table.add([
                name, program.name, invariant, "\(schedule.steps.count)", "\(preemptions)",
                "\(replayed)/\(repetitions)", time,
            ])
            kills.append(Kill(name, program, .killed, catcher: invariant, seconds: seconds, output: nil))
            if replayed != repetitions { harnessFailure("a failing schedule passes when it is replayed: \(string)") }
        }
        print(table.text)
        for program in LibraryProgram.all where chosen.contains(where: { $0.program == program.name }) {
            let start = nanoseconds()
            let report = ExplorationReport(program, .depthFirst(2, nil))
            let isClean = report.exit == .pass
            print("control \(report.text)")
            fflush(nil)
            kills.append(
                Kill(
                    nil,
                    program,
                    isClean ? .clean : .failed,
                    catcher: nil,
                    seconds: Double(nanoseconds() - start) / 1e9,
                    output: isClean ? nil : report.text
                )
            )
        }
        return kills
    }
}

extension Kill {
    fileprivate init(
        _ mutant: String?,
        _ program: LibraryProgram,
        _ verdict: Verdict,
        catcher: String?,
        seconds: Double,
        output: String?
    ) {
        self.init(
            mutant: mutant,
            engine: Kill.Engine.explorer.onThisBackend,
            scenario: program.name,
            seed: 0,
            verdict: verdict,
            catcher: catcher,
            signal: nil,
            seconds: seconds,
            output: output
        )
    }
}
