// SPDX-License-Identifier: Apache-2.0

extension Mutant {
    /// Bugs of ordered deliveries: mailboxes, actors, queues, and async sequences.
    static let deliveries: [Mutant] = [
        // Ordered deliveries
        Mutant(
            .aChangeIsEnqueuedOutsideTheLock,
            "actor-order",
            [.invariant("P1.ordered-once"), .invariant("P2.ordered"), .invariant("P2.ordered-chain")]
        ),
        Mutant(
            .aPathsChangesAreNotSortedByVersion,
            "actor-order",
            [.invariant("P1.ordered-once"), .invariant("P2.ordered")]
        ),
        Mutant(
            .twoDeliverAtOnce,
            "actor-order",
            [.invariant("P2.one-at-a-time"), .invariant("P1.ordered-once"), .invariant("P2.ordered"), .crash],
            at: "mailbox.taken"
        ),
        Mutant(
            .aHandOverIsLost,
            "actor-order",
            [.invariant("P1.counts-add-up"), .invariant("P1.flush-returns")]
        ),
        Mutant(
            .aMailboxsWakeUpIsLost,
            "actor-order",
            [.invariant("P1.counts-add-up"), .invariant("P1.flush-returns")]
        ),
        Mutant(
            .aDeliveryParksOutsideTheLock,
            "actor-order",
            [.invariant("P1.counts-add-up"), .invariant("P1.flush-returns")],
            at: "mailbox.woken",
            .seconds(60)
        ),
        Mutant(.aFlushDoesNotWaitForTheCallback, "actor-order", [.invariant("P1.flushed")], .seconds(60)),
        Mutant(.aFlushIsNotResumed, "actor-order", [.invariant("P1.flush-returns")], .seconds(30)),
        Mutant(
            .aMailboxThatGrowsIsInvisible,
            "actor-order",
            [.invariant("P16.large-mailboxes-are-reported")]
        ),
        Mutant(.aMethodReferenceLeavesItsActor, "actor-order", [.invariant("P2.isolated")]),
        Mutant(.anActorIsRetained, "actor-order", [.invariant("P11.actor-not-retained")]),
        Mutant(
            .theLatestValueIsLost,
            "flood",
            [.invariant("P1.kept-as-asked"), .invariant("P2.ordered-chain"), .invariant("P3.last-value")]
        ),
        Mutant(
            .aDroppedEventIsDestroyedUnderTheLock,
            "flood",
            [.invariant("P5.no-lock-around-user-code")]
        ),
        Mutant(.aChangeComparesWithADroppedOne, "flood", [.invariant("P2.ordered-chain")]),
        Mutant(
            .anEndIsDroppedByThePolicy,
            "flood",
            [.invariant("P12.end-delivered"), .invariant("P1.capacity")],
            .seconds(30)
        ),
        Mutant(
            .queuedChangesAreDeliveredAfterTheEnd,
            "delivery-cancellation",
            [.crash, .invariant("P8.silent-on-its-own-queue")] + calledTooLate
        ),
        Mutant(
            .whatADeliveryHasTakenOutlivesTheEnd,
            "delivery-cancellation",
            [.invariant("P1.counts-add-up"), .invariant("P14.value-destroyed"), .invariant("P14.nothing-left")]
        ),
        Mutant(
            .anEndedObservationIsStillCounted,
            "delivery-cancellation",
            [.invariant("P8.counted-until-the-end")]
        ),
        Mutant(.aMemberCountsAGroupTwice, "delivery-cancellation", [.invariant("P8.members-count-once")]),
        Mutant(
            .aRemovalByOwnerForgetsTheGroups,
            "delivery-cancellation",
            [.invariant("P8.ends-with-its-owners")]
        ),
        Mutant(
            .aComparisonsCancellationIsIgnored,
            "delivery-cancellation",
            [.invariant("P8.silent-after-comparison")]
        ),
        Mutant(
            .anEventIsReceivedBeforeItIsLeftOut,
            "delivery-cancellation",
            [.invariant("P1.received-if-called")]
        ),
        Mutant(
            .aSetterWaitsForABusyObserver,
            "serial-handover",
            [.invariant("P7.no-setter-waits"), .hang]
        ),
        Mutant(
            .twoDeliverAtOnce,
            "mutual-actors",
            [.invariant("P6.not-nested"), .invariant("P2.one-at-a-time"), .crash]
        ),
        // Sequences
        Mutant(
            .aFinishedSequenceWaitsAgain,
            "sequence-cancellation",
            [.invariant("P12.finishes-at-the-end")],
            .seconds(30)
        ),
        Mutant(
            .anEventIsYieldedAfterTheEnd,
            "sequence-cancellation",
            [
                .invariant("P12.finishes-once"), .invariant("P1.counts-add-up"), .invariant("P1.ordered-once"),
                .invariant("P8.cancelled-task-goes-on"), .invariant("P12.finishes-at-the-end"),
                .invariant("P2.ordered-chain"), .invariant("P4.initial-first"),
            ],
            at: "mailbox.enqueue",
            .seconds(60)
        ),
        Mutant(
            .aTaskIsResumedUnderTheLock,
            "sequence-cancellation",
            [.invariant("P5.no-lock-around-user-code"), .hang]
        ),
        Mutant(
            .anIteratorReturnsARemovedChange,
            "sequence-cancellation",
            [.invariant("P8.removed-iterator-is-silent")]
        ),
        Mutant(
            .anIteratorLeavesItsObserver,
            "sequence-cancellation",
            [.invariant("P8.iterator-leaves-nothing"), .invariant("P14.nothing-left")]
        ),
        Mutant(.aSerialDeliveryComesFirst, "serial-handover", [.invariant("P1.kinds-in-order")]),
        // One bug for each remaining invariant
        Mutant(.aMailboxsWakeUpIsLost, "mutual-actors", [.invariant("P3.answered-to-the-end")]),
        Mutant(
            .aCancellerDestroysTheRestOfAnIterator,
            "sequence-cancellation",
            [.invariant("P5.not-by-the-canceller"), .invariant("P5.deferred-in-deinit")]
        ),
        Mutant(.anActorsDeathGoesUnnoticed, "actor-order", [.invariant("P13.actor-death-noticed")]),
        Mutant(
            .aSequencesWakeUpIsLost,
            "sequence-cancellation",
            [.invariant("P8.cancelled-task-goes-on"), .invariant("P12.finishes-at-the-end")],
            at: "sequence.wait"
        ),
        Mutant(
            .anUnboundedMailboxDrops,
            "flood",
            [.invariant("P1.nothing-dropped"), .invariant("P1.ordered-once")]
        ),
        Mutant(.anEndDiscardsWaitingChanges, "sequence-cancellation", [.invariant("P1.nothing-lost-before-the-end")]),
        Mutant(.aDeliveryDoesNotReachItsActor, "actor-order", [.crash]),
        Mutant(.anIteratorLeavesItsActor, "sequence-cancellation", [.invariant("P2.stays-on-its-actor")]),
        // Waits for a value
        Mutant(.aTimeoutDiscardsWhatCameBefore, "first-value", [.invariant("P4.value-before-timeout")]),
        Mutant(.aWaitMissesThePresentValue, "first-value", [.invariant("P4.value-before-timeout")]),
    ]
}
