// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Says what the results on this machine depend on.
struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Show cores, quota, backend, platform, membarrier, clock and sanitizer."
    )

    func run() {
        let machine = MachineDescription()
        let lines: [(String, String)] = [
            ("build", LibraryBuild.name),
            ("toolchain", machine.toolchain),
            ("cores", "\(machine.cores)"),
            ("processor", machine.processor),
            ("cpu quota", machine.quota == "none" || machine.quota.hasPrefix("max") ? "none" : machine.quota),
            ("kernel", machine.kernel),
            ("backend", machine.backend),
            ("platform", machine.platform),
            (
                "membarrier",
                machine.membarrier ? "in use" : "missing: every observer costs its notification a full fence"
            ),
            ("clock", machine.clock),
            ("sanitizer", machine.sanitizer ?? "none"),
        ]
        for (name, value) in lines {
            print(name + String(repeating: " ", count: 12 - name.count) + value)
        }
    }
}
