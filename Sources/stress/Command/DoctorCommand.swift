// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Prints the facts on which the results on this machine depend.
struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Show cores, quota, backend, platform, membarrier, clock and sanitizer."
    )

    func run() {
        for fact in [.init("build", LibraryBuild.name)] + MachineDescription(LibraryBuild.facts).facts {
            print(fact.name + String(repeating: " ", count: 12 - fact.name.count) + fact.text)
        }
    }
}
