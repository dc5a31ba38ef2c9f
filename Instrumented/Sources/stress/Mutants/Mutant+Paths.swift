// SPDX-License-Identifier: Apache-2.0

extension Mutant {
    /// Bugs of paths over several properties, and of combinations of paths.
    static let paths: [Mutant] = [
        Mutant(
            .aChangeAfterTheCutIsDelivered,
            "path-relinking",
            ["P2.path-versions", "P2.path-chain", "P3.path-converges"]
        ),
        Mutant(
            .aRelinkIsLost,
            "path-relinking",
            ["P3.path-converges", "P2.path-chain", "P1.received-from-a-callback"]
        ),
        Mutant(.racingReplacementsAreNotHandedOn, "path-relinking", ["P3.path-converges"]),
        Mutant(.pathsAreNotifiedWhileOthersAreRelinked, "path-relinking", ["P1.received-from-a-callback"]),
        Mutant(.aReferentIsReleasedWhilePathsAreRelinked, "path-relinking", ["P5.relinked-before-a-deinit"]),
        Mutant(.aPathsNewValueArrivesBeforeItsCause, "path-relinking", ["P2.in-order-on-one-thread"]),
        Mutant(.aCombinationIsReadOutsideTheLock, "combinations", ["P2.combined-order", "P3.combination"]),
        Mutant(.aCombinationChangesBeforeItIsObserved, "combinations", ["P2.combined-versions", "P4.initial-first"]),
        Mutant(.aCombinationTakesAnOlderChange, "combinations", ["P2.combined-order", "P3.combination"]),
        Mutant(.twoDeliverAtOnce, "combinations", ["P2.combined-versions", .crash], at: "mailbox.taken"),
        Mutant(.aPathsEndDoesNotWait, "path-death", ["P1.received-before-the-end"], at: "visit.marked"),
        Mutant(.anEndIsDeliveredBeforeTheLastCall, "path-death", ["P12.path-end-last"]),
        Mutant(.aRemovalForgetsThePaths, "bulk-removal", ["P8.silent-after-removal"]),
        Mutant(.cancelAndWaitDoesNotWait, "path-death", ["P9.silent-path", "P14.nothing-left"], .seconds(60)),
    ]
}
