// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import checks

@Suite("Models: names, rows and verdicts")
struct ModelsTests {
    private let checkout: Checkout
    private let rows: [ModelRow]

    init() throws {
        checkout = try .repository
        rows = try ModelRow.all(in: #require(checkout.text("Models/rows.txt")))
    }

    private func failures(_ file: String, _ change: (String) -> String) throws -> [String] {
        let path = "Models/\(file)"
        return try ModelNames(checkout: checkout.with(path, change(#require(checkout.text(path)))), rows: rows)
            .failures()
    }

    @Test("A name that only one side has is found")
    func names() throws {
        #expect(ModelNames(checkout: checkout, rows: rows).failures() == [])
        #expect(
            try failures("Walk.pml") { $0 + "\ninject(\"walk.planted\")\n" } == [
                "a model names an injection point that does not exist: walk.planted",
                "Models/README.md has no step for the injection point walk.planted",
            ]
        )
        func without(_ word: String, _ text: String) -> String {
            text.lines.filter { !$0.contains(word) }.joined(separator: "\n")
        }
        var silent = checkout
        for path in checkout.paths where path.hasSuffix(".pml") {
            silent.plant(path, without("wait.scan", checkout.text(path)!))
        }
        #expect(ModelNames(checkout: silent, rows: rows).failures() == ["no model names the injection point wait.scan"])
        #expect(
            try failures("README.md") { without("walk.head", $0) } == [
                "Models/README.md has no step for the injection point walk.head"
            ]
        )
        let moved = try failures("README.md") { text in
            text.lines.map {
                $0.contains("walk.pinned")
                    ? $0.replacing("Registry/ObserverList+Walk.swift", with: "Hazards/Frame.swift") : $0
            }.joined(separator: "\n")
        }
        #expect(moved == ["Models/README.md: Hazards/Frame.swift does not have the injection point walk.pinned"])
        #expect(try failures("PinnedRead.pml") { without("GROWTHS", $0) } == ["no model tests the option GROWTHS"])
        #expect(try failures("Walk.pml") { $0 + "\n#ifdef PLANTED\n" } == ["no row sets the option PLANTED"])
    }

    @Test(
        "A row that is none is refused",
        arguments: ["holds|A|b|claim|-", "mutant|A|b||-", "other|A|b|c|-", "holds|A|b|-"]
    )
    func malformed(line: String) {
        #expect(throws: Failure.self) { try ModelRow(line) }
    }

    /// Needs Spin and gcc: `Scripts/install.sh spin gcc`.
    @Test(
        "Spin: a row that is not as expected is found",
        arguments: [
            // A broken rule where all should hold.
            ("holds|WakeUp|planted||THE_RECLAMATION_THREADS_WAKE_UP_IS_LOST", 100_000, "nothingIsForgotten"),
            // A rule that is not broken.
            ("mutant|WakeUp|planted|nothingIsForgotten|-", 100_000, "0 errors"),
            // Another claim than the one expected.
            ("mutant|WakeUp|the reclamation thread's wake-up is lost|tableInUse|-", 100_000, "nothingIsForgotten"),
            // A window that is not reached.
            (
                "window|WakeUp|look for sleep|itSleeps|RETIRERS=0 THE_RECLAMATION_THREADS_WAKE_UP_IS_LOST", 100_000,
                "0 errors"
            ),
            // A search that is not complete.
            ("holds|DrainLoop|planted||-", 20, "search not completed"),
            ("holds|DrainLoop|planted||state=0", 100_000, "spin rejects it"),
        ]
    )
    func deviations(line: String, depth: Int, found: String) throws {
        let result = try ModelRow(line).run(models: "\(Checkout.repositoryPath)/Models", depth: depth)
        #expect(!result.isAsExpected)
        #expect(result.found.hasPrefix(found))
        let report = ModelReport([result], seconds: 1)
        let isMutant = result.row.kind == .mutant
        #expect(report.exitCode == (isMutant ? 6 : result.row.kind == .holds ? 2 : 0))
        #expect(report.kills.map(\.verdict) == (isMutant ? ["survived"] : result.row.kind == .holds ? ["failed"] : []))
    }

    @Test("Spin: rows that are as expected are ok, and in the report")
    func agreements() throws {
        let lines = [
            "holds|WakeUp|three threads retire||-",
            "mutant|WakeUp|the reclamation thread's wake-up is lost|nothingIsForgotten|-",
        ]
        let results = try Models.run(lines.map { try ModelRow($0) }, models: "\(Checkout.repositoryPath)/Models")
        #expect(results.map(\.isAsExpected) == [true, true])
        #expect(results[0].states == "264334")
        let report = ModelReport(results, seconds: 1)
        #expect(report.exitCode == 0)
        #expect(report.kills.map(\.verdict) == ["clean", "killed"])
        #expect(report.kills.map(\.catcher) == [nil, "nothingIsForgotten"])
    }

    @Test(
        "The verdict follows from a search's output",
        arguments: [
            ("pan:1: assertion violated (tableInUse||(a<b)) (at depth 3)\n errors: 1", "tableInUse"),
            ("pan:1: assertion violated (a<b)\nerrors: 1", "an assertion without a label"),
            ("pan:1: invalid end state (at depth 3)\n", "deadlock"),
            ("pan:1: acceptance cycle (at depth 3)\n", "neverEnds"),
            ("error: max search depth too small\nerrors: 0", "search not completed"),
            ("pan: out of memory\nerrors: 0", "search not completed"),
            ("State-vector, errors: 0", "0 errors"), ("Killed", "no result: Killed"),
        ]
    )
    func outputs(log: String, found: String) {
        #expect(ModelRow.found(log) == found)
    }
}
