// SPDX-License-Identifier: Apache-2.0

extension Mutant {
    /// Bugs of commits and snapshots.
    static let transactions: [Mutant] = [
        Mutant(
            .aCommitIsPublishedInParts,
            "transactions",
            [
                .invariant("P19.one-seen-all-seen"), .invariant("P20.present-together"),
                .invariant("P19.never-backwards"),
            ],
            at: "commit.prepared"
        ),
        Mutant(
            .aPreparedVersionCountsAsCommitted,
            "transactions",
            [
                .invariant("P19.one-seen-all-seen"), .invariant("P20.present-together"),
                .invariant("P19.never-backwards"),
            ],
            at: "commit.prepared"
        ),
        Mutant(
            .aCommitsDecisionIsResetTooEarly,
            "transactions",
            [
                .invariant("P19.one-seen-all-seen"), .invariant("P20.present-together"),
                .invariant("P19.never-backwards"), .invariant("P2.version-fits"),
                // The group reads the changes for its observers after the decision.
                .invariant("P21.whole"), .invariant("P21.once"),
            ],
            at: "commit.decided"
        ),
        Mutant(
            .aPreparedMarkIsLeftBehind,
            "transactions",
            [
                .invariant("P2.version-fits"), .invariant("P20.present-together"), .invariant("P19.never-backwards"),
                .invariant("P19.one-seen-all-seen"), .invariant("P2.versions-without-gaps"), .crash, .hang,
            ]
        ),
        Mutant(.aMemberLeftAloneIsNumbered, "transactions", [.invariant("P19.left-alone")]),
        Mutant(
            .aCommitsErrorPublishesItsDrafts,
            "transactions",
            [
                .invariant("P19.throw-publishes-nothing"), .invariant("P20.present-together"),
                .invariant("P2.version-fits"), .crash,
            ]
        ),
        Mutant(
            .aSnapshotCollectsVersionsOnce,
            "transactions",
            [.invariant("P20.present-together")],
            at: "read.copied"
        ),
        Mutant(.aCommitIsDeliveredInParts, "transactions", [.invariant("P21.whole"), .invariant("P21.once")]),
        Mutant(.aCombinationGoesOnWithoutAMember, "transactions", [.invariant("P21.whole")]),
        Mutant(.aCommitNumbersItsChangesApart, "transactions", [.invariant("P21.one-number")]),
        Mutant(.aCommitIsDeliveredTwice, "transactions", [.invariant("P21.once")]),
        Mutant(
            .aPropertyThatIsReadIsReleasedEarly,
            "transactions",
            [.invariant("P19.read-held-still")],
            at: "commit.prepared"
        ),
        Mutant(.aDraftThatIsSetAgainIsLeaked, "transactions", [.invariant("P14.nothing-left")]),
        Mutant(.aCommitDropsItsReferentsEarly, "transactions", [.invariant("P12.nil-once")]),
        Mutant(
            .aPathsLinksAreNotCheckedAgain,
            "transaction-paths",
            [.invariant("P19.path-held-still"), .crash],
            at: "commit.traced"
        ),
        Mutant(.aGroupGoesOnWithoutAPathsRoot, "transaction-paths", [.invariant("P21.whole")]),
        Mutant(.aPathReceivesACommitInParts, "transaction-paths", [.invariant("P21.once")]),
        Mutant(.aSnapshotHoldsOffForABody, "parked-in-commit", [.invariant("P20.no-fallback-for-a-body")]),
    ]
}
