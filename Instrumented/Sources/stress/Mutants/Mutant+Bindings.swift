// SPDX-License-Identifier: Apache-2.0

extension Mutant {
    /// Bugs of one-way and two-way bindings.
    static let bindings: [Mutant] = [
        Mutant(.aBindingEchoes, "two-way-binding", ["P6.propagation-bounded"]),
        Mutant(.aChangePassesABindingTwice, "two-way-binding", ["P6.propagation-bounded"]),
        Mutant(.aCallbacksChangeIsTakenForABindings, "two-way-binding", ["P3.destination-follows"]),
        Mutant(.aGroupsChangePassesOnce, "two-way-binding", ["P6.propagation-bounded"]),
        Mutant(.aRelayedChangeIsTakenForACallbacks, "two-way-binding", ["P6.propagation-bounded"]),
        Mutant(
            .aBindingAppliesAnOlderChange,
            "two-way-binding",
            ["P3.destination-follows"],
            at: "bind.passing",
            .seconds(40)
        ),
        Mutant(.aBindingDecidesOutsideTheLock, "two-way-binding", ["P3.destination-follows"], at: "bind.passing"),
        Mutant(.anEchoThroughAPathIsTakenForNews, "two-way-binding", ["P3.no-echo"], at: "bind.passing"),
        Mutant(.aBindingUndoesALaterChange, "two-way-binding", ["P3.no-echo"], at: "bind.passing"),
        Mutant(.aBindingForgetsWhatCameRound, "two-way-binding", ["P3.destination-follows"]),
        Mutant(.aCancelledBindingUndoesAnothersChange, "two-way-binding", ["P3.destination-follows"]),
        Mutant(.aCorrectionStaysOnItsSide, "two-way-binding", ["P3.pair-converges"]),
        Mutant(.aPairForgetsThatItHasTransforms, "two-way-binding", ["P3.pair-converges"]),
        Mutant(
            .aPairAgreesOnOneSideAlone,
            "two-way-binding",
            ["P3.pair-converges"],
            at: "bind.published",
            .seconds(60)
        ),
        Mutant(
            .eachBindingOfAPairAgreesForItself,
            "two-way-binding",
            ["P3.pair-converges"],
            at: "bind.published",
            .seconds(30)
        ),
        Mutant(.aBindingRetainsItsDestination, "two-way-binding", ["P11.not-retained"]),
        Mutant(.anEndedBindingGoesOnBackwards, "two-way-binding", ["P9.nothing-after-wait"], at: "bind.passing"),
        Mutant(.aWayBackStandsAlone, "two-way-binding", ["P8.both-sides-end"]),
        Mutant(.aSetRestoresTheReplacedValue, "two-way-binding", ["P3.last-update"]),
    ]
}
