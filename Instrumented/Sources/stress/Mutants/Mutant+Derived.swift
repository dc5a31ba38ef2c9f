// SPDX-License-Identifier: Apache-2.0

extension Mutant {
    /// Bugs of derived values.
    static let derived: [Mutant] = [
        Mutant(.anEvaluationOfMixedVersionsIsPublished, "derived-graphs", ["P23.no-mixture"], at: "derived.read"),
        Mutant(.aDerivedValueStaysStale, "derived-graphs", ["P22.current", "P24.nothing-lost"]),
        Mutant(.aDerivedReadIsTorn, "derived-graphs", ["P23.no-mixture"], at: "derived.look"),
        Mutant(.aLateResultReplacesANewerOne, "async-runs", ["P22.async-order"]),
        Mutant(.aChangeLeavesTheEarlierResult, "async-runs", ["P22.async-pending"]),
        Mutant(.aLateStartOvertakesANewerOne, "async-runs", ["P22.async-last", "P22.async-order"]),
        Mutant(.anObserverThatComesLateGetsNoRun, "runs-while-observed", ["P24.run-begins"]),
        Mutant(.aRunBeginsBesideAnother, "runs-while-observed", ["P24.one-run"]),
        Mutant(.anObserverAtARunsEndIsForgotten, "runs-while-observed", ["P24.run-begins"], .seconds(30)),
        Mutant(.theLastObserverCancelsNothing, "runs-while-observed", ["P24.run-ends"]),
        Mutant(.aDepartureBeforeTheWaitIsMissed, "runs-while-observed", ["P24.run-ends"]),
        Mutant(.anEqualResultIsAChange, "derived-graphs", ["P24.silent-when-equal"]),
        Mutant(.anErrorStays, "derived-graphs", ["P25.errors"]),
        Mutant(.aValueComesFromItsOwnError, "random-rings", ["P22.ring-value"]),
        Mutant(.aRingsHeadHasAValue, "random-rings", ["P25.ring-has-error"]),
        Mutant(.aRingIsNotEvaluatedAgain, "random-rings", ["P25.same-again", "P22.ring-value"]),
        Mutant(.aMemberWithAResultDoesNotCutItsRing, "random-rings", ["P25.same-again"]),
        Mutant(.aRingIsCountedAsAMixture, "random-rings", [.crash]),
        Mutant(.aMembersOwnChangesNeverEnd, "random-rings", ["P25.ends"]),
        Mutant(.aRingIsEvaluatedAgainAfterALoss, "random-rings", ["P25.ends"]),
        Mutant(.anErrorOfNoRingStays, "random-rings", ["P25.error-in-ring"]),
        Mutant(
            .aStaleResultIsCommitted,
            "derived-graphs",
            ["P2.derived-order", "P24.silent-when-equal", "P2.derived-versions", "P24.nothing-lost"],
            at: "derived.collected"
        ),
        Mutant(.aMarkIsLost, "derived-graphs", ["P24.nothing-lost", "P24.links"]),
        Mutant(
            .aChangeDuringAnEvaluationIsForgotten,
            "derived-graphs",
            ["P24.nothing-lost", "P24.links", "P2.derived-versions"],
            at: "derived.link",
            .seconds(30)
        ),
        Mutant(
            .whatIsNewlyLinkedIsNotLookedAt,
            "derived-graphs",
            [.model("the change must be the last before rest, and come between an evaluation and its link")]
        ),
        Mutant(.aLinkToAnUnusedSourceStays, "derived-graphs", ["P24.links"]),
        Mutant(.aDerivedValueStaysLinked, "derived-graphs", ["P24.links-end", "P24.links", "P14.nothing-left"]),
        Mutant(
            .aPublishedResultIsNotAnnounced,
            "derived-graphs",
            ["P2.derived-versions", "P24.nothing-lost"],
            at: "derived.deliver"
        ),
        Mutant(
            .aDerivedValueIsUnlinkedLate,
            "derived-graphs",
            [.model("at rest the links have ended; the explorer looks when cancel() returns")]
        ),
        Mutant(.anObservationDoesNotKeepItsDerivedValue, "derived-graphs", ["P11.derived-kept"]),
        Mutant(.aDerivedValueIsRetainedByItsSources, "derived-graphs", ["P12.derived-death"]),
        Mutant(.copiesAreTakenOneByOne, "derived-uses", [.model("few evaluations come to need copies")]),
        Mutant(.aResultOfCopiesIsNotKept, "derived-uses", ["P24.once-on-copies"]),
        Mutant(.failuresInsideAreNotCounted, "derived-uses", ["P25.ends"]),
        Mutant(.anEvaluationGoesOnForNoObserver, "derived-uses", ["P25.ends"]),
        Mutant(.copiesDoNotKeepReferents, "derived-uses", ["P23.no-mixture"]),
        Mutant(.resultsAreComparedUnderTheLock, "derived-graphs", ["P5.no-lock-around-user-code"]),
    ]
}
