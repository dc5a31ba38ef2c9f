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
            [.invariant("P1.own-observer-hears"), .invariant("P1.exactly-once"), .crash]
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
        Mutant(
            "outer frames are skipped",
            "reentrancy",
            calledTooLate + [.invariant("memory.table-in-use")],
            .seconds(30)
        ),
        Mutant("the innermost frame is not scanned", "cancellation-races", calledTooLate),
        Mutant("frames that were left are scanned", "reentrancy", [.invariant("P9.frames-in-use")]),
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
        Mutant("a replaced table keeps its word", "cancellation-races", calledTooLate),
        Mutant("pins are not scanned", "notification-storm", tableInUse),
        Mutant(
            "pin is stored after the read section",
            "notification-storm",
            tableInUse,
            at: "walk.head"
        ),
        Mutant("pin is cleared before the walk ends", "notification-storm", tableInUse),
        Mutant("inner pass clears the outer pin", "reentrancy", tableInUse, .seconds(30)),
        // Destruction
        Mutant("a core is looked for in two steps", "registry-death", [.crash, .hang], at: "observer.home"),
        Mutant("an observer is used again too early", "registry-death", [.invariant("P12.inactive"), .crash]),
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
        Mutant("an owner is known by its address", "owner-death", [.invariant("P13.death-is-no-cancellation")]),
        // Progress
        Mutant(
            "reclaimer's wake-up is lost",
            "destruction",
            [.invariant("P14.destroyed-once"), .invariant("P14.prompt"), .invariant("P16.backlog-drains")]
        ),
        Mutant("backlog is unbounded", "cancellation-flood", [.invariant("P16.backlog-bounded")]),
        Mutant("one queue serves all sources", "slow-neighbours", [.invariant("P14.others-first")], .seconds(30)),
        Mutant(
            "a blocked source's threads do not pause",
            "blocked-source",
            [.invariant("P16.blocked-source-pauses")],
            .seconds(30)
        ),
        Mutant("one source has all threads", "blocked-source", [.invariant("P14.others-are-destroyed")], .seconds(30)),
        Mutant("a waiter asks once for a thread", "thread-famine", [.invariant("P9.famine-ends")], .seconds(30)),
        Mutant("exiting thread's record leaks", "thread-churn", [.invariant("P17.records-return")]),
        // Properties
        Mutant(
            "a version is handed out outside the lock",
            "mutation-storm",
            [
                .invariant("P2.versions-without-gaps"), .invariant("P2.old-is-last-new"),
                .invariant("P1.every-change-once"), .invariant("P1.own-observer-hears"), .crash,
            ]
        ),
        Mutant(
            "old and new are swapped",
            "mutation-storm",
            [.invariant("P2.old-is-last-new"), .invariant("P1.own-observer-hears")]
        ),
        Mutant(
            "a read is torn",
            "torn-reads",
            [.invariant("P2.whole-value"), .invariant("P2.version-fits")],
            at: "read.word"
        ),
        Mutant(
            "a value is read after the read section",
            "torn-reads",
            [.invariant("P14.not-while-read"), .invariant("P2.whole-value"), .crash],
            at: "read.box"
        ),
        Mutant(
            "a lent value is not pinned",
            "torn-reads",
            [.invariant("P14.not-while-read"), .invariant("P2.whole-value"), .crash]
        ),
        Mutant(
            "a change between initial and registration is missed",
            "initial-against-writers",
            [.invariant("P4.nothing-between")],
            at: "initial.sampled"
        ),
        Mutant(
            "a body does not wait for registrations",
            "initial-against-writers",
            [.invariant("P4.nothing-between")],
            at: "register.since",
            .seconds(30)
        ),
        Mutant(
            "an earlier change is delivered",
            "initial-against-writers",
            [.invariant("P4.nothing-earlier")],
            at: "set.published"
        ),
        Mutant("end is told twice", "property-death", [.invariant("P12.end-once")]),
        Mutant("an end is told before the last call", "property-death", [.invariant("P12.end-last")]),
        Mutant(
            "source death leaks the closures",
            "property-death",
            [.invariant("P12.end-once"), .invariant("P14.destroyed-once"), .hang]
        ),
        Mutant("a property's death leaks its value", "property-death", [.invariant("P14.value-destroyed")]),
        Mutant(
            "a value is destroyed under a lock",
            "value-destruction",
            [.invariant("P5.no-lock-around-user-code"), .hang]
        ),
        Mutant("a value is destroyed twice", "value-destruction", [.invariant("P14.value-destroyed"), .crash]),
        Mutant(
            "a value is destroyed by its writer",
            "value-destruction",
            [.invariant("P5.not-on-another-writer"), .invariant("P14.not-while-read")]
        ),
        Mutant("a body's error publishes its value", "parked-in-modify", [.invariant("P5.throw-publishes-nothing")]),
        Mutant(
            "a comparison is not repeated",
            "compare-exchange",
            [.invariant("P2.no-lost-update")],
            at: "compare.equal"
        ),
        // Paths
        Mutant(
            "a stale tail is heard",
            "path-rewiring",
            [.invariant("P2.path-versions"), .invariant("P2.path-chain"), .invariant("P3.path-converges")]
        ),
        Mutant(
            "a rewiring is lost",
            "path-rewiring",
            [.invariant("P3.path-converges"), .invariant("P2.path-chain"), .invariant("P1.heard-from-a-callback")]
        ),
        Mutant("racing replacements are not handed on", "path-rewiring", [.invariant("P3.path-converges")]),
        Mutant("paths are told while others are wired", "path-rewiring", [.invariant("P1.heard-from-a-callback")]),
        Mutant(
            "a path is told where it leads before it is told why",
            "path-rewiring",
            [.invariant("P2.in-order-on-one-thread")]
        ),
        Mutant(
            "several paths are told at once",
            "combinations",
            [.invariant("P2.combined-versions"), .invariant("P3.combination")]
        ),
        Mutant(
            "the initial values of several paths come when they come",
            "combinations",
            [.invariant("P4.initial-first"), .invariant("P2.combined-versions")]
        ),
        Mutant(
            "a path's end does not wait",
            "path-death",
            [.invariant("P1.heard-before-the-end")],
            at: "visit.marked"
        ),
        Mutant("an end is told before the last call", "path-death", [.invariant("P12.path-end-last")]),
        Mutant("a removal forgets the paths", "bulk-removal", [.invariant("P8.silent-after-removal")]),
        // Weak properties
        Mutant(
            "a referent's death goes unnoticed",
            "weak-referent-death",
            [.invariant("P12.inline-nil"), .invariant("P12.nil-once")]
        ),
        Mutant(
            "a dead referent clears its successor",
            "weak-referent-death",
            [.invariant("P12.successor-stays"), .invariant("P12.nil-once")],
            at: "weak.died"
        ),
        Mutant("a weak property keeps its referent", "weak-referent-death", [.invariant("P11.not-retained")]),
        Mutant("a mailbox keeps referents", "weak-referent-death", [.invariant("P11.not-retained")]),
        // Bindings
        Mutant("a binding echoes", "two-way-binding", [.invariant("P6.hops-bounded")]),
        Mutant("a change passes a binding twice", "two-way-binding", [.invariant("P6.hops-bounded")]),
        Mutant(
            "a binding applies an older change",
            "two-way-binding",
            [.invariant("P3.destination-follows")],
            at: "bind.passing"
        ),
        Mutant(
            "a binding decides outside the lock",
            "two-way-binding",
            [.invariant("P3.destination-follows")],
            at: "bind.passing"
        ),
        Mutant(
            "a pair agrees on one side alone",
            "two-way-binding",
            [.invariant("P3.pair-converges")],
            at: "bind.published",
            .seconds(60)
        ),
        Mutant(
            "each binding of a pair agrees for itself",
            "two-way-binding",
            [.invariant("P3.pair-converges")],
            at: "bind.published",
            .seconds(30)
        ),
        Mutant("a binding retains its destination", "two-way-binding", [.invariant("P11.not-retained")]),
        Mutant(
            "an ended binding goes on backwards",
            "two-way-binding",
            [.invariant("P9.nothing-after-wait")],
            at: "bind.passing"
        ),
        // Deliveries that come one at a time
        Mutant(
            "a change is posted outside the lock",
            "actor-order",
            [.invariant("P1.ordered-once"), .invariant("P2.ordered"), .invariant("P2.ordered-chain")]
        ),
        Mutant(
            "a path's changes arrive as they come",
            "actor-order",
            [.invariant("P1.ordered-once"), .invariant("P2.ordered")]
        ),
        Mutant(
            "two deliver at once",
            "actor-order",
            [.invariant("P2.one-at-a-time"), .invariant("P1.ordered-once"), .invariant("P2.ordered"), .crash],
            at: "mailbox.taken"
        ),
        Mutant(
            "a hand-over is lost",
            "actor-order",
            [.invariant("P1.counts-add-up"), .invariant("P1.flush-returns")]
        ),
        Mutant(
            "a mailbox's wake-up is lost",
            "actor-order",
            [.invariant("P1.counts-add-up"), .invariant("P1.flush-returns")]
        ),
        Mutant(
            "isBusy is cleared outside the lock",
            "actor-order",
            [.invariant("P1.counts-add-up"), .invariant("P1.flush-returns")],
            at: "mailbox.attended",
            .seconds(60)
        ),
        Mutant("a flush does not wait for the callback", "actor-order", [.invariant("P1.flushed")], .seconds(60)),
        Mutant("a flush is not resumed", "actor-order", [.invariant("P1.flush-returns")], .seconds(30)),
        Mutant(
            "a mailbox that grows is invisible",
            "actor-order",
            [.invariant("P16.large-mailboxes-are-told")]
        ),
        Mutant("a method reference leaves its actor", "actor-order", [.invariant("P2.isolated")]),
        Mutant("an actor is retained", "actor-order", [.invariant("P11.actor-not-retained")]),
        Mutant(
            "the latest value is lost",
            "flood",
            [.invariant("P1.kept-as-asked"), .invariant("P3.last-value")]
        ),
        Mutant(
            "a dropped event is destroyed under the lock",
            "flood",
            [.invariant("P5.no-lock-around-user-code")]
        ),
        Mutant(
            "an end is dropped by the policy",
            "flood",
            [.invariant("P12.end-heard"), .invariant("P1.capacity")],
            .seconds(30)
        ),
        Mutant(
            "queued changes are delivered after the end",
            "delivery-cancellation",
            [.crash, .invariant("P8.silent-on-its-own-queue")] + calledTooLate
        ),
        Mutant(
            "a setter waits for a busy observer",
            "serial-handover",
            [.invariant("P7.no-setter-waits"), .hang]
        ),
        Mutant(
            "two deliver at once",
            "mutual-actors",
            [.invariant("P6.not-nested"), .invariant("P2.one-at-a-time"), .crash]
        ),
        // Sequences
        Mutant(
            "a sequence finishes twice",
            "sequence-cancellation",
            [.invariant("P12.end-last"), .invariant("P12.finishes-once")]
        ),
        Mutant(
            "an event is yielded after the end",
            "sequence-cancellation",
            [
                .invariant("P12.finishes-once"), .invariant("P1.counts-add-up"), .invariant("P1.ordered-once"),
                .invariant("P8.cancelled-task-goes-on"), .invariant("P12.finishes-at-the-end"),
                .invariant("P2.ordered-chain"), .invariant("P4.initial-first"),
            ],
            at: "mailbox.posting",
            .seconds(60)
        ),
        Mutant(
            "a task is resumed under the lock",
            "sequence-cancellation",
            [.invariant("P5.no-lock-around-user-code"), .hang]
        ),
        Mutant(
            "an iterator returns what was removed",
            "sequence-cancellation",
            [.invariant("P8.removed-iterator-is-silent")]
        ),
        Mutant(
            "an iterator leaves its observer",
            "sequence-cancellation",
            [.invariant("P8.iterator-leaves-nothing"), .invariant("P14.nothing-left")]
        ),
        // Each remaining invariant: a bug that it alone must see
        Mutant("a delivery is dropped", "cancellation-flood", [.invariant("P1.all-hear")]),
        Mutant("a delivery is dropped", "asynchronous-use", [.invariant("P1.async-own-observer-hears")]),
        Mutant("a delivery is dropped", "owner-death", [.invariant("P13.hears-while-alive")]),
        Mutant("a delivery is dropped", "thread-churn", [.invariant("P17.exiting-thread-hears")]),
        Mutant("an end is not counted", "registration-churn", [.invariant("P1.count-at-rest")]),
        Mutant("a removal takes two steps", "bulk-removal", [.history("registry")]),
        Mutant("all are told ahead", "mutation-storm", [.invariant("P2.as-asked")]),
        Mutant("a change is not told ahead", "mutation-storm", [.invariant("P2.prior-ahead")]),
        Mutant("a mailbox's wake-up is lost", "mutual-actors", [.invariant("P3.answered-to-the-end")]),
        Mutant("the initial value is told twice", "initial-against-writers", [.invariant("P4.initial-once")]),
        Mutant("the initial version is another", "initial-against-writers", [.invariant("P4.initial-value")]),
        Mutant("cancelAndWait in a callback waits", "parked-in-modify", [.invariant("P5.deferred-in-body")]),
        Mutant("cancelAndWait in a callback waits", "destruction", [.invariant("P5.deferred-in-deinit")]),
        Mutant(
            "a canceller destroys what an iterator left",
            "sequence-cancellation",
            [.invariant("P5.not-by-the-canceller"), .invariant("P5.deferred-in-deinit")]
        ),
        Mutant("a closure is destroyed by its canceller", "destruction", [.invariant("P5.not-on-the-canceller")]),
        Mutant("a running callback is not seen", "stuck-callback", [.invariant("P7.diagnosed")]),
        Mutant("a running callback holds all closures", "stuck-callback", [.invariant("P7.others-are-destroyed")]),
        Mutant("cancelAndWait waits for others", "stuck-callback", [.invariant("P7.others-are-waited-for")]),
        Mutant("a cancellation comes to nothing", "cancellation-flood", [.invariant("P8.all-silent")]),
        Mutant("a cancellation comes to nothing", "cancellation-races", [.invariant("P8.inactive-after-cancel")]),
        Mutant("a removal takes others too", "bulk-removal", [.invariant("P8.others-go-on")]),
        Mutant("a cancellation comes to nothing", "registration-churn", [.invariant("P8.silent-after-cancel")]),
        Mutant(
            "a cancellation comes to nothing",
            "notification-storm",
            [.invariant("P8.silent-after-cancel-elsewhere")]
        ),
        Mutant(
            "a cancellation comes to nothing",
            "property-death",
            [.invariant("P12.end-once")]
        ),
        Mutant("a task's wait is put off", "asynchronous-use", [.invariant("P9.async-outcome")]),
        Mutant("a task does not wait", "asynchronous-use", [.invariant("P9.async-closure-destroyed")]),
        Mutant("a task does not wait", "asynchronous-use", [.invariant("P9.async-cancelled-task")]),
        Mutant("an ended token says it is active", "registration-churn", [.invariant("P9.inactive")]),
        Mutant("cancelAndWait is put off everywhere", "registration-churn", [.invariant("P9.outcome")]),
        Mutant(
            "cancelAndWait does not wait",
            "path-death",
            [.invariant("P9.silent-path"), .invariant("P14.nothing-left")],
            .seconds(60)
        ),
        Mutant("a dropped token ends nothing", "registration-churn", [.invariant("P10.silent-after-release")]),
        Mutant("an end has another reason", "registry-death", [.invariant("P12.reason")]),
        Mutant("an actor's death goes unnoticed", "actor-order", [.invariant("P13.actor-death-noticed")]),
        Mutant(
            "a sequence's wake-up is lost",
            "sequence-cancellation",
            [.invariant("P8.cancelled-task-goes-on"), .invariant("P12.finishes-at-the-end")],
            at: "sequence.wait"
        ),
        Mutant("a fork keeps foreign frames", "forking", [.invariant("P18.child-goes-on")]),
        Mutant("a fork reuses every record", "forking", [.invariant("P18.child-hears")]),
        Mutant("a fork trusts foreign counts", "forking", [.invariant("P18.child-counts")], at: "retire.pushed"),
        Mutant(
            "an unbounded mailbox drops",
            "flood",
            [.invariant("P1.nothing-dropped"), .invariant("P1.ordered-once")]
        ),
        Mutant("an end discards what waits", "sequence-cancellation", [.invariant("P1.nothing-lost-before-the-end")]),
        Mutant("drain in a callback is not put off", "compare-exchange", [.invariant("P5.deferred-in-comparison")]),
        Mutant("an exchange returns what it has put", "compare-exchange", [.invariant("P2.each-value-once")]),
        Mutant("a delivery is dropped", "forking", [.invariant("P18.child-hears")]),
        Mutant(
            "an observer hears its own thread alone",
            "registration-churn",
            [.invariant("P1.announced-observer-hears")]
        ),
        Mutant("a long walk ends early", "notification-storm", [.invariant("P1.bulk-hears")]),
        Mutant(
            "a table is taken away before the next is there",
            "realtime-path",
            [.invariant("P1.stable-hears-all")],
            at: "grow.copied"
        ),
        Mutant("a read takes the other slot", "realtime-path", [.invariant("P2.reads-grow")], at: "publish.word"),
        Mutant("a version is told before its change", "torn-reads", [.invariant("P2.never-backwards")]),
        Mutant("a hop does not reach its actor", "actor-order", [.crash]),
        Mutant("an iterator leaves its actor", "sequence-cancellation", [.invariant("P2.stays-on-its-actor")]),
        Mutant("a repeated setting is swallowed", "weak-referent-death", [.invariant("P2.weak-chain")]),
        Mutant("a set brings back what was there", "two-way-binding", [.invariant("P3.last-update")]),
        Mutant("a body runs outside the lock", "parked-in-modify", [.invariant("P5.earlier-value")]),
        Mutant("an end leaves memory behind", "stuck-callback", [.invariant("P7.memory")]),
        Mutant(
            "a dying referent is read",
            "weak-referent-death",
            [.invariant("P11.alive-when-read")],
            at: "weak.died"
        ),
        Mutant("an owner is called when it is dead", "owner-death", [.invariant("P13.not-after-deinit")]),
        Mutant(
            "a late listener is overlooked",
            "registry-death",
            [.invariant("P12.end-once")],
            at: "finish.mark",
            .seconds(30)
        ),
        // Faults
        Mutant("a fork is not woken", "forking", [.hang]),
        Mutant(
            "a child tidies what is on stacks that it does not have",
            "forking-sources",
            [.invariant("P18.child-stacks"), .invariant("P18.child-goes-on")]
        ),
        Mutant("a fork forsakes its own thread's item", "forking-sources", [.invariant("P18.child-finishes")]),
        Mutant(
            "a fork trusts foreign counts",
            "registration-churn",
            [.invariant("P18.child-counts")],
            at: "retire.pushed",
            faults: .fork
        ),
        Mutant("a fork reuses every record", "registration-churn", [.invariant("P18.child-goes-on")], faults: .fork),
        Mutant(
            "a thread that exits inside a callback is not noticed",
            "registration-churn",
            [.invariant("P17.new-thread")],
            faults: .fork
        ),
        Mutant(
            "a blocked source's threads do not pause",
            "cancellation-flood",
            [.invariant("P16.backlog-bounded")],
            faults: .stuckDeinit,
            .seconds(60)
        ),
        Mutant(
            "a waiter asks once for a thread",
            "registration-churn",
            [.invariant("P18.child-goes-on")],
            faults: .fork,
            .seconds(30)
        ),
        Mutant("a failing barrier is not repeated", "cancellation-races", [.crash], faults: .failBarrier),
        Mutant(
            "a failing barrier is passed over",
            "cancellation-races",
            [.invariant("P9.barrier-repeated")],
            faults: .failBarrier
        ),
        // Sanitizers
        Mutant("grace period does nothing", "notification-storm", [.report(.address)], at: "walk.head", .seconds(60)),
        Mutant("a source's end forgets its observers", "registry-death", [.report(.address)], .seconds(60)),
        // Not under ThreadSanitizer: the one thing that a walk reads is its table, and that memory is another table's at once, whose makers
        // synchronise with the walker.
        Mutant(
            "a value is read after the read section",
            "torn-reads",
            [.report(.address)],
            at: "read.box",
            .seconds(60)
        ),
        Mutant("a notification allocates", "realtime-path", [.report(.realtime)]),
        Mutant("a notification takes a lock", "realtime-path", [.report(.realtime)]),
        Mutant("relaxed publish", "notification-storm", [.report(.thread)], isPerturbed: false, .seconds(60)),
    ]

    private static let calledTooLate: [Catcher] = [
        .invariant("P14.not-while-called"), .invariant("P9.nothing-after-wait"), .crash,
    ]
    /// The memory of a table that is reclaimed too early may be another table's when the walk goes on: it then delivers from that one.
    private static let tableInUse: [Catcher] = [
        .invariant("memory.table-in-use"), .invariant("P1.exactly-once"), .crash,
    ]

    private init(
        _ name: StaticString,
        _ scenario: String,
        _ catchers: [Catcher],
        at point: StaticString? = nil,
        isPerturbed: Bool = true,
        faults: PerturbationKinds = [],
        _ budget: Duration = .seconds(10)
    ) {
        self.init(
            name: name,
            scenario: scenario,
            catchers: catchers,
            point: point,
            isPerturbed: isPerturbed,
            faults: faults,
            budget: budget
        )
    }
}
