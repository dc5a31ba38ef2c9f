// SPDX-License-Identifier: Apache-2.0

private let latchFile = "Property/Latch.swift"
private let preparingFile = "Property/Latch+Preparing.swift"
private let decisionFile = "Hazards/CommitDecision.swift"
private let mutationFile = "Property/MutationLock.swift"
private let membersFile = "Transaction/GroupMembers.swift"

/// Commits of several properties. The words of versions are 0, 1 and 2 for "not yet", "prepared"
/// and "settled".
extension Protocol {
    private static let loadWord = Instruction.load("version", .acquiring, into: "version")
        .at(latchFile, "let before = version.load(ordering: .acquiring)")
    private static let loadWordOfVersion = Instruction.load("version", .acquiring, into: "version")
        .at(preparingFile, "let word = version.load(ordering: .acquiring)")
    private static let loadWordToResolve = Instruction.load("version", .acquiring, into: "version")
        .at(
            preparingFile,
            "let before = latch.version.load(ordering: .acquiring)",
            after: "static func resolvedVersion("
        )
    private static let loadWordAgain = Instruction.load("version", .acquiring, into: "version")
        .at(
            preparingFile,
            "let before = latch.version.load(ordering: .acquiring)",
            after: "static func loadAgain("
        )
    private static let loadCommitter = Instruction.load("committer", .relaxed, into: "committer")
        .at(preparingFile, "let committer = owner.load(ordering: .relaxed)")
    private static let loadDecision = Instruction.load("decision", .acquiring, into: "decision")
        .at(decisionFile, "isCommitted.load(ordering: .acquiring)")
    private static let loadFirst = Instruction.load("first", .relaxed, into: "first")
        .at(latchFile, "let firsts = (even.first.load(ordering: .relaxed)")
    private static let again: [Instruction] = [
        .fence(.acquiring).at(latchFile, "atomicMemoryFence(ordering: .acquiring)"),
        .load("version", .relaxed, into: "again")
            .at(latchFile, "return version.load(ordering: .relaxed) == before"),
    ]

    private static let prepare: [Instruction] = [
        .store("first", 1, .relaxed).at(latchFile, "first.store(words.first, ordering: .relaxed)"),
        .store("committer", 1, .relaxed)
            .at(preparingFile, "owner.store(committer | 1, ordering: .relaxed)"),
        storeMark,
    ]
    private static let storeMark = Instruction.store("version", 1, .releasing)
        .at(preparingFile, "version.store(present | Self.preparedMark, ordering: .releasing)")
    private static let settle = Instruction.store("version", 2, .releasing)
        .at(preparingFile, "version.store(next, ordering: .releasing)")
    private static let reset = Instruction.store("decision", 0, .releasing)
        .at(decisionFile, "isCommitted.store(false, ordering: .releasing)")
    private static let decide = Instruction.store("decision", 1, .releasing)
        .at(decisionFile, "isCommitted.store(true, ordering: .releasing)")

    /// A reader that finds a prepared version, by each of the loads that may.
    private static func prepared(_ name: String, _ load: Instruction) -> Test {
        Test(
            name,
            claim: "the words, the committer's name and its decision of a prepared version are there before it (P19)",
            initially: ["decision": 1],
            given: ["version": 1],
            [
                // The decision of the thread's earlier commit is reset first.
                Test.Thread("committer", [reset] + prepare),
                Test.Thread("reader", [load, loadCommitter, loadDecision, loadFirst]),
            ],
            never: { $0["committer"] != 1 || $0["decision"] != 0 || $0["first"] != 1 }
        )
    }

    static let commits: [Test] = [
        prepared("a prepared version, read", loadWordAgain),
        prepared("a prepared version, resolved", loadWordToResolve),
        Test(
            "a decision and the versions before it",
            claim: "a read that sees a commit made sees all of its properties prepared (P19)",
            given: ["decision": 1],
            [
                Test.Thread("committer", [storeMark, decide]),
                Test.Thread("reader", [loadDecision, loadWordAgain]),
            ],
            never: { $0["version"] == 0 }
        ),
        Test(
            "a settled version and the decision before it",
            claim: "a read that sees one property of a commit settled sees the decision for the others (P19)",
            given: ["version": 2],
            [
                Test.Thread("committer", [decide, settle]),
                Test.Thread("reader", [loadWordOfVersion, loadDecision]),
            ],
            never: { $0["decision"] == 0 }
        ),
        Test(
            "a decision that is reset",
            claim: "a reader of the next commit's decision finds the version settled (P19)",
            initially: ["version": 1, "decision": 1],
            given: ["version": 1, "decision": 0],
            [
                Test.Thread("committer", [settle, reset]),
                Test.Thread("reader", [loadWordAgain, loadDecision] + again),
            ],
            never: { $0["again"] == 1 }
        ),
        // The spare slot holds the version before the last one.
        Test(
            "a slot that is prepared again",
            claim: "a value is read whole beside a commit (P2)",
            given: ["version": 0, "again": 0],
            [
                Test.Thread(
                    "committer",
                    [
                        settle,
                        .fence(.releasing).at(preparingFile, "atomicMemoryFence(ordering: .releasing)"),
                        .store("first", 2, .relaxed).at(latchFile, "first.store(words.first, ordering: .relaxed)"),
                        storeMark.with { $0.value = 3 },
                    ]
                ),
                Test.Thread("reader", [loadWord, loadFirst] + again),
            ],
            never: { $0["first"] != 0 }
        ),
        Test(
            "a snapshot beside a body",
            claim: "a snapshot that holds off publication beside a body sees no version change (P20)",
            initially: ["modifier": 1],
            given: ["held": 0],
            [
                Test.Thread(
                    "bodies",
                    [
                        .store("modifier", 0, .relaxed)
                            .at(
                                mutationFile,
                                "modifier.store(0, ordering: .relaxed)",
                                after: "private borrowing func clearModifier("
                            ),
                        Instruction.light
                            .at(mutationFile, "AsymmetricBarrier.light(fenced: AsymmetricBarrier.needsFences)"),
                        .load("bodyLock", .acquiring, into: "held"),
                        .store("version", 1, .releasing),
                        .store("modifier", 2, .releasing)
                            .at(mutationFile, "modifier.store(UInt(bitPattern: record), ordering: .releasing)"),
                    ]
                ),
                Test.Thread(
                    "snapshot",
                    [
                        .lock("bodyLock"),
                        Instruction.membarrier
                            .at("Platform/Barriers.swift", "return cplatform_membarrier()"),
                        .load("modifier", .acquiring, into: "modifier")
                            .at(
                                mutationFile,
                                "if Latch.isModifier(modifier.load(ordering: .acquiring)) { return .bodyLock }"
                            ),
                        .branch("modifier"),
                        .load("version", .acquiring, into: "before"),
                        .load("version", .acquiring, into: "after"),
                        .unlock("bodyLock"),
                    ]
                ),
            ],
            never: { $0["modifier"] != 0 && $0["before"] != $0["after"] }
        ),
        members(
            "a group and its members",
            .load("list", .acquiring, into: "list").at(membersFile, "found.load(ordering: .acquiring)")
        ),
        // The exchange that fails is a load.
        members(
            "two make a group's members",
            .load("list", .acquiringAndReleasing, into: "list").at(membersFile, "ordering: .acquiringAndReleasing")
        ),
    ]

    /// A thread that finds the list of a group's members, which another thread has made.
    private static func members(_ name: String, _ find: Instruction) -> Test {
        Test(
            name,
            claim: "the list of a group's members is complete before it is found (P19)",
            given: ["list": 1],
            plain: ["members"],
            [
                Test.Thread(
                    "maker",
                    [
                        .store("members", 1, .relaxed),
                        .compareExchange("list", 0, 1, .acquiringAndReleasing)
                            .at(membersFile, "ordering: .acquiringAndReleasing"),
                    ]
                ),
                Test.Thread("finder", [find, .branch("list"), .load("members", .relaxed, into: "seen")]),
            ],
            never: { $0["seen"] == 0 }
        )
    }
}
