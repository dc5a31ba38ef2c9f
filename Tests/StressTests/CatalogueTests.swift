// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import stress_product

/// Scenarios, mutants and injection points name each other: here nobody names what does not exist.
@Suite("Catalogue")
struct CatalogueTests {
    @Test("Every mutant names a scenario and invariants that the scenario checks")
    func mutantsNameInvariants() throws {
        for mutant in Mutant.all {
            let scenario = try #require(Scenario.named(mutant.scenario), "\(mutant.name)")
            #expect(!mutant.catchers.isEmpty, "\(mutant.name)")
            for case .invariant(let invariant) in mutant.catchers {
                #expect(
                    scenario.invariants.contains(invariant)
                        || mutant.faults.contains(.fork) && ForkedChild.invariants.contains(invariant)
                        || !mutant.faults.isEmpty && Faults.invariants.contains(invariant),
                    "\(mutant.name): \(scenario.name) does not check \(invariant)"
                )
            }
        }
    }

    @Test("Histories look for mutants of the catalogue, and for each that names them")
    func historiesNameMutants() throws {
        for mutant in HistoryMutant.all {
            #expect(Mutant.named(mutant.name) != nil, "\(mutant.name) is not in the catalogue")
            #expect(HistorySubject.named(mutant.subject) != nil, "\(mutant.name): no subject \(mutant.subject)")
        }
        for mutant in Mutant.all where mutant.engine == .histories {
            #expect(HistoryMutant.all.contains { $0.name == mutant.name.description }, "\(mutant.name)")
        }
    }

    @Test("Every mutant is seeded in the library, and every seeded bug is in the catalogue")
    func mutantsAreSeeded() throws {
        let seeded = Set(try Sources.matches(of: /mutant\("([^"]+)"\)/, in: "ConcurrentObserve"))
        #expect(seeded == Set(Mutant.all.map(\.name.description)))
    }

    @Test("The list of injection points is that of the library's sources")
    func injectionPoints() throws {
        let injected = Set(try Sources.matches(of: /(?:inject|faultPoint)\("([^"]+)"\)/, in: "ConcurrentObserve"))
        let text = try Sources.text(of: "ConcurrentObserve/Instrumentation/Instrumentation+Stress.swift")
        let list = try #require(text.firstMatch(of: /points: \[StaticString\] = \[([^\]]+)\]/))
        let listed = Set(list.1.matches(of: /"([^"]+)"/).map { String($0.1) })
        #expect(listed == injected)
    }

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
        // Of a whole run, and of faults, not of a scenario.
        let ofRuns = Set([MemoryCourse.invariant] + ForkedChild.invariants + Faults.invariants)
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

    /// Invariants that no seeded bug proves, with the reason. Shorter is better; one that is proved must not stay here.
    private static let unproved: [String: String] = [:]

    @Test("Every invariant is proved by a seeded bug, but for those that give a reason")
    func invariantsAreProved() {
        var proved: Set<String> = []
        for mutant in Mutant.all {
            for catcher in mutant.catchers {
                switch catcher {
                case .invariant(let name): proved.insert(name)
                case .report(.realtime): proved.insert(Realtime.invariant)
                default: break
                }
            }
        }
        let announced = Set(Scenario.all.flatMap(\.invariants))
        #expect(announced.subtracting(proved).subtracting(Self.unproved.keys) == [], "no seeded bug proves it")
        #expect(proved.intersection(Self.unproved.keys) == [], "is proved: take it off the list")
        #expect(Set(Self.unproved.keys).subtracting(announced) == [], "is no invariant: take it off the list")
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

    static func texts(in folder: String) throws -> [String] {
        let files = FileManager.default.enumerator(
            at: root.appendingPathComponent(folder),
            includingPropertiesForKeys: nil
        )
        var texts: [String] = []
        while let file = files?.nextObject() as? URL {
            guard file.pathExtension == "swift" else { continue }
            texts.append(try String(contentsOf: file, encoding: .utf8))
        }
        return texts
    }
}
