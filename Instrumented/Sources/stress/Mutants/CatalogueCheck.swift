// SPDX-License-Identifier: Apache-2.0

/// Checks that seeded bugs, scenarios, programs, subjects, injection points and known defects name
/// only each other. `stress mutants` begins with this check. If a name does not exist, it runs
/// nothing.
enum CatalogueCheck {
    /// The faults of the catalogue, with a sentence for each. Empty if there are none.
    static var failures: [String] {
        missingBugs + Mutant.all.flatMap(failures) + explorerFailures + historyFailures + unprovedInvariants
            + defectFailures
            + ambiguousWords
    }

    /// Ends the process if the catalogue has a fault.
    static func enforce() {
        let failures = failures
        guard failures.isEmpty else { harnessFailure("the catalogue is wrong:\n" + failures.joined(separator: "\n")) }
    }

    /// The seeded bugs that neither a scenario nor the explorer looks for.
    private static var missingBugs: [String] {
        Set(SeededBug.allCases).subtracting(SeededBug.absent)
            .subtracting(Mutant.all.map(\.bug)).subtracting(ExplorerMutant.all.map(\.bug))
            .map { "\($0.rawValue): not in the catalogue" }.sorted()
    }

    private static func failures(of mutant: Mutant) -> [String] {
        guard let scenario = Scenario.named(mutant.scenario) else {
            return ["\(mutant.bug.rawValue): no scenario '\(mutant.scenario)'"]
        }
        var failures: [String] = []
        if mutant.catchers.isEmpty { failures.append("nothing must catch it") }
        if let point = mutant.point, !Instrumentation.points.contains(where: { $0.isSame(as: point) }) {
            failures.append("no injection point '\(point)'")
        }
        var invariants = Set(scenario.invariants)
        if !mutant.faults.isEmpty { invariants.formUnion(Faults.invariants) }
        for case .invariant(let invariant) in mutant.catchers where !invariants.contains(invariant) {
            failures.append("\(scenario.name) does not check \(invariant)")
        }
        if mutant.engine == .histories, !HistoryMutant.all.contains(where: { $0.bug == mutant.bug }) {
            failures.append("no histories look for it")
        }
        return failures.map { "\(mutant.bug.rawValue): \($0)" }
    }

    private static var explorerFailures: [String] {
        ExplorerMutant.all.filter { LibraryProgram.named($0.program) == nil }.map {
            "\($0.bug.rawValue): no program '\($0.program)'"
        }
            + ExplorerMutant.all.filter(\.invariants.isEmpty).map {
                "\($0.bug.rawValue): no invariant for the explorer"
            }
    }

    private static var historyFailures: [String] {
        HistoryMutant.all.filter { HistorySubject.named($0.subject) == nil }.map {
            "\($0.bug.rawValue): no subject '\($0.subject)'"
        }
    }

    /// The invariants of scenarios for which there is no seeded bug.
    private static var unprovedInvariants: [String] {
        let proved = Mutant.all.flatMap(\.catchers).compactMap { catcher in
            switch catcher {
            case .invariant(let name): name
            case .report(.realtime): Realtime.invariant
            default: nil
            }
        }
        return Set(Scenario.all.flatMap(\.invariants)).subtracting(proved).sorted().map {
            "\($0): no seeded bug proves it"
        }
    }

    private static var defectFailures: [String] {
        KnownDefect.all.flatMap { defect in
            defect.seeded.names.filter { SeededBug(rawValue: $0) == nil }.map {
                "\(defect.name): no seeded bug '\($0)'"
            }
        }
    }

    /// The seeded bugs whose names are the same word in the text of a schedule.
    private static var ambiguousWords: [String] {
        Dictionary(grouping: SeededBug.allCases) { ExplorationString.word($0.rawValue) }.filter { $0.value.count > 1 }
            .keys.sorted().map {
                "\($0): the word of several seeded bugs"
            }
    }
}
