// SPDX-License-Identifier: Apache-2.0

// The classical shapes, with and without barriers.
extension PublishedTest {
    public static let all = twoWrites + loadBuffering + messagePassing + storeBuffering + others + coherence + updates

    private static let twoWrites: [PublishedTest] = [
        .allowed(Test("2+2W", [P(0, str("x", 2), str("y", 1)), P(1, str("y", 2), str("x", 1))], never: areTwo)),
        .allowed(
            Test(
                "2+2W+dmb.sy+po",
                [P(0, str("x", 2), dmb(.full), str("y", 1)), P(1, str("y", 2), str("x", 1))],
                never: areTwo
            )
        ),
        .forbidden(
            Test(
                "2+2W+dmb.sys",
                [P(0, str("x", 2), dmb(.full), str("y", 1)), P(1, str("y", 2), dmb(.full), str("x", 1))],
                never: areTwo
            )
        ),
    ]

    @Sendable private static func areTwo(_ outcome: Outcome) -> Bool {
        outcome.final["x"] == 2 && outcome.final["y"] == 2
    }
    @Sendable private static func always(_ outcome: Outcome) -> Bool { true }

    /// Both loads see the other thread's store, which comes after.
    private static func lb(_ name: String, _ first: Test.Thread, _ second: Test.Thread, _ value: Int = 1) -> Test {
        Test(name, given: ["a": value, "b": 1], [first, second], never: always)
    }

    /// P0 of most: a load, then a releasing store.
    private static let release = P(0, ldr("x", "a"), stlr("y", 1))

    private static let loadBuffering: [PublishedTest] = [
        .allowed(lb("LB", P(0, ldr("x", "a"), str("y", 1)), P(1, ldr("y", "b"), str("x", 1)))),
        .allowed(lb("LB+dmb.sy+po", P(0, ldr("x", "a"), dmb(.full), str("y", 1)), P(1, ldr("y", "b"), str("x", 1)))),
        .forbidden(
            lb("LB+dmb.sys", P(0, ldr("x", "a"), dmb(.full), str("y", 1)), P(1, ldr("y", "b"), dmb(.full), str("x", 1)))
        ),
        .forbidden(lb("LB+BEQ4", release, P(1, ldr("y", "b"), branch("b"), str("x", 1)))),
        .allowed(lb("LB+CSEL4", release, P(1, ldr("y", "b"), str("x", 1)))),
        // These compare a register that was not loaded. All but one store a constant.
        .allowed(lb("LB+rel+BEQ", release, P(1, ldr("y", "b"), branch("unset"), str("x", 7)), 7)),
        .forbidden(lb("LB+rel+BEQ2", release, P(1, ldr("y", "b"), branch("unset"), str("x", .register("b"))))),
        .allowed(lb("LB+rel+BEQ3", release, P(1, ldr("y", "b"), branch("unset"), str("x", 7)), 7)),
        .allowed(lb("LB+rel+CSEL", release, P(1, ldr("y", "b"), str("x", 7)), 7)),
        .allowed(lb("LB+rel+CSEL2", release, P(1, ldr("y", "b"), str("x", 7)), 7)),
        .allowed(lb("LB+rel+CSEL3", release, P(1, ldr("y", "b"), str("x", 7)), 7)),
        .forbidden(lb("LB+rel+data-post", release, P(1, ldr("y", "b"), str("x", 1, data: ["b"])))),
    ]

    /// P1 sees the flag, and not what was stored before it.
    private static func mp(
        _ name: String,
        _ first: Test.Thread,
        _ second: Test.Thread,
        _ initially: [String: Int] = [:]
    )
        -> Test
    {
        Test(name, initially: initially, given: ["a": 1, "b": 0], [first, second], never: always)
    }

    private static let releaseFlag = P(0, str("x", 1), stlr("y", 1))

    private static let messagePassing: [PublishedTest] = [
        .allowed(mp("MP", P(0, str("x", 1), str("y", 1)), P(1, ldr("y", "a"), ldr("x", "b")))),
        .allowed(mp("MP+dmb.sy+po", P(0, str("x", 1), dmb(.full), str("y", 1)), P(1, ldr("y", "a"), ldr("x", "b")))),
        .allowed(mp("MP+po+dmb.sy", P(0, str("x", 1), str("y", 1)), P(1, ldr("y", "a"), dmb(.full), ldr("x", "b")))),
        .forbidden(
            mp("MP+dmb.sys", P(0, str("x", 1), dmb(.full), str("y", 1)), P(1, ldr("y", "a"), dmb(.full), ldr("x", "b")))
        ),
        .forbidden(mp("MP+rel+acq", releaseFlag, P(1, ldar("y", "a"), ldr("x", "b")))),
        .forbidden(mp("MP+rel+acqpc", releaseFlag, P(1, ldapr("y", "a"), ldr("x", "b")))),
        .forbidden(mp("MP+rel+swp-acq", releaseFlag, P(1, swp("y", 2, "a"), ldar("y", "c"), ldr("x", "b")))),
        .forbidden(mp("MP+rel+swp-acqpc", releaseFlag, P(1, swp("y", 2, "a"), ldapr("y", "c"), ldr("x", "b")))),
        .forbidden(mp("MP+rel+rmw-lrs-acq", releaseFlag, P(1, swp("y", 2, "a"), ldar("y", "c"), ldr("x", "b")))),
        .allowed(
            mp(
                "MP+rel+addr-po-loc-addr",
                releaseFlag,
                P(1, ldr("y", "a"), ldr("z", "c", address: ["a"]), ldr("z", "d"), ldr("x", "b", address: ["d"]))
            )
        ),
        .forbidden(
            mp(
                "MP+rel+addr-lrs-acq",
                releaseFlag,
                P(1, ldr("y", "a"), str("z", 1, address: ["a"]), ldar("z", "c"), ldr("x", "b"))
            )
        ),
        .forbidden(
            mp(
                "MP+rel+data-lrs-acq",
                releaseFlag,
                P(1, ldr("y", "a"), str("z", 1, data: ["a"]), ldar("z", "c"), ldr("x", "b"))
            )
        ),
        .allowed(
            mp(
                "MP+rel+ctrl-lrs-acq",
                releaseFlag,
                P(1, ldr("y", "a"), branch("a"), str("z", 1), ldar("z", "c"), ldr("x", "b"))
            )
        ),
        .allowed(
            mp("MP+rel+CSEL", releaseFlag, P(1, ldr("y", "a"), ldr("x", "b").with { $0.pickedAddress = ["a"] }))
        ),
        .allowed(
            mp(
                "MP+rel+CSEL-addr",
                releaseFlag,
                P(
                    1,
                    ldr("y", "a"),
                    str("z", 0).with { $0.pickedData = ["a"] },
                    ldr("z", "c"),
                    ldr("x", "b", address: ["c"])
                )
            )
        ),
    ]

    private static func sb(_ name: String, _ first: Test.Thread, _ second: Test.Thread) -> Test {
        Test(name, given: ["a": 0, "b": 0], [first, second], never: always)
    }

    private static let storeBuffering: [PublishedTest] = [
        .allowed(sb("SB", P(0, str("x", 1), ldr("y", "a")), P(1, str("y", 1), ldr("x", "b")))),
        .allowed(sb("SB+dmb.sy+po", P(0, str("x", 1), dmb(.full), ldr("y", "a")), P(1, str("y", 1), ldr("x", "b")))),
        .forbidden(
            sb("SB+dmb.sys", P(0, str("x", 1), dmb(.full), ldr("y", "a")), P(1, str("y", 1), dmb(.full), ldr("x", "b")))
        ),
        .forbidden(
            sb("SB+dmb.sy+rel-acq", P(0, str("x", 1), dmb(.full), ldr("y", "a")), P(1, stlr("y", 1), ldar("x", "b")))
        ),
        .allowed(
            sb("SB+dmb.sy+rel-acqpc", P(0, str("x", 1), dmb(.full), ldr("y", "a")), P(1, stlr("y", 1), ldapr("x", "b")))
        ),
    ]

    private static func r(_ name: String, _ first: [Instruction], _ second: [Instruction]) -> Test {
        Test(
            name,
            given: ["a": 0],
            [
                Test.Thread("P0", [str("x", 1)] + first + [str("y", 1)]),
                Test.Thread("P1", [str("y", 2)] + second + [ldr("x", "a")]),
            ],
            never: { $0.final["y"] == 2 }
        )
    }

    private static func s(_ name: String, _ first: [Instruction], _ second: [Instruction]) -> Test {
        Test(
            name,
            given: ["a": 1],
            [
                Test.Thread("P0", [str("x", 2)] + first + [str("y", 1)]),
                Test.Thread("P1", [ldr("y", "a")] + second + [str("x", 1)]),
            ],
            never: { $0.final["x"] == 2 }
        )
    }

    private static let others: [PublishedTest] = [
        .allowed(r("R", [], [])), .allowed(r("R+dmb.sy+po", [dmb(.full)], [])),
        .allowed(r("R+po+dmb.sy", [], [dmb(.full)])),
        .forbidden(r("R+dmb.sys", [dmb(.full)], [dmb(.full)])),
        .allowed(s("S", [], [])), .allowed(s("S+dmb.sy+po", [dmb(.full)], [])),
        .allowed(s("S+po+dmb.sy", [], [dmb(.full)])),
        .forbidden(s("S+dmb.sys", [dmb(.full)], [dmb(.full)])),
    ]

    private static let coherence: [PublishedTest] = [
        .forbidden(
            Test(
                "CoRR",
                given: ["a": 1, "b": 0],
                [P(0, str("x", 1)), P(1, ldr("x", "a"), ldr("x", "b"))],
                never: always
            )
        ),
        .forbidden(Test("CoRW1", given: ["a": 1], [P(0, ldr("x", "a"), str("x", 1))], never: always)),
        .forbidden(
            Test("CoRW2", given: ["a": 1], [P(0, str("x", 1)), P(1, ldr("x", "a"), str("x", 2))]) { $0.final["x"] == 1 }
        ),
        .forbidden(Test("CoWR", given: ["a": 0], [P(0, str("x", 1), ldr("x", "a"))], never: always)),
        .forbidden(Test("CoWW", [P(0, str("x", 1), str("x", 2))]) { $0.final["x"] == 1 }),
    ]

    /// P1 of most: the flag y begins with 2, and is taken when it is 0.
    private static func taken(_ name: String, _ update: Instruction, _ more: Instruction..., last: Int, flag: Int = 1)
        -> Test
    {
        Test(
            name,
            initially: last == 1 ? ["y": 2] : [:],
            given: ["b": 0],
            [P(0, str("x", 1), stlr("y", .constant(flag))), Test.Thread("P1", [update] + more + [ldr("x", "b")])]
        ) { $0.final["y"] == last }
    }

    private static let updates: [PublishedTest] = [
        .allowed(
            Test(
                "CAS+data1",
                given: ["a": 1],
                [P(0, str("y", 1), stlr("x", 1)), P(1, ldr("x", "a"), cas("x", .register("a"), 1), str("y", 0))]
            ) { $0.final["y"] == 1 }
        ),
        .allowed(casThenAddress("CAS+data2")), .allowed(casThenAddress("MP+rel+CAS-addr")),
        .forbidden(lbUpdate("LB+rel+CAS", cas("y", 0, 1, pickedData: ["b"]))),
        .forbidden(lbUpdate("LB+rel+CAS+BIS", cas("y", 0, 1, data: ["b"]))),
        .forbidden(lbUpdate("LB+rel+LDADD", ldadd("y", 1, data: ["b"]))),
        .forbidden(lbUpdate("LB+rel+STADD", ldadd("y", 1, .noReturn, data: ["b"]))),
        .forbidden(
            Test(
                "LB+dmb.sy+data-amo.swp",
                given: ["a": 1, "b": 1],
                [P(0, ldr("x", "a"), swp("y", 1, "c", data: ["a"])), P(1, ldr("y", "b"), dmb(.full), str("x", 1))],
                never: always
            )
        ),
        .allowed(
            Test(
                "LB+SWP-RsRt-addr+rel",
                given: ["a": 1, "b": 1],
                [
                    P(0, ldr("x", "a"), swp("z", .register("a"), "c"), str("y", 1, data: ["c"])),
                    P(1, ldr("y", "b"), stlr("x", 1)),
                ],
                never: always
            )
        ),
        .forbidden(taken("MP+rel+CAS-ok-dmb.ld", cas("y", 0, 1), dmb(.load), last: 1, flag: 0)),
        .allowed(taken("MP+rel+CASnoret-ok-dmb.ld", cas("y", 0, 1, .noReturn), dmb(.load), last: 1, flag: 0)),
        .allowed(taken("MP+rel+CASacq-noret-ok", cas("y", 0, 1, [.acquire, .noReturn]), last: 1, flag: 0)),
        .forbidden(taken("MP+rel+CASacq-ok", cas("y", 0, 1, .acquire), last: 1, flag: 0)),
        .forbidden(taken("MP+rel+LDADD-dmb.ld", ldadd("y", 1), dmb(.load), last: 2)),
        .allowed(taken("MP+rel+LDADDnoret-dmb.ld", ldadd("y", 1, .noReturn), dmb(.load), last: 2)),
        .forbidden(taken("MP+rel+SWPacq", swp("y", 2, nil, .acquire), last: 2)),
        .allowed(taken("MP+rel+SWPacq-noret", swp("y", 2, nil, [.acquire, .noReturn]), last: 2)),
        .forbidden(taken("MP+rel+SWP-dmb.ld", swp("y", 2), dmb(.load), last: 2)),
        .allowed(taken("MP+rel+SWPnoret-dmb.ld", swp("y", 2, nil, .noReturn), dmb(.load), last: 2)),
    ]

    private static func lbUpdate(_ name: String, _ update: Instruction) -> Test {
        Test(
            name,
            given: ["a": 1, "b": 1],
            [P(0, ldr("y", "a"), stlr("x", 1)), P(1, ldr("x", "b"), update)],
            never: always
        )
    }

    /// Compares the loaded value; then loads the value that the update stored, and follows it.
    private static func casThenAddress(_ name: String) -> Test {
        Test(
            name,
            initially: ["z": 1],
            given: ["a": 1, "b": 0],
            [
                P(0, str("y", 1), stlr("x", 1)),
                P(1, ldr("x", "a"), cas("z", .register("a"), 0), ldr("z", "c"), ldr("y", "b", address: ["c"])),
            ],
            never: always
        )
    }
}
