// SPDX-License-Identifier: Apache-2.0

private let latchFile = "Property/Latch.swift"
private let mutationFile = "Property/MutationLock.swift"
private let lockFile = "Platform/Lock.swift"

extension Protocol {
    private static let loadVersion = Instruction.load("version", .acquiring, into: "version")
        .at(latchFile, "let before = version.load(ordering: .acquiring)")
    private static let storeVersion = Instruction.store("version", 1, .releasing)
        .at(latchFile, "version.store(next, ordering: .releasing)")
    private static let loadWords: [Instruction] = [
        .load("first", .relaxed, into: "first")
            .at(latchFile, "let firsts = (even.first.load(ordering: .relaxed)"),
        .load("second", .relaxed, into: "second")
            .at(latchFile, "let seconds = (even.second.load(ordering: .relaxed)"),
    ]
    private static func storeWords(_ value: Value) -> [Instruction] {
        [
            .store("first", value, .relaxed).at(latchFile, "first.store(words.first, ordering: .relaxed)"),
            .store("second", value, .relaxed).at(latchFile, "second.store(words.second, ordering: .relaxed)"),
        ]
    }

    static let latch: [Test] = [
        Test(
            "a version and its words",
            claim: "the words of a version are there before it (M2, M3, V1, V2)",
            given: ["version": 1],
            [
                Test.Thread("writer", storeWords(1) + [storeVersion]),
                Test.Thread("reader", [loadVersion] + loadWords),
            ],
            never: { $0["first"] != 1 || $0["second"] != 1 }
        ),
        Test(
            "a version alone",
            claim: "a read after the version is known sees that version or a later one (V1)",
            given: ["version": 1],
            [
                Test.Thread("writer", storeWords(1) + [storeVersion]),
                Test.Thread(
                    "reader",
                    [
                        .load("version", .acquiring, into: "version")
                            .at("Property/Latch+Preparing.swift", "let word = version.load(ordering: .acquiring)")
                    ] + loadWords
                ),
            ],
            never: { $0["first"] != 1 || $0["second"] != 1 }
        ),
        // The slot of version 0 is written again for version 2.
        Test(
            "latch and fences",
            claim: "a value is read whole (V1 to V4, M1 to M3)",
            given: ["version": 0, "again": 0],
            [
                Test.Thread(
                    "writer",
                    [
                        storeVersion,
                        .fence(.releasing).at(latchFile, "atomicMemoryFence(ordering: .releasing)"),
                    ] + storeWords(2) + [storeVersion.with { $0.value = 2 }]
                ),
                Test.Thread(
                    "reader",
                    [loadVersion] + loadWords + [
                        .fence(.acquiring).at(latchFile, "atomicMemoryFence(ordering: .acquiring)"),
                        .load("version", .relaxed, into: "again")
                            .at(latchFile, "return version.load(ordering: .relaxed) == before"),
                    ]
                ),
            ],
            never: { $0["first"] != 0 || $0["second"] != 0 }
        ),
    ]

    // MARK: Locks

    private static let tryLock = Instruction.compareExchange("lock", 0, 1, .acquiring)
        .at(lockFile, "word.compareExchange(expected: Self.free, desired: Self.held, ordering: .acquiring).exchanged")
    private static let unlock = Instruction.exchange("lock", 0, .releasing)
        .at(lockFile, "guard word.exchange(Self.free, ordering: .releasing) == Self.contended")

    /// The end of a body that finds no registration.
    private static let end: [Instruction] = [
        .store("modifier", 0, .relaxed)
            .at(mutationFile, "modifier.store(0, ordering: .relaxed)", after: "private borrowing func clearModifier("),
        Instruction.light
            .at(mutationFile, "AsymmetricBarrier.light(fenced: AsymmetricBarrier.needsFences)"),
        .load("bodyLock", .acquiring, into: "held")
            .at(lockFile, "word.load(ordering: .acquiring) != Self.free"),
    ]

    /// The end of a body that has found one, and stored its record again.
    private static let endUnderLock: [Instruction] = [
        .lock("bodyLock"),
        .store("modifier", 0, .relaxed)
            .at(mutationFile, "bodyLock.withLock { modifier.store(0, ordering: .relaxed) }"),
        .unlock("bodyLock"),
    ]

    /// The thread that runs bodies of `modify`: one ends, publishes version 1 and looks for
    /// observers; the next begins.
    private static func bodies(_ end: [Instruction], lookingAt location: String) -> Test.Thread {
        Test.Thread(
            "bodies",
            end + [
                .store("version", 1, .releasing),
                .load(location, .acquiring, into: "found"),
                .store("modifier", 2, .releasing)
                    .at(mutationFile, "modifier.store(UInt(bitPattern: record), ordering: .releasing)"),
            ]
        )
    }

    private static let heavy = Instruction.membarrier
        .at("Platform/Barriers.swift", "return cplatform_membarrier()")

    /// A registration beside a body.
    private static func beside(barrier: [Instruction] = [heavy], _ more: [Instruction]) -> Test.Thread {
        Test.Thread(
            "registrar",
            [.lock("bodyLock")] + barrier + [
                .load("modifier", .acquiring, into: "modifier")
                    .at(mutationFile, "if Latch.isModifier(modifier.load(ordering: .acquiring)) { return .bodyLock }"),
                .branch("modifier"), .load("version", .acquiring, into: "version"),
            ] + more + [.unlock("bodyLock")]
        )
    }

    static let locks: [Test] = [
        Test(
            "lock",
            claim: "what one holder has done the next one sees",
            initially: ["lock": 1],
            plain: ["state"],
            [
                Test.Thread("holder", [.store("state", 1, .relaxed), unlock]),
                Test.Thread("next", [tryLock, .load("state", .relaxed, into: "seen")]),
            ],
            never: { $0["seen"] == 0 }
        ),
        Test(
            "lock, after a sleep",
            claim: "what one holder has done the next one sees",
            initially: ["lock": 1],
            given: ["word": 0],
            plain: ["state"],
            [
                Test.Thread("holder", [.store("state", 1, .relaxed), unlock]),
                Test.Thread(
                    "next",
                    [
                        .exchange("lock", 2, .acquiring, into: "word")
                            .at(lockFile, "while word.exchange(Self.contended, ordering: .acquiring) != Self.free"),
                        .branch("word"), .load("state", .relaxed, into: "seen"),
                    ]
                ),
            ],
            never: { $0["seen"] == 0 }
        ),
        Test(
            "modifier and barrier",
            claim: "a registration beside a body of modify that finds none misses no version (P3, P4)",
            initially: ["modifier": 1],
            given: ["held": 0],
            [bodies(end, lookingAt: "head"), beside([.store("head", 1, .releasing)])],
            // It registered, at version 0, and the thread that published version 1 has not found
            // it.
            never: { $0["modifier"] != 0 && $0["version"] == 0 && $0["found"] == 0 }
        ),
        // The barrier is not needed here.
        Test(
            "modifier and body lock",
            claim: "a registration beside a body of modify that waits for it misses no version (P3, P4)",
            initially: ["modifier": 1],
            [bodies(endUnderLock, lookingAt: "head"), beside(barrier: [], [.store("head", 1, .releasing)])],
            never: { $0["modifier"] != 0 && $0["version"] == 0 && $0["found"] == 0 }
        ),
        Test(
            "modifier, barrier and cut",
            claim: "an observer that is cut beside a body of modify receives no version after the cut (P2)",
            initially: ["modifier": 1, "limit": 9],
            given: ["held": 0],
            [bodies(end, lookingAt: "limit").atLimit, beside(cut)],
            never: { $0["modifier"] != 0 && $0["version"] == 0 && $0["found"] == 9 }
        ),
        Test(
            "modifier and cut",
            claim: "nor if the body waits for the cut (P2)",
            initially: ["modifier": 1, "limit": 9],
            [bodies(endUnderLock, lookingAt: "limit").atLimit, beside(barrier: [], cut)],
            never: { $0["modifier"] != 0 && $0["version"] == 0 && $0["found"] == 9 }
        ),
    ]

    private static let cut: [Instruction] = [
        .store("limit", .register("version"), .relaxed)
            .at("Property/Observed+Observing.swift", "limit.store(present.version, ordering: .relaxed)")
    ]
}

extension Test.Thread {
    /// The look at the limit is relaxed in the code.
    fileprivate var atLimit: Test.Thread {
        Test.Thread(
            name,
            instructions.map { instruction in
                guard instruction.location == "limit" else { return instruction }
                return instruction.with { $0.order = .relaxed }
                    .at(
                        "KeyPaths/PathLeaf.swift",
                        "return version <= limit.load(ordering: .relaxed)"
                    )
            }
        )
    }
}
