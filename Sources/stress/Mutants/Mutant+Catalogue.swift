// SPDX-License-Identifier: Apache-2.0

#if INSTRUMENTED
extension Mutant {
    /// Every seeded bug, with what must catch it.
    static let all: [Mutant] = [
        // Delivery
        Mutant(.aDeliveryIsDropped, "registration-churn", [.invariant("P1.exactly-once")]),
        Mutant(.aDeliveryIsRepeated, "registration-churn", [.invariant("P1.exactly-once")]),
        Mutant(.compactionLosesAnEntry, "notification-storm", [.invariant("P1.exactly-once")]),
        Mutant(
            .observeReturnsBeforePublishing,
            "registration-churn",
            [.invariant("P1.own-observer-hears"), .invariant("P1.exactly-once"), .crash]
        ),
        Mutant(.appendPublishesTheCountFirst, "notification-storm", [.crash]),
        Mutant(
            .markIsNotTested,
            "reentrancy",
            [.invariant("P6.not-in-this-pass"), .invariant("P9.nothing-after-wait")]
        ),
        // The end of one
        Mutant(.markIsTestedBeforeCurrentIsStored, "cancellation-races", calledTooLate),
        Mutant(.currentObserversAreNotScanned, "cancellation-races", calledTooLate),
        Mutant(.currentIsClearedBeforeTheCallback, "cancellation-races", calledTooLate),
        Mutant(
            .outerFramesAreSkipped,
            "reentrancy",
            calledTooLate + [.invariant("memory.table-in-use")],
            .seconds(30)
        ),
        Mutant(.theInnermostFrameIsNotScanned, "cancellation-races", calledTooLate),
        Mutant(.framesThatWereLeftAreScanned, "reentrancy", [.invariant("P9.frames-in-use")]),
        Mutant(.cancelAndWaitDoesNotWait, "cancellation-races", calledTooLate),
        Mutant(
            .cancelAndWaitInACallbackWaits,
            "mutual-cancellation",
            [.hang, .invariant("P9.deferred-in-callback")]
        ),
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
        Mutant(.reclaimAtOnce, "cancellation-races", calledTooLate + [.invariant("memory.table-in-use")]),
        // Tables
        Mutant(.aReplacedTableKeepsItsWord, "cancellation-races", calledTooLate),
        Mutant(.pinsAreNotScanned, "notification-storm", tableInUse),
        Mutant(
            .pinIsStoredAfterTheReadSection,
            "notification-storm",
            tableInUse,
            at: "walk.head"
        ),
        Mutant(.pinIsClearedBeforeTheWalkEnds, "notification-storm", tableInUse),
        Mutant(.innerPassClearsTheOuterPin, "reentrancy", tableInUse, .seconds(30)),
        // Destruction
        Mutant(.aCoreIsLookedForInTwoSteps, "registry-death", [.crash, .hang], at: "observer.home"),
        Mutant(.anObserverIsUsedAgainTooEarly, "registry-death", [.invariant("P12.inactive"), .crash]),
        Mutant(
            .closureIsDestroyedTwice,
            "destruction",
            [.crash, .invariant("P14.destroyed-once"), .invariant("P9.closure-destroyed")]
        ),
        Mutant(
            .closureIsDestroyedUnderTheLock,
            "destruction",
            [.invariant("P5.no-lock-around-user-code"), .hang]
        ),
        Mutant(
            .sourceDeathLeaksTheClosures,
            "registry-death",
            [.invariant("P12.end-once"), .invariant("P14.destroyed-once")]
        ),
        Mutant(.tokenStaysActiveAfterSourceDeath, "registry-death", [.invariant("P12.inactive"), .crash]),
        Mutant(.endIsToldTwice, "registry-death", [.invariant("P12.end-once")]),
        Mutant(.ownersDeathGoesUnnoticed, "owner-death", [.invariant("P13.death-noticed")]),
        Mutant(.anOwnerIsKnownByItsAddress, "owner-death", [.invariant("P13.death-is-no-cancellation")]),
        // Progress
        Mutant(
            .reclaimersWakeUpIsLost,
            "destruction",
            [.invariant("P14.destroyed-once"), .invariant("P14.prompt"), .invariant("P16.backlog-drains")]
        ),
        Mutant(.backlogIsUnbounded, "cancellation-flood", [.invariant("P16.backlog-bounded")]),
        Mutant(.oneQueueServesAllSources, "slow-neighbours", [.invariant("P14.others-first")], .seconds(30)),
        Mutant(
            .aBlockedSourcesThreadsDoNotPause,
            "blocked-source",
            [.invariant("P16.blocked-source-pauses")],
            .seconds(30)
        ),
        Mutant(.oneSourceHasAllThreads, "blocked-source", [.invariant("P14.others-are-destroyed")], .seconds(30)),
        Mutant(.aWaiterAsksOnceForAThread, "thread-famine", [.invariant("P9.famine-ends")], .seconds(30)),
        Mutant(.exitingThreadsRecordLeaks, "thread-churn", [.invariant("P17.records-return")]),
        // Properties
        Mutant(
            .aVersionIsHandedOutOutsideTheLock,
            "mutation-storm",
            [
                .invariant("P2.versions-without-gaps"), .invariant("P2.old-is-last-new"),
                .invariant("P1.every-change-once"), .invariant("P1.own-observer-hears"), .crash,
            ]
        ),
        Mutant(
            .oldAndNewAreSwapped,
            "mutation-storm",
            [.invariant("P2.old-is-last-new"), .invariant("P1.own-observer-hears")]
        ),
        Mutant(
            .aReadIsTorn,
            "torn-reads",
            [.invariant("P2.whole-value"), .invariant("P2.version-fits")],
            at: "read.word"
        ),
        Mutant(
            .aValueIsReadAfterTheReadSection,
            "torn-reads",
            [.invariant("P14.not-while-read"), .invariant("P2.whole-value"), .crash],
            at: "read.box"
        ),
        Mutant(
            .aLentValueIsNotPinned,
            "torn-reads",
            [.invariant("P14.not-while-read"), .invariant("P2.whole-value"), .crash]
        ),
        Mutant(
            .aChangeBetweenInitialAndRegistrationIsMissed,
            "initial-against-writers",
            [.invariant("P4.nothing-between")],
            at: "initial.sampled"
        ),
        Mutant(
            .aBodyDoesNotWaitForRegistrations,
            "initial-against-writers",
            [.invariant("P4.nothing-between")],
            at: "register.since",
            .seconds(30)
        ),
        Mutant(
            .anEarlierChangeIsDelivered,
            "initial-against-writers",
            [.invariant("P4.nothing-earlier")],
            at: "set.published"
        ),
        Mutant(.endIsToldTwice, "property-death", [.invariant("P12.end-once")]),
        Mutant(.anEndIsToldBeforeTheLastCall, "property-death", [.invariant("P12.end-last")]),
        Mutant(
            .sourceDeathLeaksTheClosures,
            "property-death",
            [.invariant("P12.end-once"), .invariant("P14.destroyed-once"), .hang]
        ),
        Mutant(.aPropertysDeathLeaksItsValue, "property-death", [.invariant("P14.value-destroyed")]),
        Mutant(
            .aValueIsDestroyedUnderALock,
            "value-destruction",
            [.invariant("P5.no-lock-around-user-code"), .hang]
        ),
        Mutant(.aValueIsDestroyedTwice, "value-destruction", [.invariant("P14.value-destroyed"), .crash]),
        Mutant(
            .aValueIsDestroyedByItsWriter,
            "value-destruction",
            [.invariant("P5.not-on-another-writer"), .invariant("P14.not-while-read")]
        ),
        Mutant(.aBodysErrorPublishesItsValue, "parked-in-modify", [.invariant("P5.throw-publishes-nothing")]),
        Mutant(
            .aComparisonIsNotRepeated,
            "compare-exchange",
            [.invariant("P2.no-lost-update")],
            at: "compare.equal"
        ),
        // Paths
        Mutant(
            .aStaleTailIsHeard,
            "path-rewiring",
            [.invariant("P2.path-versions"), .invariant("P2.path-chain"), .invariant("P3.path-converges")]
        ),
        Mutant(
            .aRewiringIsLost,
            "path-rewiring",
            [.invariant("P3.path-converges"), .invariant("P2.path-chain"), .invariant("P1.heard-from-a-callback")]
        ),
        Mutant(.racingReplacementsAreNotHandedOn, "path-rewiring", [.invariant("P3.path-converges")]),
        Mutant(.pathsAreToldWhileOthersAreWired, "path-rewiring", [.invariant("P1.heard-from-a-callback")]),
        Mutant(
            .aPathIsToldWhereItLeadsBeforeItIsToldWhy,
            "path-rewiring",
            [.invariant("P2.in-order-on-one-thread")]
        ),
        Mutant(
            .aCombinationIsReadOutsideTheLock,
            "combinations",
            [.invariant("P2.combined-order"), .invariant("P3.combination")]
        ),
        Mutant(
            .aCombinationChangesBeforeItIsObserved,
            "combinations",
            [.invariant("P2.combined-versions"), .invariant("P4.initial-first")]
        ),
        Mutant(
            .aCombinationTakesAnOlderChange,
            "combinations",
            [.invariant("P2.combined-order"), .invariant("P3.combination")]
        ),
        Mutant(.twoDeliverAtOnce, "combinations", [.invariant("P2.combined-versions")], at: "mailbox.taken"),
        Mutant(
            .aPathsEndDoesNotWait,
            "path-death",
            [.invariant("P1.heard-before-the-end")],
            at: "visit.marked"
        ),
        Mutant(.anEndIsToldBeforeTheLastCall, "path-death", [.invariant("P12.path-end-last")]),
        Mutant(.aRemovalForgetsThePaths, "bulk-removal", [.invariant("P8.silent-after-removal")]),
        // Weak properties
        Mutant(
            .aReferentsDeathGoesUnnoticed,
            "weak-referent-death",
            [.invariant("P12.inline-nil"), .invariant("P12.nil-once")]
        ),
        Mutant(
            .aDeadReferentClearsItsSuccessor,
            "weak-referent-death",
            [.invariant("P12.successor-stays"), .invariant("P12.nil-once")],
            at: "weak.died"
        ),
        Mutant(.aWeakPropertyKeepsItsReferent, "weak-referent-death", [.invariant("P11.not-retained")]),
        Mutant(.aMailboxKeepsReferents, "weak-referent-death", [.invariant("P11.not-retained")]),
        // Bindings
        Mutant(.aBindingEchoes, "two-way-binding", [.invariant("P6.hops-bounded")]),
        Mutant(.aChangePassesABindingTwice, "two-way-binding", [.invariant("P6.hops-bounded")]),
        Mutant(
            .aBindingAppliesAnOlderChange,
            "two-way-binding",
            [.invariant("P3.destination-follows")],
            at: "bind.passing"
        ),
        Mutant(
            .aBindingDecidesOutsideTheLock,
            "two-way-binding",
            [.invariant("P3.destination-follows")],
            at: "bind.passing"
        ),
        Mutant(
            .aPairAgreesOnOneSideAlone,
            "two-way-binding",
            [.invariant("P3.pair-converges")],
            at: "bind.published",
            .seconds(60)
        ),
        Mutant(
            .eachBindingOfAPairAgreesForItself,
            "two-way-binding",
            [.invariant("P3.pair-converges")],
            at: "bind.published",
            .seconds(30)
        ),
        Mutant(.aBindingRetainsItsDestination, "two-way-binding", [.invariant("P11.not-retained")]),
        Mutant(
            .anEndedBindingGoesOnBackwards,
            "two-way-binding",
            [.invariant("P9.nothing-after-wait")],
            at: "bind.passing"
        ),
        // Deliveries that come one at a time
        Mutant(
            .aChangeIsPostedOutsideTheLock,
            "actor-order",
            [.invariant("P1.ordered-once"), .invariant("P2.ordered"), .invariant("P2.ordered-chain")]
        ),
        Mutant(
            .aPathsChangesArriveAsTheyCome,
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
            .isBusyIsClearedOutsideTheLock,
            "actor-order",
            [.invariant("P1.counts-add-up"), .invariant("P1.flush-returns")],
            at: "mailbox.attended",
            .seconds(60)
        ),
        Mutant(.aFlushDoesNotWaitForTheCallback, "actor-order", [.invariant("P1.flushed")], .seconds(60)),
        Mutant(.aFlushIsNotResumed, "actor-order", [.invariant("P1.flush-returns")], .seconds(30)),
        Mutant(
            .aMailboxThatGrowsIsInvisible,
            "actor-order",
            [.invariant("P16.large-mailboxes-are-told")]
        ),
        Mutant(.aMethodReferenceLeavesItsActor, "actor-order", [.invariant("P2.isolated")]),
        Mutant(.anActorIsRetained, "actor-order", [.invariant("P11.actor-not-retained")]),
        Mutant(
            .theLatestValueIsLost,
            "flood",
            [.invariant("P1.kept-as-asked"), .invariant("P3.last-value")]
        ),
        Mutant(
            .aDroppedEventIsDestroyedUnderTheLock,
            "flood",
            [.invariant("P5.no-lock-around-user-code")]
        ),
        Mutant(
            .anEndIsDroppedByThePolicy,
            "flood",
            [.invariant("P12.end-heard"), .invariant("P1.capacity")],
            .seconds(30)
        ),
        Mutant(
            .queuedChangesAreDeliveredAfterTheEnd,
            "delivery-cancellation",
            [.crash, .invariant("P8.silent-on-its-own-queue")] + calledTooLate
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
            at: "mailbox.posting",
            .seconds(60)
        ),
        Mutant(
            .aTaskIsResumedUnderTheLock,
            "sequence-cancellation",
            [.invariant("P5.no-lock-around-user-code"), .hang]
        ),
        Mutant(
            .anIteratorReturnsWhatWasRemoved,
            "sequence-cancellation",
            [.invariant("P8.removed-iterator-is-silent")]
        ),
        Mutant(
            .anIteratorLeavesItsObserver,
            "sequence-cancellation",
            [.invariant("P8.iterator-leaves-nothing"), .invariant("P14.nothing-left")]
        ),
        // Each remaining invariant: a bug that it alone must see
        Mutant(.aDeliveryIsDropped, "cancellation-flood", [.invariant("P1.all-hear")]),
        Mutant(.aDeliveryIsDropped, "asynchronous-use", [.invariant("P1.async-own-observer-hears")]),
        Mutant(.aDeliveryIsDropped, "owner-death", [.invariant("P13.hears-while-alive")]),
        Mutant(.aDeliveryIsDropped, "thread-churn", [.invariant("P17.exiting-thread-hears")]),
        Mutant(.anEndIsNotCounted, "registration-churn", [.invariant("P1.count-at-rest")]),
        Mutant(.aRemovalTakesTwoSteps, "bulk-removal", [.history("registry")]),
        Mutant(.allAreToldAhead, "mutation-storm", [.invariant("P2.as-asked")]),
        Mutant(.aChangeIsNotToldAhead, "mutation-storm", [.invariant("P2.prior-ahead")]),
        Mutant(.aMailboxsWakeUpIsLost, "mutual-actors", [.invariant("P3.answered-to-the-end")]),
        Mutant(.theInitialValueIsToldTwice, "initial-against-writers", [.invariant("P4.initial-once")]),
        Mutant(.theInitialVersionIsAnother, "initial-against-writers", [.invariant("P4.initial-value")]),
        Mutant(.cancelAndWaitInACallbackWaits, "parked-in-modify", [.invariant("P5.deferred-in-body")]),
        Mutant(.cancelAndWaitInACallbackWaits, "destruction", [.invariant("P5.deferred-in-deinit")]),
        Mutant(
            .aCancellerDestroysWhatAnIteratorLeft,
            "sequence-cancellation",
            [.invariant("P5.not-by-the-canceller"), .invariant("P5.deferred-in-deinit")]
        ),
        Mutant(.aClosureIsDestroyedByItsCanceller, "destruction", [.invariant("P5.not-on-the-canceller")]),
        Mutant(.aRunningCallbackIsNotSeen, "stuck-callback", [.invariant("P7.diagnosed")]),
        Mutant(.aRunningCallbackHoldsAllClosures, "stuck-callback", [.invariant("P7.others-are-destroyed")]),
        Mutant(.cancelAndWaitWaitsForOthers, "stuck-callback", [.invariant("P7.others-are-waited-for")]),
        Mutant(.aCancellationComesToNothing, "cancellation-flood", [.invariant("P8.all-silent")]),
        Mutant(.aCancellationComesToNothing, "cancellation-races", [.invariant("P8.inactive-after-cancel")]),
        Mutant(.aRemovalTakesOthersToo, "bulk-removal", [.invariant("P8.others-go-on")]),
        Mutant(.aCancellationComesToNothing, "registration-churn", [.invariant("P8.silent-after-cancel")]),
        Mutant(
            .aCancellationComesToNothing,
            "notification-storm",
            [.invariant("P8.silent-after-cancel-elsewhere")]
        ),
        Mutant(
            .aCancellationComesToNothing,
            "property-death",
            [.invariant("P12.reason")]
        ),
        Mutant(.aTasksWaitIsPutOff, "asynchronous-use", [.invariant("P9.async-outcome")]),
        Mutant(.aTaskDoesNotWait, "asynchronous-use", [.invariant("P9.async-closure-destroyed")]),
        Mutant(.aTaskDoesNotWait, "asynchronous-use", [.invariant("P9.async-cancelled-task")]),
        Mutant(.anEndedTokenSaysItIsActive, "registration-churn", [.invariant("P9.inactive")]),
        Mutant(.cancelAndWaitIsPutOffEverywhere, "registration-churn", [.invariant("P9.outcome")]),
        Mutant(
            .cancelAndWaitDoesNotWait,
            "path-death",
            [.invariant("P9.silent-path"), .invariant("P14.nothing-left")],
            .seconds(60)
        ),
        Mutant(.aDroppedTokenEndsNothing, "registration-churn", [.invariant("P10.silent-after-release")]),
        Mutant(.anEndHasAnotherReason, "registry-death", [.invariant("P12.reason")]),
        Mutant(.anActorsDeathGoesUnnoticed, "actor-order", [.invariant("P13.actor-death-noticed")]),
        Mutant(
            .aSequencesWakeUpIsLost,
            "sequence-cancellation",
            [.invariant("P8.cancelled-task-goes-on"), .invariant("P12.finishes-at-the-end")],
            at: "sequence.wait"
        ),
        Mutant(.aForkKeepsForeignFrames, "forking", [.invariant("P18.child-goes-on")]),
        Mutant(.aForkReusesEveryRecord, "forking", [.invariant("P18.child-hears")]),
        Mutant(.aForkTrustsForeignCounts, "forking", [.invariant("P18.child-counts")], at: "retire.pushed"),
        Mutant(
            .anUnboundedMailboxDrops,
            "flood",
            [.invariant("P1.nothing-dropped"), .invariant("P1.ordered-once")]
        ),
        Mutant(.anEndDiscardsWhatWaits, "sequence-cancellation", [.invariant("P1.nothing-lost-before-the-end")]),
        Mutant(.drainInACallbackIsNotPutOff, "compare-exchange", [.invariant("P5.deferred-in-comparison")]),
        Mutant(.anExchangeReturnsWhatItHasPut, "compare-exchange", [.invariant("P2.each-value-once")]),
        Mutant(.aDeliveryIsDropped, "forking", [.invariant("P18.child-hears")]),
        Mutant(
            .anObserverHearsItsOwnThreadAlone,
            "registration-churn",
            [.invariant("P1.announced-observer-hears")]
        ),
        Mutant(.aLongWalkEndsEarly, "notification-storm", [.invariant("P1.bulk-hears")]),
        Mutant(
            .aTableIsTakenAwayBeforeTheNextIsThere,
            "realtime-path",
            [.invariant("P1.stable-hears-all")],
            at: "grow.copied"
        ),
        Mutant(.aReadTakesTheOtherSlot, "realtime-path", [.invariant("P2.reads-grow")], at: "publish.word"),
        Mutant(.aVersionIsToldBeforeItsChange, "torn-reads", [.invariant("P2.never-backwards")]),
        Mutant(.aHopDoesNotReachItsActor, "actor-order", [.crash]),
        Mutant(.anIteratorLeavesItsActor, "sequence-cancellation", [.invariant("P2.stays-on-its-actor")]),
        Mutant(.aRepeatedSettingIsSwallowed, "weak-referent-death", [.invariant("P2.weak-chain")]),
        Mutant(.aSetBringsBackWhatWasThere, "two-way-binding", [.invariant("P3.last-update")]),
        Mutant(.aBodyRunsOutsideTheLock, "parked-in-modify", [.invariant("P5.earlier-value")]),
        Mutant(.anEndLeavesMemoryBehind, "stuck-callback", [.invariant("P7.memory")]),
        Mutant(
            .aDyingReferentIsRead,
            "weak-referent-death",
            [.invariant("P11.alive-when-read")],
            at: "weak.died"
        ),
        Mutant(.anOwnerIsCalledWhenItIsDead, "owner-death", [.invariant("P13.not-after-deinit")]),
        Mutant(
            .aLateListenerIsOverlooked,
            "registry-death",
            [.invariant("P12.end-once")],
            at: "finish.mark",
            .seconds(30)
        ),
        // Faults
        Mutant(.aForkIsNotWoken, "forking", [.hang]),
        Mutant(
            .aChildTidiesWhatIsOnStacksThatItDoesNotHave,
            "forking-sources",
            [.invariant("P18.child-stacks"), .invariant("P18.child-goes-on")]
        ),
        Mutant(.aForkForsakesItsOwnThreadsItem, "forking-sources", [.invariant("P18.child-finishes")]),
        Mutant(
            .aForkTrustsForeignCounts,
            "registration-churn",
            [.invariant("P18.child-counts")],
            at: "retire.pushed",
            faults: .fork
        ),
        Mutant(.aForkReusesEveryRecord, "registration-churn", [.invariant("P18.child-goes-on")], faults: .fork),
        Mutant(
            .aThreadThatExitsInsideACallbackIsNotNoticed,
            "registration-churn",
            [.invariant("P17.new-thread")],
            faults: .fork
        ),
        Mutant(
            .aBlockedSourcesThreadsDoNotPause,
            "cancellation-flood",
            [.invariant("P16.backlog-bounded")],
            faults: .stuckDeinit,
            .seconds(60)
        ),
        Mutant(
            .aWaiterAsksOnceForAThread,
            "registration-churn",
            [.invariant("P18.child-goes-on")],
            faults: .fork,
            .seconds(30)
        ),
        Mutant(.aFailingBarrierIsNotRepeated, "cancellation-races", [.crash], faults: .failBarrier),
        Mutant(
            .aFailingBarrierIsPassedOver,
            "cancellation-races",
            [.invariant("P9.barrier-repeated")],
            faults: .failBarrier
        ),
        // Sanitizers
        Mutant(.gracePeriodDoesNothing, "notification-storm", [.report(.address)], at: "walk.head", .seconds(60)),
        Mutant(.aSourcesEndForgetsItsObservers, "registry-death", [.report(.address)], .seconds(60)),
        // Not under ThreadSanitizer: the one thing that a walk reads is its table, and that memory is another table's at once, whose makers
        // synchronise with the walker.
        Mutant(
            .aValueIsReadAfterTheReadSection,
            "torn-reads",
            [.report(.address)],
            at: "read.box",
            .seconds(60)
        ),
        Mutant(.aNotificationAllocates, "realtime-path", [.report(.realtime)]),
        Mutant(.aNotificationTakesALock, "realtime-path", [.report(.realtime)]),
        Mutant(.relaxedPublish, "notification-storm", [.report(.thread)], isPerturbed: false, .seconds(60)),
    ]

    private static let calledTooLate: [Catcher] = [
        .invariant("P14.not-while-called"), .invariant("P9.nothing-after-wait"), .crash,
    ]
    /// The memory of a table that is reclaimed too early may be another table's when the walk goes on: it then delivers from that one.
    private static let tableInUse: [Catcher] = [
        .invariant("memory.table-in-use"), .invariant("P1.exactly-once"), .crash,
    ]

    private init(
        _ bug: SeededBug,
        _ scenario: String,
        _ catchers: [Catcher],
        at point: StaticString? = nil,
        isPerturbed: Bool = true,
        faults: PerturbationKinds = [],
        _ budget: Duration = .seconds(10)
    ) {
        self.init(
            bug: bug,
            scenario: scenario,
            catchers: catchers,
            point: point,
            isPerturbed: isPerturbed,
            faults: faults,
            budget: budget
        )
    }
}
#endif
