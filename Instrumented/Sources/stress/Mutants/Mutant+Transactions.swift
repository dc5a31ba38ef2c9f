// SPDX-License-Identifier: Apache-2.0

extension Mutant {
    /// Bugs of commits and snapshots.
    static let transactions: [Mutant] = [
        Mutant(
            .aCommitIsPublishedInParts,
            "transactions",
            ["P19.one-seen-all-seen", "P20.present-together", "P19.never-backwards"],
            at: "commit.prepared"
        ),
        Mutant(
            .aPreparedVersionCountsAsCommitted,
            "transactions",
            ["P19.one-seen-all-seen", "P20.present-together", "P19.never-backwards"],
            at: "commit.prepared"
        ),
        Mutant(
            .aCommitsDecisionIsResetTooEarly,
            "transactions",
            [
                "P19.one-seen-all-seen", "P20.present-together",
                "P19.never-backwards", "P2.version-fits",
                // The group reads the changes for its observers after the decision.
                "P21.whole", "P21.once",
            ],
            at: "commit.decided"
        ),
        Mutant(
            .aPreparedMarkIsLeftBehind,
            "transactions",
            [
                "P2.version-fits", "P20.present-together", "P19.never-backwards",
                "P19.one-seen-all-seen", "P2.versions-without-gaps", .crash, .hang,
            ]
        ),
        Mutant(.aMemberLeftAloneIsNumbered, "transactions", ["P19.left-alone"]),
        Mutant(
            .aCommitsErrorPublishesItsDrafts,
            "transactions",
            ["P19.throw-publishes-nothing", "P20.present-together", "P2.version-fits", .crash]
        ),
        Mutant(.aSnapshotCollectsVersionsOnce, "transactions", ["P20.present-together"], at: "read.copied"),
        Mutant(.aCommitIsDeliveredInParts, "transactions", ["P21.whole", "P21.once"]),
        Mutant(.aCombinationGoesOnWithoutAMember, "transactions", ["P21.whole"]),
        Mutant(.aCommitNumbersItsChangesApart, "transactions", ["P21.one-number"]),
        Mutant(.aCommitIsDeliveredTwice, "transactions", ["P21.once"]),
        Mutant(.aPropertyThatIsReadIsReleasedEarly, "transactions", ["P19.read-held-still"], at: "commit.prepared"),
        Mutant(.aDraftThatIsSetAgainIsLeaked, "transactions", ["P14.nothing-left"]),
        Mutant(.aCommitDropsItsReferentsEarly, "transactions", ["P12.nil-once"]),
        Mutant(
            .aPathsLinksAreNotCheckedAgain,
            "transaction-paths",
            ["P19.path-held-still", .crash],
            at: "commit.traced"
        ),
        Mutant(.aGroupGoesOnWithoutAPathsRoot, "transaction-paths", ["P21.whole"]),
        Mutant(.aPathReceivesACommitInParts, "transaction-paths", ["P21.once"]),
        Mutant(.aSnapshotHoldsOffForABody, "parked-in-commit", ["P20.no-fallback-for-a-body"]),
    ]
}
