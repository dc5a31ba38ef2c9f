// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc

/// The command `stress` with its subcommands.
@main
struct Stress: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stress",
        abstract: "Hammers registration, notification, cancellation and deallocation races, and checks what must hold.",
        discussion: """
            Without a subcommand: `run --profile smoke`. As it is typed:
              stress run registration-churn --duration 30s --perturb yield,fork
              \(examples)
            Exit codes: 0 pass, 1 usage, 2 invariant violated, 3 harness error, 4 inconclusive (a window was not hit), 5 hang, \
            6 mutant survived, 7 crash.
            """,
        subcommands: subcommands,
        defaultSubcommand: RunCommand.self
    )

    #if INSTRUMENTED
    private static let subcommands: [any ParsableCommand.Type] = [
        RunCommand.self, ListCommand.self, HistoriesCommand.self, MutantsCommand.self, CalibrateCommand.self,
        ExploreCommand.self, ReplayCommand.self, ReportCommand.self, DoctorCommand.self, FamineCommand.self,
    ]
    #else
    private static let subcommands: [any ParsableCommand.Type] = [
        RunCommand.self, ListCommand.self, ReportCommand.self, DoctorCommand.self, FamineCommand.self,
    ]
    #endif

    #if INSTRUMENTED
    private static let examples = "stress mutants an-end-is-delivered-twice --seeds 3"
    #else
    private static let examples = "stress run --profile ci"
    #endif

    /// Parses the arguments before anything runs. A wrong option gives one line on standard error
    /// and exit code 1.
    static func main() {
        do {
            var command = try parseAsRoot()
            try command.run()
        } catch let code as StressExit {
            Glibc.exit(code.rawValue)
        } catch {
            if exitCode(for: error).isSuccess {
                print(fullMessage(for: error))
                Glibc.exit(StressExit.pass.rawValue)
            }
            let message = message(for: error).split(separator: "\n").first.map(String.init) ?? "wrong usage"
            StandardError.print("stress: \(message)")
            Glibc.exit(StressExit.usage.rawValue)
        }
    }
}
