// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import stress

/// Scenarios must use existing names. `stress mutants` checks this for seeded bugs, which this
/// build does not have.
@Suite("Catalogue")
struct CatalogueTests {
    @Test("Every invariant that a scenario announces is checked somewhere, and every check is announced")
    func invariantsAreChecked() throws {
        let quoted =
            try Sources.matches(of: /"((?:P\d+|memory)\.[a-z-]+)"/, in: "stress/Engine")
            + Sources.matches(of: /"((?:P\d+|memory)\.[a-z-]+)"/, in: "stress/Scenarios")
        let announced = Set(Scenario.all.flatMap(\.invariants))
        for invariant in announced {
            // Once where it is announced, at least once where it is checked.
            #expect(quoted.count { $0 == invariant } >= 2, "\(invariant) is announced and never checked")
        }
        // These invariants are checked for a whole run, or by the faults, not by a scenario.
        let ofRuns = Set([RunHost.stress.memoryInvariant] + Faults.invariants)
            .subtracting(announced)
        #expect(Set(quoted).subtracting(announced) == ofRuns, "checked by a scenario that does not announce it")
    }

    @Test("Every promise of the contract is checked by a scenario", arguments: Scenario.promiseIDs)
    func promisesAreChecked(promise: String) {
        #expect(Scenario.all.contains { $0.promises.contains(promise) })
    }

    @Test("The contract has the promises that the scenarios name, and no others")
    func promisesAreThoseOfTheContract() throws {
        let text = try Sources.text(of: "ConcurrentObserve/ConcurrentObserve.docc/Contract.md")
        #expect(Set(text.matches(of: /\bP\d+\b/).map { String($0.0) }) == Set(Scenario.promiseIDs))
        let named = Set(Scenario.all.flatMap(\.promises)).subtracting(["memory"])
        #expect(named.isSubset(of: Scenario.promiseIDs))
    }

    @Test("Scenarios have distinct names, windows and invariants")
    func scenariosAreDistinct() {
        #expect(Set(Scenario.all.map(\.name)).count == Scenario.all.count)
        for scenario in Scenario.all {
            #expect(
                !scenario.windows.isEmpty && !scenario.invariants.isEmpty && !scenario.promises.isEmpty,
                "\(scenario.name)"
            )
            #expect(Set(scenario.invariants).count == scenario.invariants.count, "\(scenario.name)")
        }
    }

    @Test("A seed gives a round its seed, whatever else runs")
    func seeds() {
        #expect(Generator.roundSeed(7, "a", 0) == Generator.roundSeed(7, "a", 0))
        #expect(Set((0..<100).map { Generator.roundSeed(7, "a", $0) }).count == 100)
        #expect(Generator.roundSeed(7, "a", 0) != Generator.roundSeed(7, "b", 0))
        #expect(Generator.roundSeed(7, "a", 0) != Generator.roundSeed(8, "a", 0))
    }
}

/// The repository's sources, as text.
enum Sources {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
        "../../Sources"
    )

    static func text(of path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    static func matches(of pattern: Regex<(Substring, Substring)>, in folder: String) throws -> [String] {
        try texts(in: folder).flatMap { $0.matches(of: pattern).map { String($0.1) } }
    }

    static func texts(in folder: String, ofType type: String = "swift") throws -> [String] {
        let files = FileManager.default.enumerator(
            at: root.appendingPathComponent(folder),
            includingPropertiesForKeys: nil
        )
        var texts: [String] = []
        while let file = files?.nextObject() as? URL {
            guard file.pathExtension == type else { continue }
            texts.append(try String(contentsOf: file, encoding: .utf8))
        }
        return texts
    }
}
