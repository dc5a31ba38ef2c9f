// SPDX-License-Identifier: Apache-2.0

private let poolFile = "Reclamation/BoxPool.swift"

extension Protocol {
    // MARK: Boxes that are kept

    private static let seeUse = Instruction.load("uses", .acquiring, into: "uses")
        .at(poolFile, "if isUnused(uses.load(ordering: .acquiring)) { free() }")
    private static let seeSweep = Instruction.load("isSwept", .acquiring, into: "swept")
        .at(poolFile, "let isSwept = isSwept.load(ordering: .acquiring)")

    static let boxes: [Test] = [
        Test(
            "use and sweep",
            claim: "an owner does not use the boxes that are being freed (B7, B8)",
            [
                Test.Thread(
                    "owner",
                    [
                        .store("uses", 1, .relaxed).at(poolFile, "uses.store(number &+ 1, ordering: .relaxed)"),
                        Instruction.light.at(
                            poolFile,
                            "AsymmetricBarrier.light(fenced: AsymmetricBarrier.needsFences)"
                        ),
                        seeSweep,
                    ]
                ),
                Test.Thread(
                    "reclamation thread",
                    [
                        .store("isSwept", 1, .relaxed).at(poolFile, "isSwept.store(true, ordering: .relaxed)"),
                        .membarrier.at("Platform/Barriers.swift", "return cplatform_membarrier()"),
                        seeUse,
                    ]
                ),
            ],
            never: { $0["swept"] == 0 && $0["uses"] == 0 }
        ),
        Test(
            "the end of a use",
            claim: "boxes are freed as their owner has left them (B7, B8)",
            given: ["uses": 2],
            plain: ["lists"],
            [
                Test.Thread(
                    "owner",
                    [
                        .store("lists", 1, .relaxed),
                        .store("uses", 2, .releasing).at(poolFile, "uses.store(number &+ 2, ordering: .releasing)"),
                    ]
                ),
                Test.Thread("reclamation thread", [seeUse, .branch("uses"), .load("lists", .relaxed, into: "seen")]),
            ],
            never: { $0["seen"] == 0 }
        ),
        Test(
            "the end of a sweep",
            claim: "no box is taken that was freed (B7, B8)",
            initially: ["isSwept": 1],
            given: ["swept": 0],
            plain: ["lists"],
            [
                Test.Thread(
                    "reclamation thread",
                    [
                        .store("lists", 1, .relaxed),
                        .store("isSwept", 0, .releasing).at(poolFile, "isSwept.store(false, ordering: .releasing)"),
                    ]
                ),
                Test.Thread("owner", [seeSweep, .branch("swept"), .load("lists", .relaxed, into: "seen")]),
            ],
            never: { $0["seen"] == 0 }
        ),
    ]
}
