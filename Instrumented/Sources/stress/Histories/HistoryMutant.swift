// SPDX-License-Identifier: Apache-2.0

/// A seeded bug that histories must show. No invariant is made for it.
struct HistoryMutant: Sendable {
    let bug: SeededBug
    /// The name of the subject whose histories show it.
    let subject: String

    static let all: [HistoryMutant] = [
        // No invariant of a scenario finds this bug.
        HistoryMutant(bug: .aRemovalTakesTwoSteps, subject: "registry"),
        HistoryMutant(bug: .anEndIsNotCounted, subject: "registry"),
        HistoryMutant(bug: .aDeliveryIsDropped, subject: "registry"),
        HistoryMutant(bug: .aDeliveryIsRepeated, subject: "registry"),
        HistoryMutant(bug: .aTableIsRemovedBeforeTheNextIsPublished, subject: "registry"),
        HistoryMutant(bug: .anEndedTokenSaysItIsActive, subject: "registry"),
        HistoryMutant(bug: .aRemovalLeavesAnotherAlone, subject: "removals"),
        HistoryMutant(bug: .aComparisonIsNotRepeated, subject: "property-boxed"),
        HistoryMutant(bug: .aReadTakesTheOtherSlot, subject: "property-in-place"),
        HistoryMutant(bug: .aVersionIsHandedOutOutsideTheLock, subject: "property-in-place"),
        HistoryMutant(bug: .aVersionIsVisibleBeforeItsChange, subject: "property-in-place"),
        HistoryMutant(bug: .anExchangeReturnsItsNewValue, subject: "property-in-place"),
        HistoryMutant(bug: .aBodyRunsOutsideTheLock, subject: "property-in-place"),
    ]
}
