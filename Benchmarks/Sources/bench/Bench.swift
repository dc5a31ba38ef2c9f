// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation

/// The command `bench`. It measures the cases unless it is asked for something else.
@main
struct Bench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Compare the library with the same loops in C and with its peers, in one run.",
        discussion: "`bench help measure` has the options and the exit codes; they need not be preceded by `measure`.",
        subcommands: [Measure.self, Count.self, Peers.self, Soak.self, RoundsElsewhere.self],
        defaultSubcommand: Measure.self
    )

    /// Usage errors end with exit code 1, as in every command of this package.
    static func main() {
        do {
            var command = try parseAsRoot()
            try command.run()
        } catch {
            if exitCode(for: error) == .validationFailure {
                FileHandle.standardError.write(Data((fullMessage(for: error) + "\n").utf8))
                Foundation.exit(1)
            }
            exit(withError: error)
        }
    }
}
