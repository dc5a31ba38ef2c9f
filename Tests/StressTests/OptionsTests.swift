// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing

@testable import stress_product

@Suite("Command line")
struct OptionsTests {
    @Test(
        "A duration is a number and its unit",
        arguments: [("500ms", 500), ("30s", 30_000), ("1.5s", 1_500), ("10m", 600_000), ("1h", 3_600_000)]
    )
    func durations(text: String, milliseconds: Int) throws {
        let argument = try #require(DurationArgument(argument: text))
        #expect(argument.duration == .milliseconds(milliseconds))
    }

    @Test("A bad duration is refused", arguments: ["", "0s", "-1s", "10", "s", "1d", "nans", "infs", "999999999h"])
    func badDurations(text: String) {
        #expect(DurationArgument(argument: text) == nil)
    }

    @Test("Perturbations are a list of kinds, or none")
    func perturbations() {
        #expect(PerturbationArgument(argument: "none")?.kinds == [])
        #expect(PerturbationArgument(argument: "stall,yield")?.kinds == [.stall, .yield])
        #expect(PerturbationArgument(argument: "all")?.kinds.isDisjoint(with: .faults) == true)
        #expect(PerturbationArgument(argument: "yield,faults")?.kinds == PerturbationKinds.faults.union(.yield))
        #expect(PerturbationArgument(argument: "fork,no-thread")?.kinds == [.fork, .noThread])
        #expect(PerturbationArgument(argument: "stall,") == nil)
        #expect(PerturbationArgument(argument: "none,yield") == nil)
        #expect(PerturbationArgument(argument: "") == nil)
    }

    @Test(
        "A wrong option is refused before anything runs",
        arguments: [
            ["--threads", "0"], ["--threads", "9999"], ["--iterations", "0"],
            ["--iterations", "1", "--duration", "1s"],
            ["nonsense"], ["--json", "/does/not/exist/report.json"], ["--profile", "lunch"], ["--perturb", "rain"],
        ]
    )
    func wrongOptions(arguments: [String]) {
        #expect(throws: (any Error).self) { try RunCommand.parse(arguments) }
    }

    @Test("Right options are taken")
    func rightOptions() throws {
        let command = try RunCommand.parse([
            "registry-death", "--duration", "2s", "--threads", "5", "--seed", "9", "--perturb", "none",
        ])
        #expect(command.scenario == ["registry-death"])
        #expect(command.duration?.duration == .seconds(2))
        #expect(command.threads == 5)
        #expect(command.seed == 9)
    }
}
