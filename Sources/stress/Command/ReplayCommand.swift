// SPDX-License-Identifier: Apache-2.0

#if INSTRUMENTED
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

    private var parsed: ExplorationString? {
        ExplorationString(text: string, mutants: Mutant.all.map(\.name.description))
    }

    mutating func validate() throws {
        guard let parsed, LibraryProgram.named(parsed.program) != nil else {
            throw ValidationError("'\(string)' is not a schedule of a program that this build knows")
        }
    }

    func run() throws {
        let string = parsed!
        let explorer = Explorer(
            LibraryProgram.named(string.program)!,
            omitting: string.omissions,
            mutant: string.mutant.flatMap(Mutant.named)
        )
        let repetition = Repetition(string.schedule)
        explorer.baton.isTracing = true
        let (run, finding) = explorer.exploration.run(repetition)
        guard !repetition.doesNotFit else { harnessFailure("the schedule does not fit the program") }
        // What came after the failure does not matter.
        print(Columns.text(Array(run.trace.prefix(finding?.schedule.steps.count ?? run.trace.count))))
        if let finding { print("VIOLATION \(string.program): \(finding.failure.invariant): \(finding.failure.message)") }
        print("stress: \(finding == nil ? "pass" : "violated"), \(self.string)")
        fflush(nil)
        throw finding == nil ? StressExit.pass : .violated
    }
}
#endif
