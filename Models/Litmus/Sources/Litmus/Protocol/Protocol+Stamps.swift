// SPDX-License-Identifier: Apache-2.0

private let stampsFile = "Property/ChangeStamps.swift"

// How a function that runs on copies of its sources learns what has changed since they were taken.
extension Protocol {
    static let stamps: [Test] = [
        Test(
            "a change and who needs its stamp",
            claim: "a change that is not stamped was there before the copies were taken (P23, P25)",
            given: ["users": 0],
            [
                Test.Thread(
                    "writer",
                    [
                        .store("value", 1, .relaxed),
                        Instruction.light.at(
                            stampsFile,
                            "AsymmetricBarrier.light(fenced: AsymmetricBarrier.needsFences)"
                        ),
                        .load("users", .relaxed, into: "users")
                            .at(stampsFile, "if users.load(ordering: .relaxed) > 0"),
                    ]
                ),
                Test.Thread(
                    "copier",
                    [
                        .update("users", .add, 1, .relaxed).at(stampsFile, "users.add(1, ordering: .relaxed)"),
                        .membarrier, .load("value", .relaxed, into: "copied"),
                    ]
                ),
            ],
            never: { $0["copied"] == 0 }
        ),
        Test(
            "a change and its stamp",
            claim: "a change that was not there when the copies were taken has a later stamp (P23, P25)",
            given: ["copied": 0, "changed": 1],
            [
                Test.Thread(
                    "writer",
                    [
                        .lock("property"), .store("value", 1, .relaxed), .light,
                        .load("moment", .relaxed, into: "moment")
                            .at(stampsFile, "lastMoment.load(ordering: .relaxed), ordering: .relaxed"),
                        .unlock("property"),
                    ]
                ),
                Test.Thread(
                    "copier",
                    [
                        .update("moment", .add, 1, .relaxed).at(stampsFile, "lastMoment.add(1, ordering: .relaxed)"),
                        .membarrier, .load("value", .relaxed, into: "copied"),
                        .lock("property"), .load("value", .relaxed, into: "changed"), .unlock("property"),
                    ]
                ),
            ],
            never: { $0["moment"] == 0 }
        ),
        found("stamps, by a change", .load("stamps", .acquiring, into: "stamps"), "let address = stamps.load("),
        found("stamps, by who needs them", .load("stamps", .acquiring, into: "stamps"), "if stamps.load("),
        // The exchange that fails is a load.
        found(
            "stamps, by another maker",
            .load("stamps", .acquiringAndReleasing, into: "stamps"),
            "ordering: .acquiringAndReleasing"
        ),
    ]

    private static func found(_ name: String, _ find: Instruction, _ fragment: String) -> Test {
        Test(
            name,
            claim: "stamps are empty before they are found",
            given: ["stamps": 1],
            plain: ["contents"],
            [
                Test.Thread(
                    "maker",
                    [
                        .store("contents", 1, .relaxed),
                        .compareExchange("stamps", 0, 1, .acquiringAndReleasing)
                            .at(stampsFile, "ordering: .acquiringAndReleasing"),
                    ]
                ),
                Test.Thread(
                    "finder",
                    [
                        find.at(stampsFile, fragment), .branch("stamps"),
                        .load("contents", .relaxed, into: "seen"),
                    ]
                ),
            ],
            never: { $0["seen"] == 0 }
        )
    }
}
