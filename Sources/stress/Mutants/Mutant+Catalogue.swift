// SPDX-License-Identifier: Apache-2.0

extension Mutant {
    /// Every seeded bug, with what must catch it.
    static let all: [Mutant] = [
        // Delivery
        Mutant("a delivery is dropped", "registration-churn", [.invariant("P1.exactly-once")]),
        Mutant("a delivery is repeated", "registration-churn", [.invariant("P1.exactly-once")]),
        Mutant("compaction loses an entry", "notification-storm", [.invariant("P1.exactly-once")]),
        Mutant(
            "observe returns before publishing",
            "registration-churn",
            [.invariant("P1.own-observer-hears"), .crash]
        ),
        Mutant("append publishes the count first", "notification-storm", [.crash]),
        Mutant(
            "mark is not tested",
            "reentrancy",
            [.invariant("P6.not-in-this-pass"), .invariant("P9.nothing-after-wait")]
        ),
        // The end of one
        Mutant("mark is tested before current is stored", "cancellation-races", calledTooLate),
        Mutant("current observers are not scanned", "cancellation-races", calledTooLate),
        Mutant("current is cleared before the callback", "cancellation-races", calledTooLate),
        Mutant("outer frames are skipped", "reentrancy", calledTooLate + [.invariant("memory.table-in-use")]),
        Mutant("cancelAndWait does not wait", "cancellation-races", calledTooLate),
        Mutant(
            "cancelAndWait in a callback waits",
            "mutual-cancellation",
            [.hang, .invariant("P9.deferred-in-callback")]
        ),
        Mutant(
            "no barrier before the scan",
            "cancellation-races",
            [
                .model(
                    """
                    the walker's store of current must sit in its store buffer while the canceller looks; a minute of trying, \
                    with the buffer held up by stores to cold memory, has not shown it on x86-64
                    """
                )
            ]
        ),
        Mutant("reclaim at once", "cancellation-races", calledTooLate + [.invariant("memory.table-in-use")]),
        // Tables
        Mutant("pins are not scanned", "notification-storm", tableInUse),
        Mutant(
            "pin is stored after the read section",
            "notification-storm",
            tableInUse + [.invariant("P1.exactly-once")],
            at: "walk.head"
        ),
        Mutant("pin is cleared before the walk ends", "notification-storm", tableInUse),
        Mutant("inner pass clears the outer pin", "reentrancy", tableInUse),
        // Destruction
        Mutant(
            "closure is destroyed twice",
            "destruction",
            [.crash, .invariant("P14.destroyed-once"), .invariant("P9.closure-destroyed")]
        ),
        Mutant(
            "closure is destroyed under the lock",
            "destruction",
            [.invariant("P5.no-lock-around-user-code"), .hang]
        ),
        Mutant(
            "source death leaks the closures",
            "registry-death",
            [.invariant("P12.end-once"), .invariant("P14.destroyed-once")]
        ),
        Mutant("token stays active after source death", "registry-death", [.invariant("P12.inactive"), .crash]),
        Mutant("end is told twice", "registry-death", [.invariant("P12.end-once")]),
        Mutant("owner's death goes unnoticed", "owner-death", [.invariant("P13.death-noticed")]),
        // Progress
        Mutant(
            "reclaimer's wake-up is lost",
            "destruction",
            [.invariant("P14.destroyed-once"), .invariant("P14.prompt"), .invariant("P16.backlog-drains")]
        ),
        Mutant("backlog is unbounded", "cancellation-flood", [.invariant("P16.backlog-bounded")]),
        Mutant("exiting thread's record leaks", "thread-churn", [.invariant("P17.records-return")]),
        // Sanitizers
        Mutant("grace period does nothing", "notification-storm", [.report(.address)], at: "walk.head", .seconds(60)),
        Mutant("grace period does nothing", "notification-storm", [.report(.thread)], at: "walk.head", .seconds(60)),
        Mutant("relaxed publish", "notification-storm", [.report(.thread)], isPerturbed: false, .seconds(60)),
    ]

    private static let calledTooLate: [Catcher] = [
        .invariant("P14.not-while-called"), .invariant("P9.nothing-after-wait"), .crash,
    ]
    private static let tableInUse: [Catcher] = [.invariant("memory.table-in-use"), .crash]

    private init(
        _ name: StaticString,
        _ scenario: String,
        _ catchers: [Catcher],
        at point: StaticString? = nil,
        isPerturbed: Bool = true,
        _ budget: Duration = .seconds(10)
    ) {
        self.init(
            name: name,
            scenario: scenario,
            catchers: catchers,
            point: point,
            isPerturbed: isPerturbed,
            budget: budget
        )
    }
}
