// SPDX-License-Identifier: Apache-2.0

extension Mutant {
    /// Bugs of reclamation: the end of a source, the destruction of closures, and the progress of
    /// the library's threads.
    static let reclamation: [Mutant] = [
        // Destruction
        Mutant(.aCoreIsLoadedInTwoSteps, "registry-death", [.crash, .hang], at: "observer.home", .seconds(60)),
        Mutant(.anObserverIsRecycledTooEarly, "registry-death", [.invariant("P12.inactive"), .crash]),
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
        Mutant(.anEndIsDeliveredTwice, "registry-death", [.invariant("P12.end-once")]),
        Mutant(.ownersDeathGoesUnnoticed, "owner-death", [.invariant("P13.death-noticed")]),
        Mutant(.aMemberDoesNotNoticeADeadOwner, "owner-death", [.invariant("P13.death-noticed")]),
        Mutant(.aForgottenOwnerCountsAsAlive, "owner-death", [.invariant("P13.death-noticed")]),
        Mutant(.anEndedObservationKeepsItsOwnersMemory, "owner-death", [.invariant("P13.nothing-kept")]),
        Mutant(.anOwnerIsKnownByItsAddress, "owner-death", [.invariant("P13.death-is-no-cancellation")]),
        // Progress
        Mutant(
            .theReclamationThreadsWakeUpIsLost,
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
        Mutant(.aSourceHasOneThread, "blocked-source", [.invariant("P14.behind-a-blocked-one")], .seconds(30)),
        Mutant(.oneSourceHasAllThreads, "blocked-source", [.invariant("P14.others-are-destroyed")], .seconds(30)),
        Mutant(.aWaiterAsksOnceForAThread, "thread-famine", [.invariant("P9.famine-ends")], .seconds(30)),
        Mutant(.onlyTheFirstItemAsksForAThread, "thread-famine", [.invariant("P14.after-a-famine")], .seconds(30)),
        Mutant(.exitingThreadsRecordLeaks, "thread-churn", [.invariant("P17.records-return")]),
        // One bug for each remaining invariant
        Mutant(.aDeliveryIsDropped, "thread-churn", [.invariant("P17.exiting-thread-receives")]),
        Mutant(.cancelAndWaitInACallbackWaits, "destruction", [.invariant("P5.deferred-in-deinit")]),
        Mutant(.aClosureIsDestroyedByItsCanceller, "destruction", [.invariant("P5.not-on-the-canceller")]),
        Mutant(.aRunningCallbackIsNotSeen, "stuck-callback", [.invariant("P7.diagnosed")]),
        Mutant(.aRunningCallbackHoldsAllClosures, "stuck-callback", [.invariant("P7.others-are-destroyed")]),
        Mutant(.cancelAndWaitWaitsForOthers, "stuck-callback", [.invariant("P7.others-are-waited-for")]),
        Mutant(.anEndLeavesMemoryBehind, "stuck-callback", [.invariant("P7.memory")]),
    ]
}
