// SPDX-License-Identifier: Apache-2.0

/// Tests of the literature in the orderings of C11, with the verdict of each model: they show that
/// the models differ where they must.
///
/// x86: Owens, Sarkar and Sewell (2009). RC11: Lahav and others (2017). Arm: Pulte and others,
/// "Simplifying ARM Concurrency" (2018), and Arm's description of `LDAPR`. membarrier: its manual
/// page.
public struct ClassicTest: Sendable {
    public let test: Test
    public let allowed: Set<Target>

    init(_ test: Test, allowedBy allowed: Set<Target>) { (self.test, self.allowed) = (test, allowed) }

    private static let arm: Set<Target> = [.armv80, .armv81, .armv83]

    public static let all: [ClassicTest] = [
        ClassicTest(storeBuffering(.relaxed, .relaxed), allowedBy: Set(Target.allCases)),
        ClassicTest(storeBuffering(.releasing, .acquiring), allowedBy: [.armv83, .x86, .rc11]),
        ClassicTest(storeBuffering(.sequentiallyConsistent, .sequentiallyConsistent), allowedBy: []),
        ClassicTest(messagePassing(.relaxed, .relaxed), allowedBy: arm.union([.rc11])),
        ClassicTest(messagePassing(.releasing, .relaxed), allowedBy: arm.union([.rc11])),
        ClassicTest(messagePassing(.relaxed, .acquiring), allowedBy: arm.union([.rc11])),
        ClassicTest(messagePassing(.releasing, .acquiring), allowedBy: []),
        ClassicTest(loadBuffering, allowedBy: arm),
        ClassicTest(independentReads(.relaxed), allowedBy: arm.union([.rc11])),
        ClassicTest(independentReads(.acquiring), allowedBy: [.rc11]),
        ClassicTest(independentReads(.sequentiallyConsistent), allowedBy: []),
        ClassicTest(fencedBuffering(.sequentiallyConsistent, .fence(.sequentiallyConsistent)), allowedBy: []),
        ClassicTest(fencedBuffering(.acquiringAndReleasing, .fence(.acquiringAndReleasing)), allowedBy: [.x86, .rc11]),
        ClassicTest(membarrier(.light), allowedBy: []),
        ClassicTest(membarrier(nil), allowedBy: Set(Target.allCases)),
        ClassicTest(fencedBuffering(nil, .light), allowedBy: Set(Target.allCases)),
    ]

    private static func storeBuffering(_ store: Order, _ load: Order) -> Test {
        Test(
            "SB \(store.rawValue) \(load.rawValue)",
            [
                Test.Thread("one", [.store("x", 1, store), .load("y", load, into: "a")]),
                Test.Thread("two", [.store("y", 1, store), .load("x", load, into: "b")]),
            ],
            never: { $0["a"] == 0 && $0["b"] == 0 }
        )
    }

    private static func fencedBuffering(_ first: Order?, _ second: Instruction) -> Test {
        Test(
            "SB \(first?.rawValue ?? "nothing") \(second)",
            [
                Test.Thread(
                    "one",
                    [.store("x", 1, .relaxed), first.map { .fence($0) } ?? .light, .load("y", .relaxed, into: "a")]
                ),
                Test.Thread("two", [.store("y", 1, .relaxed), second, .load("x", .relaxed, into: "b")]),
            ],
            never: { $0["a"] == 0 && $0["b"] == 0 }
        )
    }

    /// The heavy side calls membarrier; the light side keeps the compiler from reordering, or does
    /// not.
    private static func membarrier(_ barrier: Instruction?) -> Test {
        Test(
            "SB membarrier \(barrier == nil ? "nothing" : "compiler barrier")",
            [
                Test.Thread("heavy", [.store("x", 1, .relaxed), .membarrier, .load("y", .relaxed, into: "a")]),
                Test.Thread(
                    "light",
                    [.store("y", 1, .relaxed)] + (barrier.map { [$0] } ?? []) + [.load("x", .relaxed, into: "b")]
                ),
            ],
            never: { $0["a"] == 0 && $0["b"] == 0 }
        )
    }

    private static func messagePassing(_ store: Order, _ load: Order) -> Test {
        Test(
            "MP \(store.rawValue) \(load.rawValue)",
            [
                Test.Thread("writer", [.store("x", 1, .relaxed), .store("y", 1, store)]),
                Test.Thread("reader", [.load("y", load, into: "a"), .load("x", .relaxed, into: "b")]),
            ],
            never: { $0["a"] == 1 && $0["b"] == 0 }
        )
    }

    private static let loadBuffering = Test(
        "LB relaxed",
        [
            Test.Thread("one", [.load("x", .relaxed, into: "a"), .store("y", 1, .relaxed)]),
            Test.Thread("two", [.load("y", .relaxed, into: "b"), .store("x", 1, .relaxed)]),
        ],
        never: { $0["a"] == 1 && $0["b"] == 1 }
    )

    private static func independentReads(_ load: Order) -> Test {
        let store: Order = load == .acquiring ? .releasing : load
        return Test(
            "IRIW \(load.rawValue)",
            given: ["a": 1, "b": 0, "c": 1, "d": 0],
            [
                Test.Thread("one", [.store("x", 1, store)]), Test.Thread("two", [.store("y", 1, store)]),
                Test.Thread("three", [.load("x", load, into: "a"), .load("y", load, into: "b")]),
                Test.Thread("four", [.load("y", load, into: "c"), .load("x", load, into: "d")]),
            ],
            never: { _ in true }
        )
    }
}
