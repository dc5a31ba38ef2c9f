// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Explores in its own process. It exits at the first failure, whatever state it is in. The last
/// line of its output has the result.
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

    /// Runs the schedule again, and prints each step.
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

    /// Exits at once, because threads may be stuck, and the failure has changed the library's
    /// state.
    private static func finish(_ verdict: ExplorationVerdict, _ exit: StressExit) -> Never {
        print(verdict.line)
        fflush(nil)
        _exit(exit.rawValue)
    }
}
