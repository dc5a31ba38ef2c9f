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
        let kills = chosen.map { look(for: $0, &table) }
        print(table.text)
        let programs = Set(chosen.map(\.program))
        return kills + LibraryProgram.all.filter { programs.contains($0.name) }.map(explore)
    }

    /// Looks for a seeded bug, replays the schedule that shows it, and adds a row to the table.
    private static func look(for mutant: ExplorerMutant, _ table: inout TextTable) -> Kill {
        let start = nanoseconds()
        let (name, program) = (mutant.bug.rawValue, LibraryProgram.named(mutant.program)!)
        let verdict = ExplorationProcess.explore(program, .depthFirst(2, mutant.bug, faults: mutant.faults))
        var kill = Kill(program, mutant: name, .survived, since: start, output: verdict.line)
        let time = Format.seconds(kill.seconds)
        guard case .found(let invariant, _, let schedule, let preemptions) = verdict,
            mutant.invariants.contains(invariant)
        else {
            StandardError.print("\(name): SURVIVED in \(program.name): \(verdict.line)")
            table.add([name, program.name, "SURVIVED", "", "", "", time])
            return kill
        }
        (kill.verdict, kill.catcher, kill.output) = (.killed, invariant, nil)
        let string = ExplorationString(
            program: program.name,
            faults: mutant.faults,
            mutant: name,
            omissions: Omissions(),
            schedule: schedule
        ).text
        let count = (0..<repetitions).count { _ in
            if case .found(invariant, _, _, _) = ExplorationProcess.replay(string).verdict { true } else { false }
        }
        let (steps, replayed) = ("\(schedule.steps.count)", "\(count)/\(repetitions)")
        StandardError.print("\(name): \(invariant), \(time), replayed \(replayed)")
        table.add([name, program.name, invariant, steps, "\(preemptions)", replayed, time])
        if count != repetitions { harnessFailure("a failing schedule passes when it is replayed: \(string)") }
        return kill
    }

    /// Explores a program without a seeded bug. Nothing may be found.
    private static func explore(_ program: LibraryProgram) -> Kill {
        let start = nanoseconds()
        let report = ExplorationReport(program, .depthFirst(2, nil))
        let isClean = report.exit == .pass
        print("control \(report.text)")
        fflush(nil)
        return Kill(program, isClean ? .clean : .failed, since: start, output: isClean ? nil : report.text)
    }
}

extension Kill {
    /// Makes the explorer's result for a program.
    fileprivate init(
        _ program: LibraryProgram,
        mutant: String? = nil,
        _ verdict: Verdict,
        since start: UInt64,
        output: String?
    ) {
        self.init(mutant: mutant, engine: Engine.explorer.onThisBackend, scenario: program.name, verdict: verdict)
        (seconds, self.output) = (Double(nanoseconds() - start) / 1e9, output)
    }
}
