// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing

@testable import stress

@Suite("Command line")
struct OptionsTests {
    @Test(
        "A duration is a number and its unit",
        arguments: [("500ms", 500), ("30s", 30_000), ("1.5s", 1_500), ("10m", 600_000), ("1h", 3_600_000)]
    )
    func durations(text: String, milliseconds: Int) throws {
        let argument = try DurationArgument(parsing: text)
        #expect(argument.duration == .milliseconds(milliseconds))
    }

    @Test("A bad duration is refused", arguments: ["", "0s", "-1s", "10", "s", "1d", "nans", "infs", "999999999h"])
    func badDurations(text: String) {
        #expect(throws: ValidationError.self) { try DurationArgument(parsing: text) }
    }

    @Test("A duration without a unit is refused with the two that may be meant")
    func durationWithoutUnit() {
        let error = #expect(throws: ValidationError.self) { try DurationArgument(parsing: "5") }
        #expect(error?.message == "a duration has a unit: write 5s for seconds, 5m for minutes")
    }

    @Test("Perturbations are a list of kinds, or none")
    func perturbations() throws {
        #expect(try PerturbationArgument(parsing: "none").kinds == [])
        #expect(try PerturbationArgument(parsing: "stall,yield").kinds == [.stall, .yield])
        #expect(try PerturbationArgument(parsing: "all").kinds.isDisjoint(with: .faults))
        #expect(try PerturbationArgument(parsing: "yield,faults").kinds == PerturbationKinds.faults.union(.yield))
        #expect(try PerturbationArgument(parsing: "fork,no-thread").kinds == [.fork, .noThread])
        for text in ["stall,", "none,yield", ""] {
            #expect(throws: ValidationError.self) { try PerturbationArgument(parsing: text) }
        }
        #expect("\(PerturbationArgument.usual)" == "yield,stall,affinity")
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

    @Test("A mistyped scenario is refused with the one that was probably meant")
    func mistypedScenario() {
        let error = #expect(throws: ValidationError.self) { try scenarios(named: ["registration-chrun"]) }
        #expect(error?.message.contains("did you mean 'registration-churn'?") == true)
        let far = #expect(throws: ValidationError.self) { try scenarios(named: ["breakfast"]) }
        #expect(far?.message == "unknown scenario 'breakfast'; `stress list` names them")
    }

    @Test("The value of a mistyped option is not taken for a scenario", arguments: ["5s", "7"])
    func mistypedOption(value: String) {
        let error = #expect(throws: ValidationError.self) { try scenarios(named: [value]) }
        #expect(error?.message == "'\(value)' belongs to no option; see `stress run --help`")
    }

    @Test("The nearest name differs by a third of the letters at most")
    func nearestName() {
        #expect(
            nearest(to: "an end is delivered twicee", among: ["a read is torn", "an end is delivered twice"])
                == "an end is delivered twice"
        )
        #expect(nearest(to: "lunch", among: ["flood", "forking"]) == nil)
        #expect(nearest(to: "flood", among: []) == nil)
    }
}
