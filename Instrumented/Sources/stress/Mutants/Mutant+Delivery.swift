// SPDX-License-Identifier: Apache-2.0

extension Mutant {
    /// Bugs of ordered deliveries: mailboxes, actors, queues, and async sequences.
    static let deliveries: [Mutant] = [
        // Ordered deliveries
        Mutant(.aChangeIsEnqueuedOutsideTheLock, "actor-order", ["P1.ordered-once", "P2.ordered", "P2.ordered-chain"]),
        Mutant(.aPathsChangesAreNotSortedByVersion, "actor-order", ["P1.ordered-once", "P2.ordered"]),
        Mutant(
            .twoDeliverAtOnce,
            "actor-order",
            ["P2.one-at-a-time", "P1.ordered-once", "P2.ordered", .crash],
            at: "mailbox.taken"
        ),
        Mutant(.aHandOverIsLost, "actor-order", ["P1.counts-add-up", "P1.flush-returns"]),
        Mutant(.aMailboxsWakeUpIsLost, "actor-order", ["P1.counts-add-up", "P1.flush-returns"]),
        Mutant(
            .aDeliveryParksOutsideTheLock,
            "actor-order",
            ["P1.counts-add-up", "P1.flush-returns"],
            at: "mailbox.woken",
            .seconds(60)
        ),
        Mutant(.aFlushDoesNotWaitForTheCallback, "actor-order", ["P1.flushed"], .seconds(60)),
        Mutant(.aFlushIsNotResumed, "actor-order", ["P1.flush-returns"], .seconds(30)),
        Mutant(.aMailboxThatGrowsIsInvisible, "actor-order", ["P16.large-mailboxes-are-reported"]),
        Mutant(.aMethodReferenceLeavesItsActor, "actor-order", ["P2.isolated"]),
        Mutant(.anActorIsRetained, "actor-order", ["P11.actor-not-retained"]),
        Mutant(.theLatestValueIsLost, "flood", ["P1.kept-as-asked", "P2.ordered-chain", "P3.last-value"]),
        Mutant(.aDroppedEventIsDestroyedUnderTheLock, "flood", ["P5.no-lock-around-user-code"]),
        Mutant(.aChangeComparesWithADroppedOne, "flood", ["P2.ordered-chain"]),
        Mutant(.anEndIsDroppedByThePolicy, "flood", ["P12.end-delivered", "P1.capacity"], .seconds(30)),
        Mutant(
            .queuedChangesAreDeliveredAfterTheEnd,
            "delivery-cancellation",
            [.crash, "P8.silent-on-its-own-queue"] + calledTooLate
        ),
        Mutant(
            .whatADeliveryHasTakenOutlivesTheEnd,
            "delivery-cancellation",
            ["P1.counts-add-up", "P14.value-destroyed", "P14.nothing-left"]
        ),
        Mutant(.anEndedObservationIsStillCounted, "delivery-cancellation", ["P8.counted-until-the-end"]),
        Mutant(.aMemberCountsAGroupTwice, "delivery-cancellation", ["P8.members-count-once"]),
        Mutant(.aRemovalByOwnerForgetsTheGroups, "delivery-cancellation", ["P8.ends-with-its-owners"]),
        Mutant(.aComparisonsCancellationIsIgnored, "delivery-cancellation", ["P8.silent-after-comparison"]),
        Mutant(.anEventIsReceivedBeforeItIsLeftOut, "delivery-cancellation", ["P1.received-if-called"]),
        Mutant(.aSetterWaitsForABusyObserver, "serial-handover", ["P7.no-setter-waits", .hang]),
        Mutant(.twoDeliverAtOnce, "mutual-actors", ["P6.not-nested", "P2.one-at-a-time", .crash]),
        // Sequences
        Mutant(.aFinishedSequenceWaitsAgain, "sequence-cancellation", ["P12.finishes-at-the-end"], .seconds(30)),
        Mutant(
            .anEventIsYieldedAfterTheEnd,
            "sequence-cancellation",
            [
                "P12.finishes-once", "P1.counts-add-up", "P1.ordered-once",
                "P8.cancelled-task-goes-on", "P12.finishes-at-the-end",
                "P2.ordered-chain", "P4.initial-first",
            ],
            at: "mailbox.enqueue",
            .seconds(60)
        ),
        Mutant(.aTaskIsResumedUnderTheLock, "sequence-cancellation", ["P5.no-lock-around-user-code", .hang]),
        Mutant(.anIteratorReturnsARemovedChange, "sequence-cancellation", ["P8.removed-iterator-is-silent"]),
        Mutant(
            .anIteratorLeavesItsObserver,
            "sequence-cancellation",
            ["P8.iterator-leaves-nothing", "P14.nothing-left"]
        ),
        Mutant(.aSerialDeliveryComesFirst, "serial-handover", ["P1.kinds-in-order"]),
        // One bug for each remaining invariant
        Mutant(.aMailboxsWakeUpIsLost, "mutual-actors", ["P3.answered-to-the-end"]),
        Mutant(
            .aCancellerDestroysTheRestOfAnIterator,
            "sequence-cancellation",
            ["P5.not-by-the-canceller", "P5.deferred-in-deinit"]
        ),
        Mutant(.anActorsDeathGoesUnnoticed, "actor-order", ["P13.actor-death-noticed"]),
        Mutant(
            .aSequencesWakeUpIsLost,
            "sequence-cancellation",
            ["P8.cancelled-task-goes-on", "P12.finishes-at-the-end"],
            at: "sequence.wait"
        ),
        Mutant(.anUnboundedMailboxDrops, "flood", ["P1.nothing-dropped", "P1.ordered-once"]),
        Mutant(.anEndDiscardsWaitingChanges, "sequence-cancellation", ["P1.nothing-lost-before-the-end"]),
        Mutant(.aDeliveryDoesNotReachItsActor, "actor-order", [.crash]),
        Mutant(.anIteratorLeavesItsActor, "sequence-cancellation", ["P2.stays-on-its-actor"]),
        // Waits for a value
        Mutant(.aTimeoutDiscardsWhatCameBefore, "first-value", ["P4.value-before-timeout"]),
        Mutant(.aWaitMissesThePresentValue, "first-value", ["P4.value-before-timeout"]),
    ]
}
