// SPDX-License-Identifier: Apache-2.0

private let endFile = "Registry/Observer+End.swift"
private let homeFile = "Registry/Observer.swift"
private let extrasFile = "Registry/Observer+Extras.swift"
private let listFile = "Registry/ObserverList.swift"
private let lifeFile = "Registry/BiasedReferenceCount.swift"
private let countsFile = "Delivery/DeliveryCounts.swift"
private let mailboxFile = "Delivery/SharedMailbox.swift"
private let loopFile = "KeyPaths/DrainLoop.swift"
private let leafFile = "KeyPaths/PathLeaf.swift"
private let pathFile = "KeyPaths/PathObservation.swift"

extension Protocol {
    /// A thread writes, then passes on a word; another finds the word, then reads.
    private static func handOver(
        _ name: String,
        _ claim: String,
        _ pass: Instruction,
        _ find: Instruction,
        initially: [String: Int] = [:],
        given: [String: Int] = [:]
    ) -> Test {
        Test(
            name,
            claim: claim,
            initially: initially,
            given: given,
            plain: ["what"],
            [
                Test.Thread("giver", [.store("what", 1, .relaxed), pass]),
                Test.Thread(
                    "finder",
                    [find] + (find.into.map { [.branch($0)] } ?? []) + [.load("what", .relaxed, into: "seen")]
                ),
            ],
            never: { $0["seen"] == 0 }
        )
    }

    private static func finish(into: String? = nil) -> Instruction {
        .update("mark", .or, 2, .releasing, into: into)
            .at(endFile, "let before = mark.bitwiseOr(ObserverMark.finished.rawValue, ordering: .releasing).oldValue")
    }
    private static func listen(into: String) -> Instruction {
        .update("mark", .or, 1024, .acquiring, into: into)
            .at(
                endFile,
                "let before = mark.bitwiseOr(ObserverMark.hasListeners.rawValue, ordering: .acquiring).oldValue"
            )
    }
    private static func balance(_ step: Int, _ fragment: String, into: String? = nil) -> Instruction {
        .update("balance", .add, .constant(step), .acquiringAndReleasing, into: into).at(lifeFile, fragment)
    }
    private static let giveBack = "balance.subtract(1, ordering: .acquiringAndReleasing).newValue"
    private static let endOfLife = "balance.add(Int(count) &+ others, ordering: .acquiringAndReleasing).newValue"

    static let lifetimes: [Test] =
        [
            handOver(
                "finished and listener",
                "a listener that comes late finds the closure destroyed (C6)",
                finish(),
                listen(into: "mark"),
                given: ["mark": 2]
            ),
            handOver(
                "finished",
                "a thread that sees that the closure is destroyed comes after its destruction (C6)",
                finish(),
                .load("mark", .acquiring, into: "mark")
                    .at(
                        endFile,
                        "mark.load(ordering: .acquiring)",
                        after: "var isFinished: Bool {"
                    ),
                given: ["mark": 2]
            ),
            Test(
                "listener and finished",
                claim: "a listener is called, or learns that it came late (C6)",
                given: ["before": 1024],
                plain: ["listeners"],
                [
                    Test.Thread(
                        "registrar",
                        [.lock("core"), listen(into: "state"), .store("listeners", 1, .relaxed), .unlock("core")]
                    ),
                    Test.Thread(
                        "deinit thread",
                        [
                            finish(into: "before"), .branch("before"), .lock("core"),
                            .load("listeners", .relaxed, into: "listeners"), .unlock("core"),
                        ]
                    ),
                ],
                never: { $0["listeners"] == 0 }
            ),
            Test(
                "the last observer of a source",
                claim: "a core is released when all are done with it, by the source",
                given: ["others": -1],
                plain: ["core"],
                [
                    Test.Thread("observer", [.load("core", .relaxed, into: "seen"), balance(-1, giveBack)]),
                    Test.Thread(
                        "source",
                        [balance(1, endOfLife, into: "others"), .branch("others"), .store("core", 666, .relaxed)]
                    ),
                ],
                never: { $0["seen"] == 666 }
            ),
            Test(
                "the source before its last observer",
                claim: "a core is released when all are done with it, by an observer",
                given: ["others": 1],
                plain: ["core"],
                [
                    Test.Thread("source", [.load("core", .relaxed, into: "seen"), balance(1, endOfLife)]),
                    Test.Thread(
                        "observer",
                        [balance(-1, giveBack, into: "others"), .branch("others"), .store("core", 666, .relaxed)]
                    ),
                ],
                never: { $0["seen"] == 666 }
            ),
            handOver(
                "extras",
                "what an observer was given is complete before it is found",
                .store("home", 1, .releasing).at(extrasFile, "home.store(address | 1, ordering: .releasing)"),
                .load("home", .acquiring, into: "home").at(extrasFile, "let home = home.load(ordering: .acquiring)"),
                given: ["home": 1]
            ),
            handOver(
                "extras and core",
                "what an observer was given is complete before it is found",
                .store("home", 1, .releasing).at(extrasFile, "home.store(address | 1, ordering: .releasing)"),
                .load("home", .acquiring, into: "home").at(homeFile, "return home.load(ordering: .acquiring)"),
                given: ["home": 1]
            ),
        ]
        + [
            ("users", "borrowing func withCore<Result>(_ body: (RegistryCore) -> Result) -> Result {"),
            ("hints", "borrowing func withExistingCore<Result>(_ body: (RegistryCore) -> Result) -> Result? {"),
            ("observers", "var existingCore: RegistryCore? {"), ("end", "deinit {"),
        ].map { name, function in
            handOver(
                "a core and its \(name)",
                "a core is complete before it is found",
                installCore,
                .load("address", .acquiring, into: "address")
                    .at(listFile, "let address = coreAddress.load(ordering: .acquiring)", after: function),
                given: ["address": 1]
            )
        } + [
            // The exchange that fails is a load.
            handOver(
                "two make a core",
                "the loser finds the winner's core complete",
                installCore,
                .load("address", .acquiringAndReleasing, into: "address").at(
                    listFile,
                    "ordering: .acquiringAndReleasing"
                ),
                given: ["address": 1]
            )
        ]

    private static let installCore = Instruction.compareExchange("address", 0, 1, .acquiringAndReleasing)
        .at(listFile, "ordering: .acquiringAndReleasing")

    // MARK: Mailboxes

    static let mailboxes: [Test] = [
        Test(
            "mailbox and drain loop",
            claim: "what is put into a mailbox while a thread empties it is delivered (P1)",
            initially: ["isBusy": 1],
            given: ["found": 0],
            plain: ["mailbox", "isBusy"],
            [
                Test.Thread(
                    "writer",
                    [
                        .lock("lock"), .store("mailbox", 1, .relaxed), .load("isBusy", .relaxed, into: "busy"),
                        .unlock("lock"),
                    ]
                ),
                Test.Thread(
                    "deliverer",
                    [
                        .lock("lock"), .load("mailbox", .relaxed, into: "found"), .branch("found"),
                        .store("isBusy", 0, .relaxed), .unlock("lock"),
                    ]
                ),
            ],
            never: { $0["busy"] == 1 }
        ),
        Test(
            "mailbox and attention",
            claim: "a writer that need not wake the mailbox has had its event delivered (P1)",
            given: ["needs": 0],
            plain: ["mailbox"],
            [
                Test.Thread(
                    "writer",
                    [
                        .lock("lock"), .store("mailbox", 1, .relaxed),
                        .store("needsAttention", 1, .relaxed)
                            .at(mailboxFile, "needsAttention.store(true, ordering: .relaxed)"),
                        .unlock("lock"),
                        .load("needsAttention", .relaxed, into: "needs")
                            .at(
                                mailboxFile,
                                "guard needsAttention.load(ordering: .relaxed) else { return }",
                                after: "final func wake() {"
                            ),
                    ]
                ),
                Test.Thread(
                    "another",
                    [
                        .lock("lock"),
                        .store("needsAttention", 0, .relaxed)
                            .at(mailboxFile, "needsAttention.store(false, ordering: .relaxed)"),
                        .load("mailbox", .relaxed, into: "found"), .unlock("lock"),
                    ]
                ),
            ],
            never: { $0["found"] == 0 }
        ),
        counted(
            "received",
            "received.store(received.load(ordering: .relaxed) &+ 1, ordering: .releasing)",
            isUpdate: false
        ),
        counted("dropped", "dropped.add(UInt64(count), ordering: .releasing)", isUpdate: true),
        counted(
            "leftOut",
            "leftOut.store(leftOut.load(ordering: .relaxed) &+ 1, ordering: .releasing)",
            isUpdate: false
        ),
    ]

    /// A writer counts an event as sent and hands it over; a deliverer counts it as received,
    /// dropped or left out; a third looks.
    private static func counted(_ name: String, _ fragment: String, isUpdate: Bool) -> Test {
        let count: Instruction =
            isUpdate ? .update(name, .add, 1, .releasing) : .store(name, 1, .releasing)
        let load =
            switch name {
            case "received": "(received.load(ordering: .acquiring)"
            case "dropped": "dropped.load(ordering: .acquiring))"
            default: "let leftOut = leftOut.load(ordering: .acquiring)"
            }
        return Test(
            "sent and \(name)",
            claim: "no event is counted as \(name) that is not counted as sent (P1)",
            given: ["mailbox": 1, "counted": 1],
            [
                Test.Thread("writer", [.store("sent", 1, .relaxed), .store("mailbox", 1, .releasing)]),
                Test.Thread(
                    "deliverer",
                    [.load("mailbox", .acquiring, into: "mailbox"), .branch("mailbox"), count.at(countsFile, fragment)]
                ),
                Test.Thread(
                    "reader",
                    [
                        .load(name, .acquiring, into: "counted").at(countsFile, load),
                        .load("sent", .relaxed, into: "sent"),
                    ]
                ),
            ],
            never: { $0["sent"] == 0 }
        )
    }

    // MARK: Paths

    private static func enterLoop(_ seen: Value, _ next: Value) -> Instruction {
        .compareExchange("loop", seen, next, .acquiringAndReleasing).at(
            loopFile,
            "ordering: .acquiringAndReleasing",
            after: "let (exchanged, original) = state.weakCompareExchange("
        )
    }
    private static func leaveLoop(into: String? = nil) -> Instruction {
        .exchange("loop", 0, .acquiringAndReleasing, into: into)
            .at(loopFile, "state.exchange(State.free, ordering: .acquiringAndReleasing) == State.noted")
    }
    private static func count(
        _ step: Int,
        _ file: String,
        _ fragment: String,
        after: String = "",
        _ order: Order = .acquiringAndReleasing,
        into: String? = nil
    ) -> Instruction {
        .update("outstanding", .add, .constant(step), order, into: into).at(
            file,
            fragment,
            after: after
        )
    }
    private static let expect =
        "if outstanding.wrappingAdd(expected, ordering: .acquiringAndReleasing).newValue == 0 { finish() }"
    private static let deliver =
        "if outstanding.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 { finish() }"

    static let paths: [Test] = [
        handOver(
            "a note and the loop",
            "what a note asks for is seen by the thread in the drain loop (P3)",
            enterLoop(1, 2),
            leaveLoop(into: "loop"),
            initially: ["loop": 1],
            given: ["loop": 2]
        ),
        handOver(
            "one round and the next",
            "what one round has linked the next one sees (P3)",
            leaveLoop(),
            enterLoop(0, 1),
            initially: ["loop": 1]
        ),
        handOver(
            "the last delivery ends a leaf",
            "what the deliveries did happens before the leaf's end",
            count(1, leafFile, expect),
            count(-1, leafFile, deliver, into: "left"),
            given: ["left": 1]
        ),
        handOver(
            "the cut ends a leaf",
            "what the deliveries did happens before the leaf's end",
            count(-1, leafFile, deliver),
            count(1, leafFile, expect, into: "left"),
            given: ["left": -1]
        ),
        handOver(
            "the cut ends a leaf with a mailbox",
            "what was put in happens before the leaf's end",
            count(
                -1,
                leafFile,
                "outstanding.wrappingSubtract(1, ordering: .releasing)",
                after: "receiver.enqueue(",
                .releasing
            ),
            count(1, leafFile, expect, into: "left"),
            given: ["left": -1]
        ),
        handOver(
            "a path's end",
            "what was delivered happens before the end is delivered (P12)",
            count(-1, pathFile, "let left = pending.subtract(1, ordering: .acquiringAndReleasing).newValue"),
            count(
                -1,
                pathFile,
                "let left = pending.subtract(1, ordering: .acquiringAndReleasing).newValue",
                into: "left"
            ),
            initially: ["outstanding": 2],
            given: ["left": 1]
        ),
    ]
}
