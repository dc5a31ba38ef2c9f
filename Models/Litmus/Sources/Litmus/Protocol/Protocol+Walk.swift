// SPDX-License-Identifier: Apache-2.0

private let walkFile = "Registry/ObserverList+Walk.swift"
private let tableFile = "Registry/ObserverTable.swift"
private let contentsFile = "Registry/TableContents.swift"
private let listFile = "Registry/ObserverList.swift"
private let coreFile = "Registry/RegistryCore.swift"
private let endFile = "Registry/Observer+End.swift"
private let pointerFile = "Hazards/HazardPointer.swift"

extension Protocol {
    private static let loadHead = Instruction.load("head", .acquiring, into: "table")
        .at(walkFile, "return head.load(ordering: .acquiring) & ~ListHints.mask")
    private static let loadFurtherHead = Instruction.load("head", .acquiring, into: "table")
        .at(listFile, "furtherHead(of: list).pointee.load(ordering: .acquiring)")
    private static let storeHead = Instruction.store("head", 1, .releasing)
        .at(coreFile, "unsafe head?.pointee.store(table | hints, ordering: .releasing)")
    private static let storeFurtherHead = Instruction.store("head", 1, .releasing)
        .at(coreFile, "unsafe furtherHead(of: list).pointee.store(successor?.address ?? 0, ordering: .releasing)")
    private static let scanPin = Instruction.load("pin", .acquiring, into: "pinned")
        .at(pointerFile, "address.load(ordering: .acquiring)")
    private static let clearPin = Instruction.store("pin", 0, .releasing)
        .at(pointerFile, "address.store(0, ordering: .releasing)")

    /// A walker of a list whose table is replaced.
    private static func pinAndHead(_ name: String, _ load: Instruction, _ store: Instruction) -> Test {
        Test(
            name,
            claim: "a table is not freed under a pass (W2, W3, F2, F4)",
            initially: ["head": 1],
            given: ["table": 1, "inSection": 0, "pinned": 0],
            plain: ["contents"],
            [
                Test.Thread(
                    "walker",
                    enterSection + [
                        load, .branch("table"),
                        .store("pin", 1, .relaxed).at(
                            "Hazards/ReadSection.swift",
                            "address.store(table, ordering: .relaxed)"
                        ),
                    ] + leaveSection + [.load("contents", .relaxed, into: "seen", address: ["table"]), clearPin]
                ),
                Test.Thread(
                    "reclamation thread",
                    [store.with { $0.value = 0 }] + gracePeriod + [
                        scanPin, .branch("pinned"), .store("contents", 666, .relaxed),
                    ]
                ),
            ],
            never: { $0["seen"] == 666 }
        )
    }

    /// A walker of a list whose first table is published.
    private static func tableIsPublished(_ name: String, _ load: Instruction, _ store: Instruction) -> Test {
        Test(
            name,
            claim: "a table is complete before it is found (R2, W2)",
            given: ["table": 1],
            plain: ["contents"],
            [
                Test.Thread("registrar", [.store("contents", 1, .relaxed), store]),
                Test.Thread(
                    "walker",
                    [load, .branch("table"), .load("contents", .relaxed, into: "seen", address: ["table"])]
                ),
            ],
            never: { $0["seen"] == 0 }
        )
    }

    /// A table: from the read section to the pin.
    static let walk: [Test] = [
        pinAndHead("pin and head", loadHead, storeHead),
        pinAndHead("pin and a further list's head", loadFurtherHead, storeFurtherHead),
        Test(
            "pin is cleared",
            claim: "a pass has ended before its table is freed (W10, F4)",
            initially: ["pin": 1],
            given: ["pinned": 0],
            plain: ["contents"],
            [
                Test.Thread("walker", [.load("contents", .relaxed, into: "seen"), clearPin]),
                Test.Thread("reclamation thread", [scanPin, .branch("pinned"), .store("contents", 666, .relaxed)]),
            ],
            never: { $0["seen"] == 666 }
        ),
    ]

    /// The tests that a walker finds only complete objects.
    static let publication: [Test] = [
        tableIsPublished("a table is published", loadHead, storeHead),
        tableIsPublished("a further list's table is published", loadFurtherHead, storeFurtherHead),
        Test(
            "an ended entry and a combination",
            claim: "a commit that finds the entry of a combination ended finds its observer cut off (P21)",
            [
                Test.Thread(
                    "canceller",
                    [
                        .store("mark", 1, .relaxed),
                        .fence(.releasing)
                            .at("Registry/RegistryCore+Ending.swift", "atomicMemoryFence(ordering: .releasing)"),
                        .store("entry", 1, .relaxed),
                    ]
                ),
                Test.Thread(
                    "committer",
                    [
                        .load("entry", .relaxed, into: "ended"),
                        .fence(.acquiring)
                            .at("Transaction/Combination.swift", "atomicMemoryFence(ordering: .acquiring)"),
                        .load("mark", .relaxed, into: "isCutOff"),
                    ]
                ),
            ],
            never: { $0["ended"] == 1 && $0["isCutOff"] == 0 }
        ),
        Test(
            "count and entry",
            claim: "an entry is complete before it is counted (R3, R4, W4, W5)",
            given: ["count": 1],
            plain: ["closure"],
            [
                Test.Thread(
                    "registrar",
                    [
                        .store("closure", 1, .relaxed),
                        .store("entry", 1, .relaxed)
                            .at(tableFile, "unsafe entry.pointee.word.store(observer.address, ordering: .relaxed)"),
                        .store("count", 1, .releasing)
                            .at(tableFile, "unsafe contents.pointee.count.store(count, ordering: .releasing)"),
                    ]
                ),
                Test.Thread(
                    "walker",
                    [
                        .load("count", .acquiring, into: "count").at(
                            walkFile,
                            "count.load(ordering: .acquiring)"
                        ),
                        .branch("count"),
                        .load("entry", .relaxed, into: "entry")
                            .at(walkFile, "var observer = unsafe entry.pointee.word.load(ordering: .relaxed)"),
                        .load("closure", .relaxed, into: "closure"),
                    ]
                ),
            ],
            never: { $0["entry"] == 0 || $0["closure"] == 0 }
        ),
    ]

    // MARK: The end of an observation

    private static let storeCurrent = Instruction.store("current", 1, .releasing)
        .at(pointerFile, "address.store(object, ordering: .releasing)")
    private static let barrier = Instruction.light
        .at(pointerFile, "let object = AsymmetricBarrier.light(fenced: fenced, object)")
    private static let heavy = Instruction.membarrier.at(
        "Platform/Barriers.swift",
        "return cplatform_membarrier()"
    )
    private static let loadEntryAgain = Instruction.load("entry", .relaxed, into: "entry")
        .at(contentsFile, "let word = word.load(ordering: .relaxed)", after: "var isActive: Bool {")
    private static let scanCurrent = Instruction.load("current", .acquiring, into: "running")
        .at(pointerFile, "address.load(ordering: .acquiring)")
    private static let markEnded = Instruction.store("mark", 0, .releasing)
        .at(endFile, "mark.store(knownMark.ended(reason).rawValue, ordering: .releasing)")
    private static let loadMark = Instruction.load("mark", .relaxed, into: "mark")
        .at("Registry/Observer+Content.swift", "mark.pointee.load(ordering: .relaxed)")
    private static let clearCurrent = Instruction.store("current", 0, .releasing)
        .at(pointerFile, "address.store(0, ordering: .releasing)")

    private static func callIfLive(_ loads: [Instruction]) -> Test.Thread {
        Test.Thread(
            "walker",
            [storeCurrent, barrier] + loads + [.load("closure", .relaxed, into: "seen"), clearCurrent]
        )
    }

    static let ends: [Test] = [
        Test(
            "current and tombstone",
            claim: "a closure is not called after its destruction (W6 to W8, C1, C4, C5)",
            initially: ["entry": 1],
            given: ["entry": 1, "running": 0],
            plain: ["closure"],
            [
                callIfLive([loadEntryAgain, .branch("entry")]),
                Test.Thread(
                    "canceller",
                    [
                        .store("entry", 3, .relaxed)
                            .at(tableFile, ".store(observer.address | TableEntry.Mark.ended, ordering: .relaxed)"),
                        heavy, scanCurrent, .branch("running"), .store("closure", 666, .relaxed),
                    ]
                ),
            ],
            never: { $0["seen"] == 666 }
        ),
        Test(
            "current and mark",
            claim: "in a replaced table the mark decides (W8, C1, F3, F4)",
            initially: ["entry": 3, "mark": 1],
            given: ["entry": 3, "mark": 1, "running": 0],
            plain: ["closure"],
            [
                callIfLive([loadEntryAgain, .branch("entry"), loadMark, .branch("mark")]),
                Test.Thread(
                    "reclamation thread",
                    [markEnded, heavy, scanCurrent, .branch("running"), .store("closure", 666, .relaxed)]
                ),
            ],
            never: { $0["seen"] == 666 }
        ),
        Test(
            "a visit and the mark",
            claim: "nor is the closure of an observer that is visited by itself (W6 to W8, C1, F3, F4)",
            initially: ["mark": 1],
            given: ["mark": 1, "running": 0],
            plain: ["closure"],
            [
                Test.Thread(
                    "visitor",
                    [
                        storeCurrent,
                        barrier,
                        loadMark,
                        .branch("mark"), .load("closure", .relaxed, into: "seen"), clearCurrent,
                    ]
                ),
                Test.Thread(
                    "reclamation thread",
                    [markEnded, heavy, scanCurrent, .branch("running"), .store("closure", 666, .relaxed)]
                ),
            ],
            never: { $0["seen"] == 666 }
        ),
        Test(
            "replaced table and mark",
            claim: "what ends after its table was replaced is not called there (R2, W8, C1)",
            initially: ["entry": 1, "mark": 1],
            given: ["entry": 1, "running": 0],
            plain: ["closure"],
            [
                callIfLive([loadEntryAgain, .branch("entry")]),
                // The lock's word counts, so that the registrar comes first.
                Test.Thread(
                    "registrar",
                    [
                        .store("entry", 2, .relaxed)
                            .at(
                                contentsFile,
                                "word.store(word.load(ordering: .relaxed) | Mark.replaced, ordering: .relaxed)"
                            ),
                        .exchange("lock", 2, .releasing),
                    ]
                ),
                Test.Thread(
                    "canceller",
                    [
                        .compareExchange("lock", 2, 3, .acquiring), markEnded, heavy, scanCurrent,
                        .branch("running"),
                        .store("closure", 666, .relaxed),
                    ]
                ),
            ],
            never: { $0["seen"] == 666 }
        ),
        Test(
            "the next callback ends the last",
            claim: "a closure is not destroyed during its callback (W6, C5)",
            initially: ["current": 2],
            given: ["running": 1],
            plain: ["closure"],
            [
                Test.Thread("walker", [.load("closure", .relaxed, into: "seen"), storeCurrent]),
                Test.Thread("canceller", [scanCurrent, .branch("running"), .store("closure", 666, .relaxed)]),
            ],
            never: { $0["seen"] == 666 }
        ),
        Test(
            "the pass ends the last callback",
            claim: "a closure is not destroyed during its callback (W10, F4)",
            initially: ["current": 1],
            given: ["running": 0],
            plain: ["closure"],
            [
                Test.Thread("walker", [.load("closure", .relaxed, into: "seen"), clearCurrent]),
                Test.Thread("reclamation thread", [scanCurrent, .branch("running"), .store("closure", 666, .relaxed)]),
            ],
            never: { $0["seen"] == 666 }
        ),
        Test(
            "a new thread's record",
            claim: "a record that the scan does not find was pushed later (F3, F4)",
            initially: ["entry": 1],
            given: ["records": 0],
            [
                Test.Thread(
                    "walker",
                    [
                        .store("records", 1, .sequentiallyConsistent), storeCurrent, barrier, loadEntryAgain,
                        .branch("entry"), .load("closure", .relaxed, into: "seen"),
                    ]
                ),
                Test.Thread(
                    "canceller",
                    [
                        .store("entry", 3, .relaxed), heavy,
                        .load("records", .sequentiallyConsistent, into: "records"), .branch("records"),
                        .store("closure", 666, .relaxed),
                    ]
                ),
            ],
            never: { $0["entry"] == 1 && $0["seen"] == 666 }
        ),
        shownByMark("the mark shows the end", "var isMarkedActive: Bool {"),
        shownByMark("the mark shows a token the end", "var isActive: Bool {"),
    ]

    private static func shownByMark(_ name: String, _ function: String) -> Test {
        Test(
            name,
            claim: "what came before the end is seen by a thread that sees the end (C1)",
            initially: ["mark": 1],
            given: ["mark": 0],
            [
                Test.Thread("canceller", [.store("before", 1, .relaxed), markEnded]),
                Test.Thread(
                    "another",
                    [
                        .load("mark", .acquiring, into: "mark")
                            .at(endFile, "mark.load(ordering: .acquiring)", after: function),
                        .branch("mark"), .load("before", .relaxed, into: "before"),
                    ]
                ),
            ],
            never: { $0["before"] == 0 }
        )
    }
}
