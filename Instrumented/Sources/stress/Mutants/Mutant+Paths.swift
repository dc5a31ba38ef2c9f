// SPDX-License-Identifier: Apache-2.0

extension Mutant {
    /// Bugs of paths over several properties, and of combinations of paths.
    static let paths: [Mutant] = [
        Mutant(
            .aChangeAfterTheCutIsDelivered,
            "path-relinking",
            [.invariant("P2.path-versions"), .invariant("P2.path-chain"), .invariant("P3.path-converges")]
        ),
        Mutant(
            .aRelinkIsLost,
            "path-relinking",
            [.invariant("P3.path-converges"), .invariant("P2.path-chain"), .invariant("P1.received-from-a-callback")]
        ),
        Mutant(.racingReplacementsAreNotHandedOn, "path-relinking", [.invariant("P3.path-converges")]),
        Mutant(.pathsAreNotifiedWhileOthersAreRelinked, "path-relinking", [.invariant("P1.received-from-a-callback")]),
        Mutant(
            .aReferentIsReleasedWhilePathsAreRelinked,
            "path-relinking",
            [.invariant("P5.relinked-before-a-deinit")]
        ),
        Mutant(
            .aPathsNewValueArrivesBeforeItsCause,
            "path-relinking",
            [.invariant("P2.in-order-on-one-thread")]
        ),
        Mutant(
            .aCombinationIsReadOutsideTheLock,
            "combinations",
            [.invariant("P2.combined-order"), .invariant("P3.combination")]
        ),
        Mutant(
            .aCombinationChangesBeforeItIsObserved,
            "combinations",
            [.invariant("P2.combined-versions"), .invariant("P4.initial-first")]
        ),
        Mutant(
            .aCombinationTakesAnOlderChange,
            "combinations",
            [.invariant("P2.combined-order"), .invariant("P3.combination")]
        ),
        Mutant(
            .twoDeliverAtOnce,
            "combinations",
            [.invariant("P2.combined-versions"), .crash],
            at: "mailbox.taken"
        ),
        Mutant(
            .aPathsEndDoesNotWait,
            "path-death",
            [.invariant("P1.received-before-the-end")],
            at: "visit.marked"
        ),
        Mutant(.anEndIsDeliveredBeforeTheLastCall, "path-death", [.invariant("P12.path-end-last")]),
        Mutant(.aRemovalForgetsThePaths, "bulk-removal", [.invariant("P8.silent-after-removal")]),
        Mutant(
            .cancelAndWaitDoesNotWait,
            "path-death",
            [.invariant("P9.silent-path"), .invariant("P14.nothing-left")],
            .seconds(60)
        ),
    ]
}
