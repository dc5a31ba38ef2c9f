// SPDX-License-Identifier: Apache-2.0

extension Mutant {
    /// Every seeded bug that this build's backend can have, with what must catch it.
    static let all: [Mutant] = ofEveryBackend.filter { !SeededBug.absent.contains($0.bug) }

    /// Each topic has a file of its own.
    static let ofEveryBackend: [Mutant] =
        registry + reclamation + properties + transactions + paths + derived + bindings + deliveries + underFaults
        + underSanitizers

    static let calledTooLate: [Catcher] = [
        .invariant("P14.not-while-called"), .invariant("P9.nothing-after-wait"), .crash,
    ]
    /// The memory of a table that is reclaimed too early may be another table's when the walk goes
    /// on: it then delivers from the other table.
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
    /// The bugs of what this process does not use: of the other way to protect a table (see
    /// `UserspaceRCU`), and of a barrier that fails, where fences stand in its place.
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
