// SPDX-License-Identifier: Apache-2.0

/// The invariants that parts of the engine check, for the scenarios that use these parts.
extension Scenario {
    /// The invariants that ``Round/checkRest(liveObservers:)`` checks.
    static let checkedAtRest = ["P14.nothing-left", "P16.backlog-drains"]

    /// The invariants that the callbacks of each ``Subject`` check.
    static let checkedInCallbacks = [
        "P5.no-lock-around-user-code", "P9.nothing-after-wait", "P14.not-while-called",
    ]

    /// The invariants that ``Worker/cancelAndWait(_:)`` and ``Round/finish(_:destroyed:)`` check.
    static let checkedByWaits = ["P9.outcome", "P9.closure-destroyed", "P9.inactive"]

    /// The invariants that an ``OrderedWitness`` checks.
    static let checkedByWitnesses = [
        "P1.ordered-once", "P1.counts-add-up", "P2.one-at-a-time", "P2.ordered", "P2.ordered-chain",
        "P4.initial-first", "P12.end-last",
    ]
}
