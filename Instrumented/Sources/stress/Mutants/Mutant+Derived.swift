// SPDX-License-Identifier: Apache-2.0

extension Mutant {
    /// Bugs of derived values.
    static let derived: [Mutant] = [
        Mutant(
            .anEvaluationOfMixedVersionsIsPublished,
            "derived-graphs",
            [.invariant("P23.no-mixture")],
            at: "derived.read"
        ),
        Mutant(
            .aDerivedValueStaysStale,
            "derived-graphs",
            [.invariant("P22.current"), .invariant("P24.nothing-lost")]
        ),
        Mutant(
            .aDerivedReadIsTorn,
            "derived-graphs",
            [.invariant("P23.no-mixture")],
            at: "derived.look"
        ),
        Mutant(.aLateResultReplacesANewerOne, "async-runs", [.invariant("P22.async-order")]),
        Mutant(.aChangeLeavesTheEarlierResult, "async-runs", [.invariant("P22.async-pending")]),
        Mutant(
            .aLateStartOvertakesANewerOne,
            "async-runs",
            [.invariant("P22.async-last"), .invariant("P22.async-order")]
        ),
        Mutant(.anObserverThatComesLateGetsNoRun, "runs-while-observed", [.invariant("P24.run-begins")]),
        Mutant(.aRunBeginsBesideAnother, "runs-while-observed", [.invariant("P24.one-run")]),
        Mutant(.anObserverAtARunsEndIsForgotten, "runs-while-observed", [.invariant("P24.run-begins")]),
        Mutant(.theLastObserverCancelsNothing, "runs-while-observed", [.invariant("P24.run-ends")]),
        Mutant(.aDepartureBeforeTheWaitIsMissed, "runs-while-observed", [.invariant("P24.run-ends")]),
        Mutant(.anEqualResultIsAChange, "derived-graphs", [.invariant("P24.silent-when-equal")]),
        Mutant(.anErrorStays, "derived-graphs", [.invariant("P25.errors")]),
        Mutant(.aValueComesFromItsOwnError, "random-rings", [.invariant("P22.ring-value")]),
        Mutant(.aRingsHeadHasAValue, "random-rings", [.invariant("P25.ring-has-error")]),
        Mutant(
            .aRingIsNotEvaluatedAgain,
            "random-rings",
            [.invariant("P25.same-again"), .invariant("P22.ring-value")]
        ),
        Mutant(.aMemberWithAResultDoesNotCutItsRing, "random-rings", [.invariant("P25.same-again")]),
        Mutant(.aRingIsCountedAsAMixture, "random-rings", [.crash]),
        Mutant(.aMembersOwnChangesNeverEnd, "random-rings", [.invariant("P25.ends")]),
        Mutant(.anErrorOfNoRingStays, "random-rings", [.invariant("P25.error-in-ring")]),
        Mutant(
            .aStaleResultIsCommitted,
            "derived-graphs",
            [
                .invariant("P2.derived-order"), .invariant("P24.silent-when-equal"), .invariant("P2.derived-versions"),
                .invariant("P24.nothing-lost"),
            ],
            at: "derived.collected"
        ),
        Mutant(.aMarkIsLost, "derived-graphs", [.invariant("P24.nothing-lost"), .invariant("P24.links")]),
        Mutant(
            .aChangeDuringAnEvaluationIsForgotten,
            "derived-graphs",
            [.invariant("P24.nothing-lost"), .invariant("P24.links"), .invariant("P2.derived-versions")],
            at: "derived.link",
            .seconds(30)
        ),
        Mutant(
            .whatIsNewlyLinkedIsNotLookedAt,
            "derived-graphs",
            [.model("the change must be the last before rest, and come between an evaluation and its link")]
        ),
        Mutant(.aLinkToAnUnusedSourceStays, "derived-graphs", [.invariant("P24.links")]),
        Mutant(
            .aDerivedValueStaysLinked,
            "derived-graphs",
            [.invariant("P24.links-end"), .invariant("P24.links"), .invariant("P14.nothing-left")]
        ),
        Mutant(
            .aPublishedResultIsNotAnnounced,
            "derived-graphs",
            [.invariant("P2.derived-versions"), .invariant("P24.nothing-lost")],
            at: "derived.deliver"
        ),
        Mutant(
            .aDerivedValueIsUnlinkedLate,
            "derived-graphs",
            [.model("at rest the links have ended; the explorer looks when cancel() returns")]
        ),
        Mutant(.anObservationDoesNotKeepItsDerivedValue, "derived-graphs", [.invariant("P11.derived-kept")]),
        Mutant(.aDerivedValueIsRetainedByItsSources, "derived-graphs", [.invariant("P12.derived-death")]),
        Mutant(.copiesAreTakenOneByOne, "derived-uses", [.model("few evaluations come to need copies")]),
        Mutant(.aResultOfCopiesIsNotKept, "derived-uses", [.invariant("P24.once-on-copies")]),
        Mutant(.failuresInsideAreNotCounted, "derived-uses", [.invariant("P25.ends")]),
        Mutant(.anEvaluationGoesOnForNoObserver, "derived-uses", [.invariant("P25.ends")]),
        Mutant(.copiesDoNotKeepReferents, "derived-uses", [.invariant("P23.no-mixture")]),
        Mutant(.resultsAreComparedUnderTheLock, "derived-graphs", [.invariant("P5.no-lock-around-user-code")]),
    ]
}
