// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import stress

/// Known defects must use existing names. The matrix reports those that do not.
@Suite("Calibration")
struct CalibrationTests {
    /// Returns the names in statements that their engines do not have.
    private func missing(_ defects: [KnownDefect]) throws -> [String] {
        // Only the instrumented copy has the enumeration.
        let edits = try Sources.texts(in: "../Instrumented/Edits", ofType: "txt").flatMap { $0.split(separator: "\n") }
        let bugs = Set(
            edits.compactMap { $0.wholeMatch(of: /(?:bug elsewhere|    bug .+): (.+)/).map { String($0.1) } }
        )
        let rows = try Sources.text(of: "../Models/rows.txt").matches(of: /\nmutant +\| \w+ +\| ([^|]+?) +\|/)
        let rules = Set(rows.map { String($0.1) })
        let litmus = try Sources.text(of: "../Models/Litmus/Sources/Litmus/Defect.swift").matches(of: /name: "([^"]+)"/)
        let orderings = Set(litmus.map { String($0.1) })
        let suites = try Sources.texts(in: "../Tests/ConcurrentObserveTests").joined()
        let tests = Set(suites.matches(of: /@Test\("([^"]+)"/).map { String($0.1) })
        let names: [(KeyPath<KnownDefect, KnownDefect.Statement>, Set<String>)] = [
            (\.seeded, bugs), (\.models, rules), (\.litmus, orderings), (\.tests, tests),
        ]
        return defects.flatMap { defect in
            names.flatMap { statement, existing in defect[keyPath: statement].names.filter { !existing.contains($0) } }
        }
    }

    private func defect(_ statement: KnownDefect.Statement) -> KnownDefect {
        KnownDefect(
            name: "planted",
            origin: .own(commit: "0000000"),
            summary: "",
            seeded: statement,
            models: statement,
            litmus: statement,
            tests: statement
        )
    }

    @Test("Every known defect names seeded bugs, broken rules, orderings and tests that exist")
    func namesExist() throws {
        #expect(try missing(KnownDefect.all) == [])
    }

    @Test("A name that does not exist is found, for each kind of engine")
    func namesThatDoNotExist() throws {
        #expect(try missing([defect(.named(["nowhere"]))]) == Array(repeating: "nowhere", count: 4))
    }

    @Test("Every known defect can be seen by some engine, and has a name and a summary of its own")
    func defects() {
        for defect in KnownDefect.all {
            let statements = [defect.seeded, defect.models, defect.litmus, defect.tests]
            #expect(statements.contains { !$0.names.isEmpty }, "\(defect.name)")
            #expect(!defect.summary.isEmpty, "\(defect.name)")
            // One bug is switched on at a time.
            #expect(defect.seeded.names.count <= 1, "\(defect.name)")
        }
        #expect(Set(KnownDefect.all.map(\.name)).count == KnownDefect.all.count)
        let own = KnownDefect.all.count { if case .own = $0.origin { true } else { false } }
        #expect(own >= 6 && KnownDefect.all.count - own >= 8)
    }

    // MARK: What the matrix makes of results

    private func kill(_ mutant: String, _ engine: Kill.Engine, _ seconds: Double, _ verdict: Kill.Verdict = .killed)
        -> Kill
    {
        Kill(
            mutant: mutant,
            engine: engine,
            scenario: "row",
            seed: 0,
            verdict: verdict,
            catcher: "claim",
            signal: nil,
            seconds: seconds,
            output: nil
        )
    }

    private func trial(_ defect: String?, _ catcher: String?, _ engine: Kill.Engine = .plain) -> Trial {
        Trial(defect: defect, engine: engine, catcher: catcher, place: "storm", seconds: 3, extent: "smoke runs: 2")
    }

    @Test("A cell says found, not found, not run, or why the engine cannot see the defect")
    func cells() throws {
        let planted = KnownDefect(
            name: "planted",
            origin: .own(commit: "0000000"),
            summary: "",
            seeded: .named(["bug"]),
            models: .named(["one", "two"]),
            litmus: .none(because: "of this"),
            tests: .named(["test"])
        )
        let calibration = Calibration(
            [kill("one", .model, 5), kill("two", .model, 2), kill("another", .model, 1)],
            [trial("planted", "P1.a"), trial("planted", nil, .histories)],
            defects: [planted]
        )
        let cells = try #require(calibration.rows.first).cells
        #expect(cells[.plain] == .found(seconds: 3, by: "P1.a in storm"))
        #expect(cells[.histories] == .missed("3.0 s, smoke runs: 2"))
        #expect(cells[.model] == .found(seconds: 2, by: "claim in row"))
        #expect(cells[.litmus] == .blind("of this"))
        #expect(cells[.tests] == .notRun && cells[.explorer] == .notRun)
        #expect(calibration.failures == [])
        #expect(calibration.rows[0].finders.map(\.engine) == [.model, .plain])
    }

    @Test("A row that an engine does not have is a failure")
    func missingRow() {
        let calibration = Calibration(
            [kill("another", .model, 1)],
            [trial("planted", "P1.a")],
            defects: [defect(.named(["gone"]))]
        )
        #expect(calibration.failures == ["planted: model: it has no row “gone”"])
    }

    @Test("A defect that every engine has looked for in vain is a failure; so is a control that finds something")
    func foundByNone() {
        let planted = KnownDefect(
            name: "planted",
            origin: .own(commit: "0000000"),
            summary: "",
            seeded: .none(because: "of this"),
            models: .named(["one"]),
            litmus: .none(because: "of this"),
            tests: .none(because: "of this")
        )
        func failures(_ verdict: Kill.Verdict, _ trials: [Trial] = []) -> [String] {
            Calibration([kill("one", .model, 1, verdict)], trials, defects: [planted]).failures
        }
        #expect(failures(.killed) == [])
        #expect(failures(.survived) == ["planted: found by no engine"])
        #expect(failures(.killed, [trial(nil, nil)]) == [])
        #expect(failures(.killed, [trial(nil, "P1.a")]) == ["plain, with nothing taken back: P1.a in storm"])
        #expect(failures(.killed, [trial("renamed", nil)]).count == 1)
    }

    @Test("The article's tables have a row for each engine and each defect")
    func figures() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("calibration-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let kills = folder.appendingPathComponent("kills.json")
        let text = """
            {"schemaVersion": 3, "command": "x", "exitCode": 0, "seconds": 1, "kills": [
                {"mutant": "bug", "engine": "litmus", "scenario": "row", "seed": 0, "verdict": "killed", "seconds": 0.004}
            ]}
            """
        try Data(text.utf8).write(to: kills)
        var report = try CommandReport(contentsOf: kills.path)
        report.trials = [trial(KnownDefect.all[2].name, "crash")]
        let page = EngineFigures.markdown(report, measured: Date(timeIntervalSince1970: 0))
        #expect(page.contains("; 1970-01-01T00:00:00Z.\n"))
        #expect(page.contains("| litmus | 1 | 1 | 4 ms | 4 ms | 0 | 0 |\n"))
        for defect in KnownDefect.all {
            #expect(page.contains("| \(defect.name) | \(defect.origin.text) |"), "\(defect.name)")
        }
        #expect(page.contains("| plain 3.0 s |"))
        #expect(page.contains("; not run: faults, explorer, histories, "))
    }
}
