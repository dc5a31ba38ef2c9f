// SPDX-License-Identifier: Apache-2.0

extension Mutant {
    /// Bugs of properties: values, versions, bodies of `modify`, initial values, and weak
    /// properties.
    static let properties: [Mutant] = [
        // Properties
        Mutant(
            .aVersionIsHandedOutOutsideTheLock,
            "mutation-storm",
            [
                .invariant("P2.versions-without-gaps"), .invariant("P2.old-is-last-new"),
                .invariant("P1.every-change-once"), .invariant("P1.own-observer-receives"), .crash,
            ]
        ),
        Mutant(
            .oldAndNewAreSwapped,
            "mutation-storm",
            [.invariant("P2.old-is-last-new"), .invariant("P1.own-observer-receives")]
        ),
        Mutant(
            .aReadIsTorn,
            "torn-reads",
            [.invariant("P2.whole-value"), .invariant("P2.version-fits")],
            at: "read.word"
        ),
        Mutant(
            .aValueIsReadAfterItsPin,
            "torn-reads",
            [.invariant("P14.not-while-read"), .invariant("P2.whole-value"), .crash],
            at: "read.pinned"
        ),
        Mutant(
            .aPinIsNotValidated,
            "torn-reads",
            [.invariant("P14.not-while-read"), .invariant("P2.whole-value"), .crash],
            at: "read.loaded"
        ),
        Mutant(
            .aValueIsNotPinned,
            "torn-reads",
            [.invariant("P14.not-while-read"), .invariant("P2.whole-value"), .crash]
        ),
        Mutant(
            .pinsOfCopiesAreNotScanned,
            "torn-reads",
            [.invariant("P14.not-while-read"), .invariant("P2.whole-value"), .crash],
            at: "read.pinned"
        ),
        Mutant(
            .aMagazineIsReleasedUnseen,
            "magazines",
            [.invariant("P14.not-while-read"), .invariant("P2.whole-value"), .crash]
        ),
        Mutant(
            .boxesAreSweptWhileTheyAreUsed,
            "magazines",
            [.invariant("P14.not-while-read"), .invariant("P2.whole-value"), .crash],
            at: "boxes.take",
            .seconds(60)
        ),
        Mutant(
            .aReferenceIsTakenTwice,
            "magazines",
            [.invariant("P14.not-while-read"), .invariant("P2.whole-value"), .crash],
            at: "magazine.copied",
            .seconds(60)
        ),
        Mutant(.anOldHeadIsTrusted, "magazines", [.crash], at: "magazine.head", .seconds(60)),
        Mutant(.aMagazineIsNotNoticed, "magazines", [.invariant("P14.swept")]),
        Mutant(.anIdleThreadsMagazineStays, "magazines", [.invariant("P14.swept"), .invariant("P16.backlog-drains")]),
        Mutant(.aRingIsNotNoticed, "magazines", [.invariant("P14.swept")]),
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
        Mutant(
            .theLatestStartIsNotNoted,
            "initial-against-writers",
            [.invariant("P4.nothing-earlier")],
            at: "set.published"
        ),
        Mutant(
            .theLatestStartIsReadBeforeTheCount,
            "initial-against-writers",
            [.invariant("P4.nothing-earlier")],
            at: "walk.count"
        ),
        Mutant(.anEndIsDeliveredTwice, "property-death", [.invariant("P12.end-once")]),
        Mutant(.anEndIsDeliveredBeforeTheLastCall, "property-death", [.invariant("P12.end-last")]),
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
        Mutant(
            .everyBoxedValueIsTakenForInert,
            "value-destruction",
            [.invariant("P5.not-on-another-writer"), .invariant("P5.not-on-the-reclamation-thread")]
        ),
        Mutant(.aBodysErrorPublishesItsValue, "parked-in-modify", [.invariant("P5.throw-publishes-nothing")]),
        Mutant(
            .aComparisonIsNotRepeated,
            "compare-exchange",
            [.invariant("P2.no-lost-update")],
            at: "compare.equal"
        ),
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
        Mutant(.aRepeatedSetIsDropped, "weak-referent-death", [.invariant("P2.weak-chain")]),
        Mutant(
            .aDyingReferentIsRead,
            "weak-referent-death",
            [.invariant("P11.alive-when-read")],
            at: "weak.died"
        ),
        Mutant(
            .aReplacedReferentIsReadAsNil,
            "weak-referent-death",
            [.invariant("P2.never-nil")],
            at: "weak.read"
        ),
        // One bug for each remaining invariant
        Mutant(.everyObserverReceivesPriorDeliveries, "mutation-storm", [.invariant("P2.as-asked")]),
        Mutant(.aPriorDeliveryIsMissing, "mutation-storm", [.invariant("P2.prior-ahead")]),
        Mutant(.theInitialValueIsDeliveredTwice, "initial-against-writers", [.invariant("P4.initial-once")]),
        Mutant(.theInitialVersionIsWrong, "initial-against-writers", [.invariant("P4.initial-value")]),
        Mutant(.cancelAndWaitInACallbackWaits, "parked-in-modify", [.invariant("P5.deferred-in-body")]),
        Mutant(
            .aCancellationHasNoEffect,
            "property-death",
            [.invariant("P12.reason")]
        ),
        Mutant(.drainInACallbackIsNotDeferred, "compare-exchange", [.invariant("P5.deferred-in-comparison")]),
        Mutant(.anExchangeReturnsItsNewValue, "compare-exchange", [.invariant("P2.each-value-once")]),
        Mutant(.aVersionIsVisibleBeforeItsChange, "torn-reads", [.invariant("P2.never-backwards")]),
        Mutant(.aBodyRunsOutsideTheLock, "parked-in-modify", [.invariant("P5.earlier-value")]),
    ]
}
