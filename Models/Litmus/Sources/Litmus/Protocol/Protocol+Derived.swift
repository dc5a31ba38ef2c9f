// SPDX-License-Identifier: Apache-2.0

private let wordsFile = "Derivation/DependencySet.swift"
private let cellFile = "Derivation/DerivationNode.swift"
private let replacingFile = "Derivation/DerivationNode+Committing.swift"

extension Protocol {
    private static let beginStoring: [Instruction] = [
        .store("sequence", 1, .relaxed).at(wordsFile, "sequence.pointee.store(odd, ordering: .relaxed)"),
        .fence(.releasing).at(wordsFile, "atomicMemoryFence(ordering: .releasing)"),
        .store("word", 2, .relaxed).at(wordsFile, "pointee.store(word, ordering: .relaxed)"),
    ]
    private static let endStoring = Instruction.store("sequence", 2, .releasing)
        .at(wordsFile, "pointee.store(odd &+ 1, ordering: .releasing)")

    private static let reader = Test.Thread(
        "reader",
        [
            .load("sequence", .acquiring, into: "before")
                .at(wordsFile, "pointee.load(ordering: .acquiring)", after: "var sequence: UInt64"),
            .load("word", .relaxed, into: "word").at(wordsFile, "Self.atomic(memory + place).pointee.load"),
            .fence(.acquiring).at(wordsFile, "atomicMemoryFence(ordering: .acquiring)"),
            .load("sequence", .relaxed, into: "after")
                .at(wordsFile, "pointee.load(ordering: .relaxed) == before", after: "func isStill("),
        ]
    )

    static let derived: [Test] =
        [
            Test(
                "sequence lock: the one before",
                claim: "an evaluation is read whole, or not at all",
                given: ["before": 0, "after": 0],
                [Test.Thread("writer", beginStoring + [endStoring]), reader],
                never: { $0["word"] != 0 }
            ),
            Test(
                "sequence lock: the one after",
                claim: "an evaluation is there before its sequence",
                given: ["before": 2, "after": 2],
                [Test.Thread("writer", beginStoring + [endStoring]), reader],
                never: { $0["word"] != 2 }
            ),
        ] + sets

    private static let sets: [Test] =
        [
            ("a look", "let address = present.load(ordering: .acquiring)", "internal final func look("),
            ("a load", "let address = present.load(ordering: .acquiring)", "final func load()"),
        ].map { name, fragment, after in
            Test(
                "present set, \(name)",
                claim: "what a set says is there before the set is present",
                given: ["present": 1],
                [
                    Test.Thread(
                        "writer",
                        [
                            .store("word", 1, .relaxed),
                            .store("present", 1, .releasing)
                                .at(
                                    replacingFile,
                                    "present.store(isKept ? address : address | 1, ordering: .releasing)"
                                ),
                        ]
                    ),
                    Test.Thread(
                        "reader",
                        [
                            .load("present", .acquiring, into: "present").at(cellFile, fragment, after: after),
                            .load("word", .relaxed, into: "word"),
                        ]
                    ),
                ],
                never: { $0["word"] != 1 }
            )
        }
}
