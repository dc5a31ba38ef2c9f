// SPDX-License-Identifier: Apache-2.0

extension Mutant {
    /// Bugs of registries: registration, notification, the table of observers, and the end of one
    /// observation.
    static let registry: [Mutant] = [
        // Notification
        Mutant(.aDeliveryIsDropped, "registration-churn", ["P1.exactly-once"]),
        Mutant(.aDeliveryIsRepeated, "registration-churn", ["P1.exactly-once"]),
        Mutant(.compactionLosesAnEntry, "notification-storm", ["P1.exactly-once"]),
        Mutant(
            .observeReturnsBeforePublishing,
            "registration-churn",
            ["P1.own-observer-receives", "P1.exactly-once", .crash]
        ),
        Mutant(.appendPublishesTheCountFirst, "notification-storm", [.crash]),
        Mutant(.markIsNotTested, "reentrancy", ["P6.not-in-this-pass", "P9.nothing-after-wait"]),
        // The end of one observation
        Mutant(.markIsTestedBeforeCurrentIsStored, "cancellation-races", calledTooLate),
        Mutant(.currentObserversAreNotScanned, "cancellation-races", calledTooLate),
        Mutant(.currentIsClearedBeforeTheCallback, "cancellation-races", calledTooLate),
        Mutant(.outerFramesAreSkipped, "reentrancy", calledTooLate + ["memory.table-in-use"], .seconds(30)),
        Mutant(.theInnermostFrameIsNotScanned, "cancellation-races", calledTooLate),
        Mutant(.framesThatWereLeftAreScanned, "reentrancy", ["P9.frames-in-use"]),
        Mutant(.cancelAndWaitDoesNotWait, "cancellation-races", calledTooLate),
        Mutant(.cancelAndWaitInACallbackWaits, "mutual-cancellation", [.hang, "P9.deferred-in-callback"]),
        Mutant(
            .noBarrierBeforeTheScan,
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
        Mutant(.reclaimAtOnce, "cancellation-races", calledTooLate + ["memory.table-in-use"]),
        // Tables
        Mutant(.aReplacedTableKeepsItsWord, "cancellation-races", calledTooLate),
        Mutant(.pinsAreNotScanned, "notification-storm", tableInUse),
        Mutant(.pinIsStoredAfterTheReadSection, "notification-storm", tableInUse, at: "walk.head"),
        Mutant(.aHeadIsNotLookedAtAgain, "notification-storm", tableInUse, at: "walk.head"),
        Mutant(.pinIsClearedBeforeTheWalkEnds, "notification-storm", tableInUse),
        Mutant(.innerPassClearsTheOuterPin, "reentrancy", tableInUse, .seconds(30)),
        // One bug for each remaining invariant
        Mutant(.aDeliveryIsDropped, "cancellation-flood", ["P1.all-receive"]),
        Mutant(.aDeliveryIsDropped, "asynchronous-use", ["P1.async-own-observer-receives"]),
        Mutant(.aDeliveryIsDropped, "owner-death", ["P13.receives-while-alive"]),
        Mutant(.anEndIsNotCounted, "registration-churn", ["P1.count-at-rest"]),
        Mutant(.aRemovalTakesTwoSteps, "bulk-removal", [.history("registry")]),
        Mutant(.aCancellationHasNoEffect, "cancellation-flood", ["P8.all-silent"]),
        Mutant(.aCancellationHasNoEffect, "cancellation-races", ["P8.inactive-after-cancel"]),
        Mutant(.aRemovalEndsOtherObservationsToo, "bulk-removal", ["P8.others-go-on"]),
        Mutant(.aCancellationHasNoEffect, "registration-churn", ["P8.silent-after-cancel"]),
        Mutant(.aCancellationHasNoEffect, "notification-storm", ["P8.silent-after-cancel-elsewhere"]),
        Mutant(.aTasksWaitIsDeferred, "asynchronous-use", ["P9.async-outcome"]),
        Mutant(.aTaskDoesNotWait, "asynchronous-use", ["P9.async-closure-destroyed"]),
        Mutant(.aTaskDoesNotWait, "asynchronous-use", ["P9.async-cancelled-task"]),
        Mutant(.anEndedTokenSaysItIsActive, "registration-churn", ["P9.inactive"]),
        Mutant(.cancelAndWaitIsDeferredEverywhere, "registration-churn", ["P9.outcome"]),
        Mutant(.aDroppedTokenEndsNothing, "registration-churn", ["P10.silent-after-release"]),
        Mutant(.anEndHasAWrongReason, "registry-death", ["P12.reason"]),
        Mutant(.anObserverReceivesItsOwnThreadsEventsAlone, "registration-churn", ["P1.announced-observer-receives"]),
        Mutant(.aLongWalkEndsEarly, "notification-storm", ["P1.bulk-receives"]),
        Mutant(
            .aTableIsRemovedBeforeTheNextIsPublished,
            "realtime-path",
            ["P1.stable-receives-all"],
            at: "grow.copied"
        ),
        Mutant(.aReadTakesTheOtherSlot, "realtime-path", ["P2.reads-grow"], at: "publish.word"),
        Mutant(.anOwnerIsCalledWhenItIsDead, "owner-death", ["P13.not-after-deinit"]),
        Mutant(.aLateListenerIsNotNotified, "registry-death", ["P12.end-once"], at: "finish.mark", .seconds(30)),
    ]
}
