// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import stress

#if canImport(FoundationXML)
import FoundationXML
#endif

@Suite("Reports")
struct ReportTests {
    @Test("A report that is written and read again renders the same")
    func roundTrip() throws {
        let folder = try Folder()
        let report = Sample.report()
        try report.json.write(to: folder.file("a.json"))
        let again = try CommandReport(contentsOf: folder.file("a.json").path)
        #expect(try again.json == report.json)
        #expect(RunReport.text(again.run) == RunReport.text(report.run))
        #expect(again.html == report.html)
        #expect(again.junit == report.junit)
    }

    @Test("A file that is no report, or has another schema, is refused in a line")
    func notAReport() throws {
        let folder = try Folder()
        func message(_ text: String?) throws -> String {
            if let text { try Data(text.utf8).write(to: folder.file("b.json")) }
            do throws(CommandReport.Failure) {
                _ = try CommandReport(contentsOf: folder.file(text == nil ? "missing.json" : "b.json").path)
                return ""
            } catch {
                return error.message
            }
        }
        #expect(try message(nil).contains("cannot read"))
        #expect(try message("nonsense").contains("not a report"))
        #expect(try message(#"{"schemaVersion": 1}"#).contains("schema 1"))
        #expect(try message(#"{"schemaVersion": 3}"#).contains("not whole"))
        // Kills alone are a report: engines besides this command write them.
        #expect(try message(#"{"schemaVersion": 3, "command": "x", "exitCode": 6, "seconds": 1, "kills": []}"#) == "")
    }

    @Test("A bug that a backend cannot have is named everywhere, and counts neither as found nor as survived")
    func absent() throws {
        let folder = try Folder()
        let text = """
            {"schemaVersion": 3, "command": "x", "exitCode": 0, "seconds": 1, "kills": [{"mutant": "bug", \
            "engine": "plain without liburcu", "scenario": "storm", "seed": 0, "verdict": "absent", "seconds": 0}]}
            """
        try Data(text.utf8).write(to: folder.file("c.json"))
        let report = try CommandReport(contentsOf: folder.file("c.json").path)
        let matrix = KillMatrix(report.kills)
        #expect(matrix.survivors == 0 && matrix.text.contains("not in this backend"))
        #expect(matrix.summary.contains("1 of a mechanism that a backend does not have"))
        #expect(try JUnit(report.junit).skipped == ["mutants, plain without liburcu: bug, storm, seed 0"])
        let page = EngineFigures.markdown(report, measured: Date(timeIntervalSince1970: 0))
        #expect(page.contains("| plain without liburcu | 0 | 0 |"))
        #expect(page.contains("| plain without liburcu | *bug* |"))
    }

    @Test("JUnit has a case for each scenario and invariant; failures, hangs and missed windows are distinguished")
    func junit() throws {
        let parsed = try JUnit(Sample.report().junit)
        #expect(parsed.cases["storm"]?.count == 1 + 3 + 1)
        #expect(parsed.failures == ["storm: P1.a", "idle: window: never", "mutants, plain: bug, storm, seed 5"])
        #expect(parsed.errors == ["stuck: runs to its end"])
        #expect(parsed.skipped == ["storm: P15.nothing-forbidden"])
        #expect(parsed.declared == parsed.counted)
    }

    @Test("The page escapes what it shows, loads nothing, and names what failed first")
    func page() {
        let page = Sample.report().html
        #expect(page.contains("&lt;b&gt; &amp; &quot;more&quot;"))
        #expect(!page.contains("<b>"))
        for outside in ["http:", "https:", "src=", "href=", "@import", "url("] { #expect(!page.contains(outside)) }
        let failed = page.range(of: "<h2>Failures")!.lowerBound
        #expect(failed < page.range(of: "<h2>Scenarios")!.lowerBound)
        #expect(page.components(separatedBy: "<svg").count - 1 == page.components(separatedBy: "</svg>").count - 1)
        #expect(page.contains("<polyline"))
    }

    @Test("Several reports are one: the worst end, all kills, a column for each engine")
    func merging() {
        let other = Sample.report(kills: [Sample.kill("bug", .model, .killed)], exit: .pass)
        let merged = CommandReport(merging: [other, Sample.report()])
        #expect(merged.exitCode == StressExit.hang.rawValue)
        let matrix = KillMatrix(merged.kills)
        #expect(matrix.engines == [.plain, .model])
        #expect(matrix.rows.map(\.mutant) == ["bug", "caught"])
        #expect(matrix.survivors == 1)
        #expect(matrix.text.contains("2 mutants, 1 survived"))
    }

    @Test("A file that cannot be written, or is named twice, is refused before anything runs")
    func unwritable() throws {
        let folder = try Folder()
        let path = folder.file("c").path
        for option in ["--json", "--junit", "--html"] {
            #expect(throws: (any Error).self) { try RunCommand.parse([option, "/does/not/exist/report"]) }
            #expect(throws: (any Error).self) { try RunCommand.parse([option, "/"]) }
        }
        #expect(throws: (any Error).self) { try RunCommand.parse(["--json", path, "--html", path]) }
        try Data("kept".utf8).write(to: folder.file("c"))
        _ = try RunCommand.parse(["--json", path])
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "kept")
    }
}

// MARK: - What is rendered

private enum Sample {
    static func kill(_ mutant: String, _ engine: Kill.Engine, _ verdict: Kill.Verdict) -> Kill {
        Kill(
            mutant: mutant,
            engine: engine,
            scenario: "storm",
            seed: 5,
            verdict: verdict,
            catcher: verdict == .killed ? "P1.a" : nil,
            signal: nil,
            seconds: 0.5,
            output: verdict == .survived ? "exit 0" : nil
        )
    }

    static func report(
        kills: [Kill] = [kill("bug", .plain, .survived), kill("caught", .plain, .killed)],
        exit: StressExit = .hang
    ) -> CommandReport {
        func row(
            _ name: String,
            _ verdict: ScenarioVerdict,
            violations: [Violation] = [],
            hits: Int = 3,
            dump: String? = nil
        ) -> Report.ScenarioRow {
            let invariants = name == "storm" ? ["P1.a", "P1.b", Realtime.invariant] : ["P1.a"]
            let scenario = Scenario(name: name, summary: "", invariants: invariants, windows: ["never"]) { _ in }
            let round = Round(
                scenario: scenario,
                seed: 5,
                threads: 1,
                duration: .zero,
                perturbation: Perturbation([]),
                violations: Violations(scenario: name, seed: 5)
            )
            let worker = Worker(index: 0, round: round)
            for _ in 0..<hits { worker.hit("never") }
            for value in 1...1_000 as ClosedRange<UInt64> { worker.record("notify", nanoseconds: value * 10) }
            round.enlist(worker)
            var result = ScenarioResult(scenario)
            result.add(round)
            return Report.ScenarioRow(result, (violations.count, violations), verdict, dump)
        }
        let violation = Violation(
            scenario: "storm",
            invariant: "P1.a",
            message: "<b> & \"more\"",
            thread: 1,
            seed: 5,
            command: "stress run storm --seed 5",
            events: [Event(thread: 1, microsecondsBefore: 1.5, name: "notify", number: 7)]
        )
        let run = Report(
            command: "run",
            seed: 5,
            build: "product",
            threads: 2,
            perturbations: ["yield"],
            machine: MachineDescription(),
            seconds: 3,
            exitCode: exit.rawValue,
            scenarios: [
                row("storm", .violated, violations: [violation]), row("idle", .inconclusive, hits: 0),
                row("stuck", .hang, dump: "thread 0 at notify"),
            ],
            samples: (0..<5).map {
                StressKit.Sample(
                    seconds: Double($0),
                    scenario: $0 < 3 ? "storm" : "idle",
                    operationsPerSecond: 1_000,
                    residentBytes: 50 << 20,
                    gauges: ["waiting": Double($0)]
                )
            }
        )
        return CommandReport(run, kills: kills)
    }
}

/// A folder that is removed with the test.
private final class Folder {
    private let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func file(_ name: String) -> URL { url.appendingPathComponent(name) }
}

/// The contents of JUnit's XML, as a reader sees them.
private final class JUnit: NSObject, XMLParserDelegate {
    private(set) var cases: [String: [String]] = [:]
    private(set) var failures: [String] = []
    private(set) var errors: [String] = []
    private(set) var skipped: [String] = []
    /// The numbers of cases, failures and errors that the suites declare. After them come the
    /// numbers that were found.
    private(set) var declared = [0, 0, 0]
    var counted: [Int] { [cases.values.reduce(0) { $0 + $1.count }, failures.count, errors.count] }
    private var suite = ""
    private var current = ""

    struct Malformed: Error {}

    init(_ text: String) throws {
        super.init()
        let parser = XMLParser(data: Data(text.utf8))
        parser.delegate = self
        guard parser.parse() else { throw Malformed() }
    }

    func parser(
        _ parser: XMLParser,
        didStartElement element: String,
        namespaceURI: String?,
        qualifiedName: String?,
        attributes: [String: String]
    ) {
        switch element {
        case "testsuite":
            suite = attributes["name"] ?? ""
            for (index, name) in ["tests", "failures", "errors"].enumerated() {
                declared[index] += attributes[name].flatMap(Int.init) ?? 0
            }
        case "testcase":
            current = "\(suite): \(attributes["name"] ?? "")"
            cases[suite, default: []].append(attributes["name"] ?? "")
        case "failure": failures.append(current)
        case "error": errors.append(current)
        case "skipped": skipped.append(current)
        default: break
        }
    }
}
