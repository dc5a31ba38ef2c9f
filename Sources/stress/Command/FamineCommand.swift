// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc

/// Runs in the process that the scenario `thread-famine` starts repeatedly.
struct FamineCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "famine", shouldDisplay: false)

    @Argument var kind: Famine.Kind

    #if INSTRUMENTED
    @Option(transform: SeededBug.init(parsing:))
    var mutant: SeededBug?
    #endif

    func run() {
        ChildProcess.limitTime()
        #if INSTRUMENTED
        unsafe Instrumentation.mutant = mutant
        #endif
        _exit(Famine(kind: kind).endsWell ? 0 : 1)
    }
}

extension Famine.Kind: ExpressibleByArgument {}
