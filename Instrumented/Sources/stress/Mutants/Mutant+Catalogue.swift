// SPDX-License-Identifier: Apache-2.0

extension Mutant {
    /// All seeded bugs that this build's backend can have, each with its catchers.
    static let all: [Mutant] = ofEveryBackend.filter { !SeededBug.absent.contains($0.bug) }

    /// The bugs of every backend. The bugs of each topic have their own file.
    static let ofEveryBackend: [Mutant] =
        registry + reclamation + properties + transactions + paths + derived + bindings + deliveries + underFaults
        + underSanitizers

    /// The catchers for a closure that is called after the end of its observation.
    static let calledTooLate: [Catcher] = ["P14.not-while-called", "P9.nothing-after-wait", .crash]
    /// The catchers for a table that is reclaimed too early. Its memory may belong to another table
    /// when the walk continues, which then delivers from that table.
    static let tableInUse: [Catcher] = ["memory.table-in-use", "P1.exactly-once", .crash]

    /// The catchers for a value that is read after its destruction.
    static let readTooLate: [Catcher] = ["P14.not-while-read", "P2.whole-value", .crash]

    init(
        _ bug: SeededBug,
        _ scenario: String,
        _ catchers: [Catcher],
        at point: StaticString? = nil,
        isPerturbed: Bool = true,
        faults: PerturbationKinds = [],
        _ budget: Duration = .seconds(10)
    ) {
        (self.bug, self.scenario, self.catchers, self.point) = (bug, scenario, catchers, point)
        (self.isPerturbed, self.faults, self.budget) = (isPerturbed, faults, budget)
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
