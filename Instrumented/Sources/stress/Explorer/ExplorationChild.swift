// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The process that explores. It ends at the first failure, in any state; its last line says what
/// it has found.
enum ExplorationChild {
    static func explore(_ program: LibraryProgram, _ search: SearchOptions) -> Never {
        let explorer = Explorer(
            program,
            search.addedFaults,
            omitting: Omissions(text: search.omit)!,
            search.mutant
        )
        do throws(Exploration.Divergence) {
            let (limit, exploration) = (search.runs ?? .max, explorer.exploration)
            let result =
                if let strategy = search.strategy {
                    try exploration.search(strategy, limit: limit) { finish($0) }
                } else {
                    try exploration.search(upTo: min(search.bound, program.mostPreemptions), limit: limit) {
                        finish($0)
                    }
                }
            finish(.explored(runs: result.runs, isComplete: result.isComplete), .pass)
        } catch {
            finish(.diverged(error.message), .harnessError)
        }
    }

    /// Prints every step as it is taken.
    static func replay(_ string: ExplorationString, of program: LibraryProgram) -> Never {
        let explorer = Explorer(
            program,
            string.faults,
            omitting: string.omissions,
            string.mutant.flatMap(SeededBug.init)
        )
        explorer.exploration.onStep = { _, step in
            print("step\t\(step.thread)\t\(step.name)\t\(step.label)")
            fflush(nil)
        }
        let repetition = Repetition(string.schedule)
        _ = explorer.exploration.run(repetition) { finding in
            if repetition.doesNotFit { finish(.diverged("the schedule does not fit the program"), .harnessError) }
            finish(finding)
        }
        if repetition.doesNotFit { finish(.diverged("the schedule does not fit the program"), .harnessError) }
        finish(.explored(runs: 1, isComplete: true), .pass)
    }

    private static func finish(_ finding: Exploration.Finding) -> Never {
        finish(
            .found(
                invariant: finding.failure.invariant,
                message: finding.failure.message,
                schedule: finding.schedule,
                preemptions: finding.preemptions
            ),
            .violated
        )
    }

    /// Ends the process where it stands: threads may be stuck, and the library's state is what the
    /// failure has left.
    private static func finish(_ verdict: ExplorationVerdict, _ exit: StressExit) -> Never {
        print(verdict.line)
        fflush(nil)
        _exit(exit.rawValue)
    }
}
