// SPDX-License-Identifier: Apache-2.0

private let retireFile = "Reclamation/ThreadRecord+Retire.swift"
private let threadFile = "Reclamation/ReclamationThread.swift"
private let parkingFile = "Reclamation/Parking.swift"
private let recordsFile = "Hazards/ThreadRecords.swift"
private let framesFile = "Hazards/ThreadRecord+Frames.swift"
private let countFile = "Platform/EventCount.swift"
private let poolFile = "Reclamation/ObserverPool.swift"

extension Protocol {
    private static let push = Instruction.compareExchange("stack", 0, 1, .sequentiallyConsistent)
        .at(retireFile, "successOrdering: .sequentiallyConsistent")
    private static let take = Instruction.exchange("stack", 0, .acquiring, into: "taken")
        .at(retireFile, "var address = unsafe pointee.retired.exchange(0, ordering: .acquiring)")

    static let retirement: [Test] = [
        Test(
            "retire and take",
            claim: "an item is complete before it is taken (C3, F1)",
            given: ["taken": 1],
            plain: ["item"],
            [
                Test.Thread("retirer", [.store("item", 1, .relaxed), push]),
                Test.Thread(
                    "reclamation thread",
                    [take, .branch("taken"), .load("item", .relaxed, into: "seen", address: ["taken"])]
                ),
            ],
            never: { $0["seen"] == 0 }
        ),
        Test(
            "kept and recycled",
            claim: "a thread that had an item is done with it before another thread uses it",
            given: ["taken": 1],
            plain: ["item"],
            [
                Test.Thread(
                    "keeper",
                    [
                        .store("item", 1, .relaxed),
                        .compareExchange("pool", 0, 1, .releasing).at(poolFile, "ordering: .releasing"),
                    ]
                ),
                Test.Thread(
                    "observer",
                    [
                        .exchange("pool", 0, .acquiring, into: "taken")
                            .at(
                                poolFile,
                                "let address = unsafe depot[place].exchange(0, ordering: .acquiring)"
                            ),
                        .branch("taken"), .load("item", .relaxed, into: "seen", address: ["taken"]),
                    ]
                ),
            ],
            never: { $0["seen"] == 0 }
        ),
        // The language drops references with a release, and looks for others with a relaxed
        // load.
        Test(
            "the last reference",
            claim: "a thread that had a reference is done with the observer before it is kept",
            initially: ["references": 2],
            given: ["references": 1],
            plain: ["observer"],
            [
                Test.Thread(
                    "another",
                    [.load("observer", .relaxed, into: "seen"), .update("references", .add, -1, .releasing)]
                ),
                Test.Thread(
                    "reclamation thread",
                    [
                        .load("references", .relaxed, into: "references"), .branch("references"),
                        .fence(.acquiring).at(
                            "Registry/Observer+Pool.swift",
                            "atomicMemoryFence(ordering: .acquiring)"
                        ),
                        .store("observer", 666, .relaxed),
                    ]
                ),
            ],
            never: { $0["seen"] == 666 }
        ),
    ]

    // MARK: Sleep

    private static let lookWhetherParked = Instruction.load("isParked", .sequentiallyConsistent, into: "parked")
        .at(parkingFile, "state.load(ordering: .sequentiallyConsistent)")
    private static let park = Instruction.store("isParked", 1, .sequentiallyConsistent)
        .at(parkingFile, "state.store(.parked, ordering: .sequentiallyConsistent)")
    private static let pushRecord = Instruction.store("records", 1, .sequentiallyConsistent)
        .at(recordsFile, "head.store(UInt(bitPattern: record), ordering: .sequentiallyConsistent)")
    private static let loadRecords = Instruction.load("records", .sequentiallyConsistent, into: "records")
        .at(recordsFile, "let first = head.load(ordering: .sequentiallyConsistent)")

    static let parking: [Test] = [
        Test(
            "park and wake",
            claim: "no retired item is forgotten while the reclamation thread sleeps (C3)",
            [
                Test.Thread("retirer", [push, lookWhetherParked]),
                Test.Thread(
                    "reclamation thread",
                    [
                        park,
                        .load("stack", .sequentiallyConsistent, into: "stack")
                            .at(
                                threadFile,
                                "if unsafe record.pointee.retired.load(ordering: .sequentiallyConsistent) != 0"
                            ),
                    ]
                ),
            ],
            never: { $0["parked"] == 0 && $0["stack"] == 0 }
        ),
        Test(
            "park and a new record",
            claim: "nor the first item of a thread that the reclamation thread does not know yet",
            [
                Test.Thread("retirer", [pushRecord, push, lookWhetherParked]),
                Test.Thread("reclamation thread", [park, loadRecords]),
            ],
            never: { $0["parked"] == 0 && $0["records"] == 0 }
        ),
        Test(
            "event count",
            claim: "no signal is lost between the look and the sleep",
            given: ["happened": 0, "sleepers": 0],
            [
                Test.Thread(
                    "signaller",
                    [
                        .store("happens", 1, .relaxed),
                        .update("signals", .add, 1, .sequentiallyConsistent)
                            .at(countFile, "unsafe signals.pointee.add(1, ordering: .sequentiallyConsistent)"),
                        .load("sleepers", .sequentiallyConsistent, into: "sleepers")
                            .at(countFile, "if sleepers.load(ordering: .sequentiallyConsistent) > 0"),
                    ]
                ),
                Test.Thread(
                    "waiter",
                    [
                        .load("signals", .acquiring, into: "ticket")
                            .at(countFile, "unsafe Ticket(signals: signals.pointee.load(ordering: .acquiring))"),
                        .load("happens", .relaxed, into: "happened"),
                        .update("sleepers", .add, 1, .relaxed)
                            .at(countFile, "sleepers.add(1, ordering: .relaxed)"),
                        // The kernel's, between its count of waiters and its comparison.
                        .fence(.sequentiallyConsistent), .load("signals", .relaxed, into: "compared"),
                    ]
                ),
            ],
            never: { $0["ticket"] == $0["compared"] }
        ),
    ]

    // MARK: Records

    static let records: [Test] = [
        Test(
            "a record is pushed",
            claim: "a record is complete before a scan finds it (F4)",
            given: ["records": 1],
            plain: ["frames"],
            [
                Test.Thread("new thread", [.store("frames", 1, .relaxed), pushRecord]),
                Test.Thread(
                    "scanner",
                    [loadRecords, .branch("records"), .load("frames", .relaxed, into: "seen", address: ["records"])]
                ),
            ],
            never: { $0["seen"] == 0 }
        ),
        linked("deeper frames", "guard let block = unsafe FrameBlock.at(link.pointee.load(ordering: .acquiring))"),
        Test(
            "depth and current",
            claim: "a frame that is in use at the barrier is scanned (W6, C4, C5, F4)",
            initially: ["entry": 1],
            given: ["entry": 1, "depth": 0],
            plain: ["closure"],
            [
                Test.Thread(
                    "walker",
                    [
                        enterFrame(1), .store("current", 1, .releasing), .light,
                        .load("entry", .relaxed, into: "entry"),
                        .branch("entry"), .load("closure", .relaxed, into: "seen"), leaveFrame(0),
                    ]
                ),
                Test.Thread(
                    "canceller",
                    [
                        .store("entry", 3, .relaxed), .membarrier, scanDepth, .branch("depth"),
                        .store("closure", 666, .relaxed),
                    ]
                ),
            ],
            never: { $0["seen"] == 666 }
        ),
        Test(
            "depth and pin",
            claim: "a frame that pins a table at the grace period is scanned (W2, W3, F2, F4)",
            initially: ["head": 1],
            given: ["table": 1, "inSection": 0, "depth": 0],
            plain: ["contents"],
            [
                Test.Thread(
                    "walker",
                    [enterFrame(1)] + enterSection
                        + [.load("head", .acquiring, into: "table"), .branch("table"), .store("pin", 1, .relaxed)]
                        + leaveSection
                        + [.load("contents", .relaxed, into: "seen", address: ["table"]), leaveFrame(0)]
                ),
                Test.Thread(
                    "reclamation thread",
                    [.store("head", 0, .releasing)] + gracePeriod
                        + [scanDepth, .branch("depth"), .store("contents", 666, .relaxed)]
                ),
            ],
            never: { $0["seen"] == 666 }
        ),
        // An inner pass ends, the outer one ends, and another begins: the scan reads its store.
        Test(
            "depth of the next pass",
            claim: "a scan that sees the next pass comes after the last one (F4)",
            initially: ["depth": 2],
            given: ["depth": 1],
            plain: ["closure"],
            [
                Test.Thread(
                    "walker",
                    [.load("closure", .relaxed, into: "seen"), leaveFrame(1), leaveFrame(0), enterFrame(1)]
                ),
                Test.Thread("reclamation thread", [scanDepth, .branch("depth"), .store("closure", 666, .relaxed)]),
            ],
            never: { $0["seen"] == 666 }
        ),
    ]

    private static func enterFrame(_ depth: Value) -> Instruction {
        .store("depth", depth, .releasing).at(
            framesFile,
            "unsafe pointee.depth.store(depth &+ 1, ordering: .releasing)"
        )
    }
    private static func leaveFrame(_ depth: Value) -> Instruction {
        .store("depth", depth, .releasing)
            .at(
                framesFile,
                "unsafe pointee.depth.store(pointee.depth.load(ordering: .relaxed) &- 1, ordering: .releasing)"
            )
    }
    private static let scanDepth = Instruction.load("depth", .acquiring, into: "depth")
        .at(framesFile, "let depth = unsafe pointee.depth.load(ordering: .acquiring)")

    private static func linked(_ name: String, _ load: String) -> Test {
        Test(
            name,
            claim: "a block of frames is complete before a scan finds it (F4)",
            given: ["block": 1],
            plain: ["frames"],
            [
                Test.Thread(
                    "owner",
                    [
                        .store("frames", 1, .relaxed),
                        .store("link", 1, .releasing)
                            .at(framesFile, "unsafe link.pointee.store(UInt(bitPattern: block), ordering: .releasing)"),
                    ]
                ),
                Test.Thread(
                    "scanner",
                    [
                        .load("link", .acquiring, into: "block").at(framesFile, load), .branch("block"),
                        .load("frames", .relaxed, into: "seen", address: ["block"]),
                    ]
                ),
            ],
            never: { $0["seen"] == 0 }
        )
    }
}
