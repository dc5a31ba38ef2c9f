// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc

/// Runs the schedule of a failure again, step by step.
struct ReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Run exactly the schedule that `stress explore` has printed, and show it, a column for each thread."
    )

    @Argument(help: "The schedule, as `stress explore` prints it: program:mutant:omissions:steps.")
    var string: String

    @Flag(name: .customLong("child"), help: .hidden)
    var isChild = false

    private var parsed: (ExplorationString, LibraryProgram)? {
        guard let string = ExplorationString(text: string, mutants: SeededBug.allCases.map(\.rawValue)),
            let program = LibraryProgram.named(string.program)
        else { return nil }
        return (string, program)
    }

    mutating func validate() throws {
        if parsed == nil {
            throw ValidationError("'\(string)' is not a schedule of a program that this build knows")
        }
    }

    func run() throws {
        if isChild, let (string, program) = parsed { ExplorationChild.replay(string, of: program) }
        let (steps, verdict) = ExplorationProcess.replay(string)
        if case .diverged(let message) = verdict { harnessFailure(message) }
        print(Columns.text(steps))
        let exit: StressExit
        switch verdict {
        case .explored, .diverged: exit = .pass
        case .found(let invariant, let message, _, _):
            print("VIOLATION \(parsed!.0.program): \(invariant): \(message)")
            exit = invariant == ExplorationVerdict.crash ? .crash : .violated
        }
        print("stress: \(exit), \(string)")
        fflush(nil)
        throw exit
    }
}
