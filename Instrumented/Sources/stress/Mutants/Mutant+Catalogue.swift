// SPDX-License-Identifier: Apache-2.0

extension Mutant {
    /// All seeded bugs that this build's backend can have, each with its catchers.
    static let all: [Mutant] = ofEveryBackend.filter { !SeededBug.absent.contains($0.bug) }

    /// The bugs of every backend. The bugs of each topic have their own file.
    static let ofEveryBackend: [Mutant] =
        registry + reclamation + properties + transactions + paths + derived + bindings + deliveries + underFaults
        + underSanitizers

    static let calledTooLate: [Catcher] = [
        .invariant("P14.not-while-called"), .invariant("P9.nothing-after-wait"), .crash,
    ]
    /// The catchers for a table that is reclaimed too early. Its memory may belong to another table
    /// when the walk continues, which then delivers from that table.
    static let tableInUse: [Catcher] = [
        .invariant("memory.table-in-use"), .invariant("P1.exactly-once"), .crash,
    ]

    init(
        _ bug: SeededBug,
        _ scenario: String,
        _ catchers: [Catcher],
        at point: StaticString? = nil,
        isPerturbed: Bool = true,
        faults: PerturbationKinds = [],
        _ budget: Duration = .seconds(10)
    ) {
        self.init(
            bug: bug,
            scenario: scenario,
            catchers: catchers,
            point: point,
            isPerturbed: isPerturbed,
            faults: faults,
            budget: budget
        )
    }
}

extension SeededBug {
    /// The bugs of mechanisms that this process does not use: the other way to protect a table (see
    /// `UserspaceRCU`), and a barrier that fails, if fences replace it.
    static let absent: Set<SeededBug> = {
        #if LibURCU && os(Linux)
        let others: Set<SeededBug> = [.aHeadIsNotLookedAtAgain]
        #else
        let others: Set<SeededBug> = [.pinIsStoredAfterTheReadSection, .gracePeriodDoesNothing]
        #endif
        return ConcurrentObserveDiagnostics.current().usesMembarrier
            ? others : others.union([.aFailingBarrierIsNotRepeated, .aFailingBarrierIsIgnored])
    }()
}
