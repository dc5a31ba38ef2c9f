// SPDX-License-Identifier: Apache-2.0

private let cellFile = "Property/ValueCell.swift"
private let pointerFile = "Hazards/HazardPointer.swift"
private let magazineFile = "Reclamation/Magazine.swift"
private let recordFile = "Reclamation/ThreadRecord+Magazine.swift"
private let releasesFile = "Reclamation/MagazineReleases.swift"
private let ringFile = "Reclamation/ReferenceRing.swift"
private let ringRecordFile = "Reclamation/ThreadRecord+Ring.swift"
private let sweepingFile = "Reclamation/Magazine+Sweeping.swift"

extension Protocol {
    // MARK: Pins of values

    private static let storePin = Instruction.store("pin", 1, .releasing)
        .at(pointerFile, "address.store(object, ordering: .releasing)")
    private static let scanPin = Instruction.load("pin", .acquiring, into: "pinned")
        .at(pointerFile, "address.load(ordering: .acquiring)")
    private static let unpin = Instruction.store("pin", 0, .releasing)
        .at(pointerFile, "address.store(0, ordering: .releasing)")
    private static let heavy = Instruction.membarrier
        .at("Platform/Barriers.swift", "return cplatform_membarrier()")

    static let pinnedValues: [Test] = [
        Test(
            "pin and version",
            claim: "a value is not released while it is read (V5, V6, F4)",
            given: ["version": 0, "again": 0, "pinned": 0],
            plain: ["object"],
            [
                Test.Thread(
                    "reader",
                    [
                        .load("version", .acquiring, into: "version"),
                        storePin,
                        Instruction.light
                            .at(pointerFile, "let object = AsymmetricBarrier.light(fenced: fenced, object)"),
                        .load("version", .relaxed, into: "again")
                            .at(cellFile, "return latch.version.load(ordering: .relaxed) == word"),
                        .branch("again"),
                        .load("object", .relaxed, into: "seen"),
                        unpin,
                    ]
                ),
                Test.Thread(
                    "releaser",
                    [
                        .store("version", 1, .releasing), heavy, scanPin, .branch("pinned"),
                        .store("object", 666, .relaxed),
                    ]
                ),
            ],
            never: { $0["seen"] == 666 }
        ),
        Test(
            "the next pin ends the last read",
            claim: "a value that a frame has pinned before is not released before it was read (V5, F4)",
            initially: ["pin": 2],
            given: ["pinned": 1],
            plain: ["object"],
            [
                Test.Thread("reader", [.load("object", .relaxed, into: "seen"), storePin]),
                Test.Thread("releaser", [scanPin, .branch("pinned"), .store("object", 666, .relaxed)]),
            ],
            never: { $0["seen"] == 666 }
        ),
    ]

    // MARK: Magazines

    private static func storeTail(_ value: Value) -> Instruction {
        .store("tail", value, .releasing).at(magazineFile, "tail.store(number &+ 1, ordering: .releasing)")
    }
    private static func loadTail(into register: String) -> Instruction {
        .load("tail", .acquiring, into: register).at(magazineFile, "let end = tail.load(ordering: .acquiring)")
    }
    private static let loadHead = Instruction.load("head", .acquiring, into: "head")
        .at(magazineFile, "let first = head.load(ordering: .acquiring)")
    private static let claim = Instruction.compareExchange("head", 0, 1, .releasing)
        .at(magazineFile, "successOrdering: .releasing")
    private static let lightAfterPut = Instruction.light
        .at(magazineFile, "AsymmetricBarrier.light(fenced: AsymmetricBarrier.needsFences)")
    private static let lookAtTail = Instruction.load("tail", .relaxed, into: "tail")
        .at(magazineFile, "head.load(ordering: .relaxed) == tail.load(ordering: .relaxed)")

    private static func seeReclaimed(into register: String) -> Instruction {
        .update("reclaimed", .add, 1, .acquiringAndReleasing, into: register)
            .at(
                "Reclamation/Diagnostics.swift",
                "self.reclaimed.max(reclaimed >= twice ? reclaimed &- twice : 0, ordering: .acquiringAndReleasing)"
            )
    }

    static let magazines: [Test] = [
        Test(
            "put and claim",
            claim: "a reference is in its slot before it is claimed (B1, B3)",
            given: ["tail": 1],
            [
                Test.Thread(
                    "owner",
                    [
                        .store("slot", 1, .relaxed)
                            .at(magazineFile, "unsafe slot(number).pointee.store(reference, ordering: .relaxed)"),
                        storeTail(1),
                    ]
                ),
                Test.Thread(
                    "sweeper",
                    [loadTail(into: "tail"), .branch("tail"), .load("slot", .relaxed, into: "slot")]
                ),
            ],
            never: { $0["slot"] == 0 }
        ),
        Test(
            "claim and overwrite",
            claim: "a slot is read before it is overwritten (B2, B3)",
            initially: ["slot": 1],
            given: ["head": 1],
            [
                Test.Thread("sweeper", [.load("slot", .relaxed, into: "slot"), claim]),
                Test.Thread(
                    "owner",
                    [
                        .load("head", .acquiring, into: "head")
                            .at(
                                magazineFile,
                                "let count = tail.load(ordering: .relaxed) &- head.load(ordering: .acquiring)"
                            )
                            .keeps(
                                "acquiring → relaxed",
                                because:
                                    "processors keep a store behind the load that decides about it; a compiler need not"
                            ),
                        .branch("head"), .store("slot", 2, .relaxed),
                    ]
                ),
            ],
            never: { $0["slot"] == 2 }
        ),
        Test(
            "claim after claim",
            claim: "no more is claimed than was put in (B3)",
            given: ["first": 1, "head": 1],
            [
                Test.Thread("owner", [storeTail(1)]),
                Test.Thread("sweeper", [loadTail(into: "first"), .branch("first"), claim]),
                Test.Thread("another", [loadHead, loadTail(into: "tail")]),
            ],
            never: { $0["tail"] == 0 }
        ),
        lastLook("put and the last look", storeTail, lightAfterPut, claim, lookAtTail)
            .looking(at: magazineFile, "let wasEmpty = head.load(ordering: .relaxed) == number"),
        park("put and park", storeTail, lightAfterPut, lookAtTail),
        published("a magazine is published", "magazine", recordFile),
        Test(
            "a release has begun",
            claim: "a drain that finds references claimed waits for their release (B3, B5)",
            given: ["head": 1],
            [
                Test.Thread(
                    "owner",
                    [
                        .store("begun", 1, .relaxed)
                            .at(
                                magazineFile,
                                "releasesBegun.store(releasesBegun.load(ordering: .relaxed) &+ 1, ordering: .relaxed)"
                            ),
                        claim,
                    ]
                ),
                Test.Thread(
                    "drain",
                    [
                        loadHead.at(sweepingFile, "let head = head.load(ordering: .acquiring)"), .branch("head"),
                        .load("begun", .relaxed, into: "begun"),
                    ]
                ),
            ],
            never: { $0["begun"] == 0 }
        ),
        Test(
            "a release has ended",
            claim: "a drain that finds a release ended finds what was handed over (B5)",
            given: ["ended": 1],
            [
                Test.Thread(
                    "owner",
                    [
                        .store("stack", 1, .relaxed),
                        .store("ended", 1, .releasing)
                            .at(
                                magazineFile,
                                "releasesEnded.store(releasesEnded.load(ordering: .relaxed) &+ 1, ordering: .releasing)"
                            ),
                    ]
                ),
                Test.Thread(
                    "drain",
                    [
                        .load("ended", .acquiring, into: "ended")
                            .at(
                                releasesFile,
                                "unsafe begun != magazine.pointee.releasesEnded.load(ordering: .acquiring)"
                            ),
                        .branch("ended"), .load("stack", .relaxed, into: "stack"),
                    ]
                ),
            ],
            never: { $0["stack"] == 0 }
        ),
        Test(
            "releases at rest",
            claim: "a drain that passes over releases finds none that has begun (B5)",
            given: ["ended": 1],
            [
                Test.Thread("owner", [.store("begun", 1, .relaxed), .store("ended", 1, .releasing)]),
                Test.Thread(
                    "drain",
                    [
                        .load("ended", .acquiring, into: "ended")
                            .at(
                                releasesFile,
                                "releases.ended &+= unsafe magazine.pointee.releasesEnded.load(ordering: .acquiring)"
                            ),
                        .load("begun", .relaxed, into: "begun"),
                    ]
                ),
            ],
            never: { $0["begun"] == 0 }
        ),
        Test(
            "released and retired",
            claim: "no more is counted as released than as retired",
            given: ["released": 1],
            [
                Test.Thread(
                    "owner",
                    [
                        storeTail(1),
                        .update("released", .add, 1, .releasing)
                            .at(magazineFile, "released.add(UInt(count), ordering: .releasing)"),
                    ]
                ),
                Test.Thread(
                    "another",
                    [
                        .load("released", .acquiring, into: "released")
                            .at(
                                sweepingFile,
                                "unsafe count &+= $0.pointee.released.load(ordering: .acquiring)"
                            ),
                        .load("tail", .relaxed, into: "tail"),
                    ]
                ),
            ],
            never: { $0["tail"] == 0 }
        ),
        Test(
            "counts that were seen",
            claim: "nor after another thread's look",
            given: ["reclaimed": 1],
            [
                Test.Thread("first", [.store("retired", 1, .relaxed), seeReclaimed(into: "before")]),
                Test.Thread(
                    "second",
                    [seeReclaimed(into: "reclaimed"), .load("retired", .relaxed, into: "retired")]
                ),
            ],
            never: { $0["retired"] == 0 }
        ),
    ]

    // MARK: Rings

    private static func storeRingTail(_ value: Value) -> Instruction {
        .store("tail", value, .releasing).at(ringFile, "tail.store(number &+ 1, ordering: .releasing)")
    }
    private static let takeAll = Instruction.store("head", 1, .releasing)
        .at(ringFile, "head.store(end, ordering: .releasing)")
    private static let lightInRing =
        lightAfterPut
        .at(ringFile, "AsymmetricBarrier.light(fenced: AsymmetricBarrier.needsFences)")
    private static let lookAtRing =
        lookAtTail
        .at(ringFile, "head.load(ordering: .relaxed) == tail.load(ordering: .relaxed)")

    static let rings: [Test] = [
        Test(
            "put and take",
            claim: "a reference is in its slot before it is taken (B1, B6)",
            given: ["tail": 1],
            plain: ["slot"],
            [
                Test.Thread("owner", [.store("slot", 1, .relaxed), storeRingTail(1)]),
                Test.Thread(
                    "reclamation thread",
                    [
                        .load("tail", .acquiring, into: "tail")
                            .at(ringFile, "let end = tail.load(ordering: .acquiring)"),
                        .branch("tail"), .load("slot", .relaxed, into: "slot"),
                    ]
                ),
            ],
            never: { $0["slot"] == 0 }
        ),
        Test(
            "take and put",
            claim: "a slot is read before it is filled again (B6)",
            initially: ["slot": 1],
            given: ["head": 1],
            plain: ["slot"],
            [
                Test.Thread("reclamation thread", [.load("slot", .relaxed, into: "slot"), takeAll]),
                Test.Thread(
                    "owner",
                    [
                        .load("head", .acquiring, into: "head")
                            .at(ringFile, "guard number &- head.load(ordering: .acquiring) < Self.capacity"),
                        .branch("head"), .store("slot", 2, .relaxed),
                    ]
                ),
            ],
            never: { $0["slot"] == 2 }
        ),
        lastLook("put into a ring and the last look", storeRingTail, lightInRing, takeAll, lookAtRing)
            .looking(at: ringFile, "return number &+ 1 &- head.load(ordering: .relaxed)"),
        park("put into a ring and park", storeRingTail, lightInRing, lookAtRing),
        published("a ring is published", "ring", ringRecordFile),
    ]

    // MARK: Both

    private static func lastLook(
        _ name: String,
        _ storeTail: (Value) -> Instruction,
        _ light: Instruction,
        _ take: Instruction,
        _ lookAtTail: Instruction
    ) -> Test {
        Test(
            name,
            claim: "what is put in after all was just taken out is not forgotten (B2, B3)",
            initially: ["tail": 1],
            [
                Test.Thread("owner", [storeTail(2), light, .load("head", .relaxed, into: "head")]),
                Test.Thread("reclamation thread", [take, heavy, lookAtTail]),
            ],
            never: { $0["head"] == 0 && $0["tail"] == 1 }
        )
    }

    private static func park(
        _ name: String,
        _ storeTail: (Value) -> Instruction,
        _ light: Instruction,
        _ lookAtTail: Instruction
    ) -> Test {
        Test(
            name,
            claim: "nor what is put in while the reclamation thread goes to sleep (B2, B3)",
            [
                Test.Thread(
                    "owner",
                    [
                        storeTail(1), light,
                        .load("isParked", .sequentiallyConsistent, into: "parked")
                            .at("Reclamation/Parking.swift", "state.load(ordering: .sequentiallyConsistent)"),
                    ]
                ),
                Test.Thread(
                    "reclamation thread",
                    [
                        .store("isParked", 1, .sequentiallyConsistent)
                            .at("Reclamation/Parking.swift", "state.store(.parked, ordering: .sequentiallyConsistent)"),
                        heavy, lookAtTail,
                    ]
                ),
            ],
            never: { $0["parked"] == 0 && $0["tail"] == 0 }
        )
    }

    private static func published(_ name: String, _ word: String, _ file: String) -> Test {
        Test(
            name,
            claim: "it is complete before it is found (B1)",
            given: [word: 1],
            plain: ["contents"],
            [
                Test.Thread(
                    "owner",
                    [
                        .store("contents", 1, .relaxed),
                        .store(word, 1, .releasing)
                            .at(file, "unsafe pointee.\(word).store(UInt(bitPattern: \(word)), ordering: .releasing)"),
                    ]
                ),
                Test.Thread(
                    "reclamation thread",
                    [
                        .load(word, .acquiring, into: word).at(file, "pointee.\(word).load(ordering: .acquiring)"),
                        .branch(word), .load("contents", .relaxed, into: "seen", address: [word]),
                    ]
                ),
            ],
            never: { $0["seen"] == 0 }
        )
    }
}

extension Test {
    /// The owner's look at the head is this line.
    fileprivate func looking(at file: String, _ fragment: String) -> Test {
        var test = self
        let last = test.threads[0].instructions.count - 1
        test.threads[0].instructions[last] = test.threads[0].instructions[last].at(file, fragment)
        return test
    }
}
