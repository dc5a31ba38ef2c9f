// SPDX-License-Identifier: Apache-2.0

/// A seeded bug that the explorer must find, and the program that shows it. These are the races
/// that sequential consistency can show.
struct ExplorerMutant: Sendable {
    let bug: SeededBug
    let program: String
    /// The invariants that the bug must break.
    let invariants: [String]
    /// The faults that the search adds to the program.
    let faults: ExploredFaults

    private init(_ bug: SeededBug, _ program: String, faults: ExploredFaults = [], _ invariants: String...) {
        (self.bug, self.program, self.faults, self.invariants) = (bug, program, faults, invariants)
    }

    static let all = ofEveryBackend.filter { !SeededBug.absent.contains($0.bug) }

    static let ofEveryBackend: [ExplorerMutant] = [
        // Registration
        ExplorerMutant(.observeReturnsBeforePublishing, "register-notify-cancel", "P1.exactly-once"),
        ExplorerMutant(.appendPublishesTheCountFirst, "register-notify-cancel", "crash"),
        ExplorerMutant(.compactionLosesAnEntry, "append-compact-walk", "P1.exactly-once"),
        ExplorerMutant(.aTableIsRemovedBeforeTheNextIsPublished, "append-compact-walk", "P1.exactly-once"),
        // The end of one
        ExplorerMutant(.anEndIsSeenBeforeItsEntryEnds, "cancel-cancel-notify", "P8.silent-after-cancel"),
        ExplorerMutant(.markIsNotTested, "wait-notify", "P14.not-while-called"),
        ExplorerMutant(.markIsTestedBeforeCurrentIsStored, "wait-notify", "P14.not-while-called"),
        ExplorerMutant(.currentIsClearedBeforeTheCallback, "wait-notify", "P14.not-while-called"),
        ExplorerMutant(.cancelAndWaitDoesNotWait, "wait-notify", "P14.not-while-called"),
        ExplorerMutant(.currentObserversAreNotScanned, "register-notify-cancel", "P14.not-while-called"),
        ExplorerMutant(.reclaimAtOnce, "register-notify-cancel", "P14.not-while-called"),
        ExplorerMutant(.outerFramesAreSkipped, "wait-nested", "P14.not-while-called"),
        ExplorerMutant(.cancelAndWaitInACallbackWaits, "mutual-cancel", "progress.deadlock", "P9.deferred-in-callback"),
        // Commits
        ExplorerMutant(.locksAreTakenByDeclaration, "commit-commit", "progress.deadlock"),
        ExplorerMutant(.aCommitIsPublishedInParts, "commit-read", "P19.one-seen-all-seen", "P19.never-backwards"),
        ExplorerMutant(
            .aPreparedVersionCountsAsCommitted,
            "commit-read",
            "P19.one-seen-all-seen",
            "P19.never-backwards"
        ),
        ExplorerMutant(.aPreparedMarkIsLeftBehind, "commit-read", "P2.version-fits", "P2.versions-without-gaps"),
        ExplorerMutant(.aPropertyThatIsReadIsReleasedEarly, "commit-reading", "P19.read-held-still"),
        ExplorerMutant(.aSnapshotCollectsVersionsOnce, "commit-snapshot", "P20.present-together"),
        ExplorerMutant(.aCommitIsDeliveredInParts, "commit-observe", "P21.whole", "P21.once"),
        ExplorerMutant(.aCommitRelinksMemberByMember, "commit-relink", "P1.exactly-once"),
        ExplorerMutant(.aCombinationTakesAPartForTheWhole, "commit-remove", "P21.whole"),
        ExplorerMutant(.aCommitIsDeliveredTwice, "commit-observe", "P21.once"),
        // Bindings
        ExplorerMutant(.aPairAgreesOnOneSideAlone, "pair-commits", "P3.pair-converges"),
        ExplorerMutant(.anEndedBindingGoesOnBackwards, "pair-cancel", "P9.nothing-after-wait"),
        // Derived values
        ExplorerMutant(.anEvaluationOfMixedVersionsIsPublished, "derive-read-set", "P23.no-mixture"),
        ExplorerMutant(.anEvaluationOfMixedVersionsIsPublished, "derive-commit-read", "P23.no-mixture"),
        ExplorerMutant(.aDerivedValueStaysStale, "derive-read-set", "P22.current"),
        ExplorerMutant(.aDerivedReadIsTorn, "derive-read-read", "P23.no-mixture"),
        ExplorerMutant(.aStaleResultIsCommitted, "derive-observe-set", "P24.one-per-change"),
        ExplorerMutant(.aMarkIsLost, "derive-set-set", "P24.nothing-lost"),
        ExplorerMutant(.aChangeDuringAnEvaluationIsForgotten, "derive-set-set", "P24.nothing-lost"),
        ExplorerMutant(.aPublishedResultIsNotAnnounced, "derive-set-set", "P2.derived-versions"),
        ExplorerMutant(.aLinkToAnUnusedSourceStays, "derive-shape-set", "P24.links"),
        ExplorerMutant(.whatIsNewlyLinkedIsNotLookedAt, "derive-shape-set", "P24.nothing-lost"),
        ExplorerMutant(.aDerivedValueStaysLinked, "derive-cancel-set", "P24.links-end"),
        ExplorerMutant(.aDerivedValueIsUnlinkedLate, "derive-cancel-set", "P24.links-end"),
        ExplorerMutant(.anObservationDoesNotKeepItsDerivedValue, "derive-keep-set", "P11.derived-kept"),
        ExplorerMutant(.aDerivedValueIsRetainedByItsSources, "derive-death-set", "P12.derived-death"),
        ExplorerMutant(.copiesAreTakenOneByOne, "derive-copies", "P23.no-mixture"),
        ExplorerMutant(.aResultOfCopiesIsNotKept, "derive-copies-twice", "P24.once-on-copies"),
        ExplorerMutant(.anEvaluationHoldsALock, "derive-cross", "progress.deadlock"),
        ExplorerMutant(.aMixtureIsTakenForARing, "derive-cross", "crash"),
        ExplorerMutant(.aValueComesFromItsOwnError, "derive-ring", "P22.current", "P23.no-mixture"),
        ExplorerMutant(.aRingsHeadHasAValue, "derive-ring", "P22.current", "P23.no-mixture"),
        ExplorerMutant(.anErrorOfNoRingStays, "derive-ring-opens", "P22.current"),
        // Tables
        ExplorerMutant(.aReplacedTableKeepsItsWord, "grow-walk", "P14.not-while-called"),
        ExplorerMutant(.gracePeriodDoesNothing, "append-compact-walk", "memory.table-in-use"),
        ExplorerMutant(.pinsAreNotScanned, "append-compact-walk", "memory.table-in-use"),
        ExplorerMutant(.pinIsStoredAfterTheReadSection, "append-compact-walk", "memory.table-in-use"),
        ExplorerMutant(.aHeadIsNotLookedAtAgain, "append-compact-walk", "memory.table-in-use"),
        ExplorerMutant(.pinIsClearedBeforeTheWalkEnds, "append-compact-walk", "memory.table-in-use"),
        ExplorerMutant(.innerPassClearsTheOuterPin, "wait-nested", "memory.table-in-use"),
        // Destruction
        ExplorerMutant(.closureIsDestroyedTwice, "register-notify-cancel", "P14.destroyed-once"),
        ExplorerMutant(.closureIsDestroyedUnderTheLock, "register-notify-cancel", "P5.no-lock-around-user-code"),
        ExplorerMutant(.theReclamationThreadsWakeUpIsLost, "register-notify-cancel", "P14.destroyed-once"),
        ExplorerMutant(.sourceDeathLeaksTheClosures, "death-cancel", "P14.destroyed-once"),
        ExplorerMutant(.tokenStaysActiveAfterSourceDeath, "death-cancel", "P12.inactive", "crash"),
        ExplorerMutant(.anEndIsDeliveredTwice, "death-cancel", "P12.end-once"),
        ExplorerMutant(.aLateListenerIsNotNotified, "cancel-listen", "P12.end-once"),
        ExplorerMutant(.aRetiredItemIsCountedAfterItsPush, "cancel-count", faults: .noThread, "P16.backlog-counts"),
        // Properties
        ExplorerMutant(.aVersionIsHandedOutOutsideTheLock, "set-set-observe", "P1.every-change-once"),
        ExplorerMutant(.aChangeBetweenInitialAndRegistrationIsMissed, "set-set-observe", "P1.every-change-once"),
        ExplorerMutant(.anEarlierChangeIsDelivered, "set-set-observe", "P4.nothing-between"),
        ExplorerMutant(.theLatestStartIsNotNoted, "set-set-observe", "P4.nothing-between"),
        ExplorerMutant(.aBodyDoesNotWaitForRegistrations, "modify-observe", "P1.every-change-once"),
        ExplorerMutant(.aBodyLooksForRegistrationsTooEarly, "modify-observe", "P1.every-change-once"),
        ExplorerMutant(.aComparisonIsNotRepeated, "compare-exchange", "P2.no-lost-update"),
        ExplorerMutant(.aReadIsTorn, "torn-read", "P2.whole-value"),
        ExplorerMutant(.aValueIsReadAfterItsPin, "read-set", "P14.not-while-read"),
        ExplorerMutant(.aPinIsNotValidated, "read-set", "P14.not-while-read"),
        ExplorerMutant(.aValueIsNotPinned, "borrow-set", "P14.not-while-read"),
        ExplorerMutant(.pinsOfCopiesAreNotScanned, "read-set", "P14.not-while-read"),
        ExplorerMutant(.pinsAreNotScanned, "borrow-set", "P14.not-while-read"),
        ExplorerMutant(.aMagazineIsReleasedUnseen, "magazine", "P14.not-while-read"),
        ExplorerMutant(.aMagazineIsReleasedUnseen, "recycled-box", "P14.not-while-read", "P2.version-fits"),
        ExplorerMutant(.aPinIsNotValidated, "recycled-box", "P14.not-while-read", "P2.version-fits"),
        ExplorerMutant(.boxesAreSweptWhileTheyAreUsed, "recycled-box", "P14.value-destroyed", "P14.not-while-read"),
        ExplorerMutant(.aReferenceIsTakenTwice, "magazine-drain", "P14.value-destroyed"),
        ExplorerMutant(.aPinnedReferenceIsForgotten, "magazine", "P16.drained"),
        ExplorerMutant(.aDrainPassesOverReleases, "magazine-drain", "P16.drained"),
        ExplorerMutant(.aValueIsDestroyedByItsWriter, "borrow-set", "P14.not-while-read"),
        ExplorerMutant(.sourceDeathLeaksTheClosures, "property-death-cancel", "P14.destroyed-once"),
        ExplorerMutant(.anEndIsDeliveredTwice, "property-death-cancel", "P12.end-once"),
        // One at a time
        ExplorerMutant(.twoDeliverAtOnce, "serial-set-set", "P2.one-at-a-time"),
        ExplorerMutant(.aChangeIsEnqueuedOutsideTheLock, "serial-set-set", "P2.ordered"),
        ExplorerMutant(.aMailboxsWakeUpIsLost, "serial-set-set", "P1.ordered-once"),
        ExplorerMutant(.aDeliveryParksOutsideTheLock, "serial-set-set", "P1.ordered-once"),
        ExplorerMutant(.aSetterWaitsForABusyObserver, "serial-set-set", "progress.livelock"),
        // Bindings
        ExplorerMutant(.aBindingAppliesAnOlderChange, "bind-set-set", "P3.destination-follows"),
        ExplorerMutant(.aBindingDecidesOutsideTheLock, "bind-set-set", "P3.destination-follows"),
        ExplorerMutant(.aPairAgreesOnOneSideAlone, "bind-both-ways", "P3.pair-converges"),
        ExplorerMutant(.aBindingEchoes, "bind-both-ways", "P3.pair-converges"),
        ExplorerMutant(.anEchoThroughAPathIsTakenForNews, "bind-path-cycle", "P3.no-echo"),
        ExplorerMutant(.aBindingUndoesALaterChange, "bind-path-cycle", "P3.no-echo"),
        // Observations with several observers
        ExplorerMutant(.aRemovalBeforeTheBeginIsMissed, "group-cancel-all", "P8.begun-or-ended"),
        ExplorerMutant(.aRemovalLeavesAnotherAlone, "cancel-all-twice", "P8.ended-on-return"),
        ExplorerMutant(.aRemovalBeforeTheBeginIsMissed, "bind-cancel-all", "P8.begun-or-ended"),
        ExplorerMutant(.aWayBackStandsAlone, "bind-cancel-all", "P8.begun-or-ended"),
        // Faults
        ExplorerMutant(.aThreadThatExitsInsideACallbackIsNotNoticed, "exit-notify", "P17.exit-traps"),
        // Faults in programs that have none of their own
        ExplorerMutant(.aWaiterAsksOnceForAThread, "refused-cancel", faults: .noThread, "progress.deadlock"),
        ExplorerMutant(.aThreadThatExitsInsideACallbackIsNotNoticed, "modify-observe", faults: .exit, "P17.exit-traps"),
        // Paths, weak properties
        ExplorerMutant(.aChangeAfterTheCutIsDelivered, "path-relink-set", "P2.path-versions", "P3.converges"),
        ExplorerMutant(.aRelinkIsLost, "path-relink-set", "P3.converges"),
        ExplorerMutant(.aPathsEndDoesNotWait, "path-death-set", "P1.received-before-the-end"),
        ExplorerMutant(.aPathsChangesAreNotSortedByVersion, "serial-path-relink-set", "P2.ordered"),
        ExplorerMutant(.aDeadReferentClearsItsSuccessor, "weak-death-set", "P12.successor-stays"),
        ExplorerMutant(.aReplacedReferentIsReadAsNil, "weak-set-read", "P2.never-nil"),
    ]
}
