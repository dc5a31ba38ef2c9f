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
                "P2.versions-without-gaps", "P2.old-is-last-new",
                "P1.every-change-once", "P1.own-observer-receives", .crash,
            ]
        ),
        Mutant(.oldAndNewAreSwapped, "mutation-storm", ["P2.old-is-last-new", "P1.own-observer-receives"]),
        Mutant(.aReadIsTorn, "torn-reads", ["P2.whole-value", "P2.version-fits"], at: "read.word"),
        Mutant(.aValueIsReadAfterItsPin, "torn-reads", readTooLate, at: "read.pinned"),
        Mutant(.aPinIsNotValidated, "torn-reads", readTooLate, at: "read.loaded"),
        Mutant(.aValueIsNotPinned, "torn-reads", readTooLate),
        Mutant(.pinsOfCopiesAreNotScanned, "torn-reads", readTooLate, at: "read.pinned"),
        Mutant(.aMagazineIsReleasedUnseen, "magazines", readTooLate),
        Mutant(.boxesAreSweptWhileTheyAreUsed, "magazines", readTooLate, at: "boxes.take", .seconds(60)),
        Mutant(.aReferenceIsTakenTwice, "magazines", readTooLate, at: "magazine.copied", .seconds(60)),
        Mutant(.anOldHeadIsTrusted, "magazines", [.crash], at: "magazine.head", .seconds(60)),
        Mutant(.aMagazineIsNotNoticed, "magazines", ["P14.swept"]),
        Mutant(.anIdleThreadsMagazineStays, "magazines", ["P14.swept", "P16.backlog-drains"]),
        Mutant(.aRingIsNotNoticed, "magazines", ["P14.swept"]),
        Mutant(
            .aChangeBetweenInitialAndRegistrationIsMissed,
            "initial-against-writers",
            ["P4.nothing-between"],
            at: "initial.sampled"
        ),
        Mutant(
            .aBodyDoesNotWaitForRegistrations,
            "initial-against-writers",
            ["P4.nothing-between"],
            at: "register.since",
            .seconds(30)
        ),
        Mutant(.anEarlierChangeIsDelivered, "initial-against-writers", ["P4.nothing-earlier"], at: "set.published"),
        Mutant(.theLatestStartIsNotNoted, "initial-against-writers", ["P4.nothing-earlier"], at: "set.published"),
        Mutant(
            .theLatestStartIsReadBeforeTheCount,
            "initial-against-writers",
            ["P4.nothing-earlier"],
            at: "walk.count"
        ),
        Mutant(.anEndIsDeliveredTwice, "property-death", ["P12.end-once"]),
        Mutant(.anEndIsDeliveredBeforeTheLastCall, "property-death", ["P12.end-last"]),
        Mutant(.sourceDeathLeaksTheClosures, "property-death", ["P12.end-once", "P14.destroyed-once", .hang]),
        Mutant(.aPropertysDeathLeaksItsValue, "property-death", ["P14.value-destroyed"]),
        Mutant(.aValueIsDestroyedUnderALock, "value-destruction", ["P5.no-lock-around-user-code", .hang]),
        Mutant(.aValueIsDestroyedTwice, "value-destruction", ["P14.value-destroyed", .crash]),
        Mutant(.aValueIsDestroyedByItsWriter, "value-destruction", ["P5.not-on-another-writer", "P14.not-while-read"]),
        Mutant(
            .everyBoxedValueIsTakenForInert,
            "value-destruction",
            ["P5.not-on-another-writer", "P5.not-on-the-reclamation-thread"]
        ),
        Mutant(.aBodysErrorPublishesItsValue, "parked-in-modify", ["P5.throw-publishes-nothing"]),
        Mutant(.aComparisonIsNotRepeated, "compare-exchange", ["P2.no-lost-update"], at: "compare.equal"),
        // Weak properties
        Mutant(.aReferentsDeathGoesUnnoticed, "weak-referent-death", ["P12.inline-nil", "P12.nil-once"]),
        Mutant(
            .aDeadReferentClearsItsSuccessor,
            "weak-referent-death",
            ["P12.successor-stays", "P12.nil-once"],
            at: "weak.died"
        ),
        Mutant(.aWeakPropertyKeepsItsReferent, "weak-referent-death", ["P11.not-retained"]),
        Mutant(.aMailboxKeepsReferents, "weak-referent-death", ["P11.not-retained"]),
        Mutant(.aRepeatedSetIsDropped, "weak-referent-death", ["P2.weak-chain"]),
        Mutant(.aDyingReferentIsRead, "weak-referent-death", ["P11.alive-when-read"], at: "weak.died"),
        Mutant(.aReplacedReferentIsReadAsNil, "weak-referent-death", ["P2.never-nil"], at: "weak.read"),
        // One bug for each remaining invariant
        Mutant(.everyObserverReceivesPriorDeliveries, "mutation-storm", ["P2.as-asked"]),
        Mutant(.aPriorDeliveryIsMissing, "mutation-storm", ["P2.prior-ahead"]),
        Mutant(.theInitialValueIsDeliveredTwice, "initial-against-writers", ["P4.initial-once"]),
        Mutant(.theInitialVersionIsWrong, "initial-against-writers", ["P4.initial-value"]),
        Mutant(.cancelAndWaitInACallbackWaits, "parked-in-modify", ["P5.deferred-in-body"]),
        Mutant(.aCancellationHasNoEffect, "property-death", ["P12.reason"]),
        Mutant(.drainInACallbackIsNotDeferred, "compare-exchange", ["P5.deferred-in-comparison"]),
        Mutant(.anExchangeReturnsItsNewValue, "compare-exchange", ["P2.each-value-once"]),
        Mutant(.aVersionIsVisibleBeforeItsChange, "torn-reads", ["P2.never-backwards"]),
        Mutant(.aBodyRunsOutsideTheLock, "parked-in-modify", ["P5.earlier-value"]),
    ]
}
