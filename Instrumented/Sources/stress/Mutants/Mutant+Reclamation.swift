// SPDX-License-Identifier: Apache-2.0

extension Mutant {
    /// Bugs of reclamation: the end of a source, the destruction of closures, and the progress of
    /// the library's threads.
    static let reclamation: [Mutant] = [
        // Destruction
        Mutant(.aCoreIsLoadedInTwoSteps, "registry-death", [.crash, .hang], at: "observer.home", .seconds(60)),
        Mutant(.anObserverIsRecycledTooEarly, "registry-death", ["P12.inactive", .crash]),
        Mutant(.closureIsDestroyedTwice, "destruction", [.crash, "P14.destroyed-once", "P9.closure-destroyed"]),
        Mutant(.closureIsDestroyedUnderTheLock, "destruction", ["P5.no-lock-around-user-code", .hang]),
        Mutant(.sourceDeathLeaksTheClosures, "registry-death", ["P12.end-once", "P14.destroyed-once"]),
        Mutant(.tokenStaysActiveAfterSourceDeath, "registry-death", ["P12.inactive", .crash]),
        Mutant(.anEndIsDeliveredTwice, "registry-death", ["P12.end-once"]),
        Mutant(.ownersDeathGoesUnnoticed, "owner-death", ["P13.death-noticed"]),
        Mutant(.aMemberDoesNotNoticeADeadOwner, "owner-death", ["P13.death-noticed"]),
        Mutant(.aForgottenOwnerCountsAsAlive, "owner-death", ["P13.death-noticed"]),
        Mutant(.anEndedObservationKeepsItsOwnersMemory, "owner-death", ["P13.nothing-kept"]),
        Mutant(.anOwnerIsKnownByItsAddress, "owner-death", ["P13.death-is-no-cancellation"]),
        // Progress
        Mutant(
            .theReclamationThreadsWakeUpIsLost,
            "destruction",
            ["P14.destroyed-once", "P14.prompt", "P16.backlog-drains"]
        ),
        Mutant(.backlogIsUnbounded, "cancellation-flood", ["P16.backlog-bounded"]),
        Mutant(.oneQueueServesAllSources, "slow-neighbours", ["P14.others-first"], .seconds(30)),
        Mutant(.aBlockedSourcesThreadsDoNotPause, "blocked-source", ["P16.blocked-source-pauses"], .seconds(30)),
        Mutant(.aSourceHasOneThread, "blocked-source", ["P14.behind-a-blocked-one"], .seconds(30)),
        Mutant(.oneSourceHasAllThreads, "blocked-source", ["P14.others-are-destroyed"], .seconds(30)),
        Mutant(.aWaiterAsksOnceForAThread, "thread-famine", ["P9.famine-ends"], .seconds(30)),
        Mutant(.onlyTheFirstItemAsksForAThread, "thread-famine", ["P14.after-a-famine"], .seconds(30)),
        Mutant(.exitingThreadsRecordLeaks, "thread-churn", ["P17.records-return"]),
        // One bug for each remaining invariant
        Mutant(.aDeliveryIsDropped, "thread-churn", ["P17.exiting-thread-receives"]),
        Mutant(.cancelAndWaitInACallbackWaits, "destruction", ["P5.deferred-in-deinit"]),
        Mutant(.aClosureIsDestroyedByItsCanceller, "destruction", ["P5.not-on-the-canceller"]),
        Mutant(.aRunningCallbackIsNotSeen, "stuck-callback", ["P7.diagnosed"]),
        Mutant(.aRunningCallbackHoldsAllClosures, "stuck-callback", ["P7.others-are-destroyed"]),
        Mutant(.cancelAndWaitWaitsForOthers, "stuck-callback", ["P7.others-are-waited-for"]),
        Mutant(.anEndLeavesMemoryBehind, "stuck-callback", ["P7.memory"]),
    ]
}
