// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import stress

#if canImport(FoundationXML)
import FoundationXML
#endif

extension Harness.ReportTests {
    @Test("A report that is written and read again renders the same")
    func roundTrip() throws {
        let folder = try Folder()
        let report = Sample.report()
        try report.json.write(to: folder.file("a.json"))
        let again = try Report(contentsOf: folder.file("a.json").path)
        #expect(try again.json == report.json)
        #expect(RunReport.text(again) == RunReport.text(report))
        #expect(HTMLReport.text(again) == HTMLReport.text(report))
        #expect(JUnitReport.text(again) == JUnitReport.text(report))
    }

    @Test("A file that is no report, or has another schema, is refused in a line")
    func notAReport() throws {
        let folder = try Folder()
        func message(_ text: String?) throws -> String {
            if let text { try Data(text.utf8).write(to: folder.file("b.json")) }
            do throws(Report.Failure) {
                _ = try Report(contentsOf: folder.file(text == nil ? "missing.json" : "b.json").path)
                return ""
            } catch {
                return error.message
            }
        }
        #expect(try message(nil).contains("cannot read"))
        #expect(try message("nonsense").contains("not a report"))
        #expect(try message(#"{"schemaVersion": 1}"#).contains("schema 1"))
        #expect(try message(#"{"schemaVersion": 2}"#).contains("not whole"))
        // Kills alone are a report: engines besides this command write them.
        #expect(try message(#"{"schemaVersion": 2, "command": "x", "exitCode": 6, "seconds": 1, "kills": []}"#) == "")
    }

    @Test("A bug that a backend cannot have is named everywhere, and counts neither as found nor as survived")
    func absent() throws {
        let folder = try Folder()
        let text = """
            {"schemaVersion": 2, "command": "x", "exitCode": 0, "seconds": 1, "kills": [{"mutant": "bug", \
            "engine": "plain without liburcu", "scenario": "storm", "seed": 0, "verdict": "absent", "seconds": 0}]}
            """
        try Data(text.utf8).write(to: folder.file("c.json"))
        let report = try Report(contentsOf: folder.file("c.json").path)
        let matrix = KillMatrix(report.kills)
        #expect(matrix.survivors == 0 && matrix.text.contains("not in this backend"))
        #expect(matrix.summary.contains("1 of a mechanism that a backend does not have"))
        #expect(try JUnit(JUnitReport.text(report)).skipped == ["mutants, plain without liburcu: bug, storm, seed 0"])
        let page = EngineFigures.markdown(report, measured: Date(timeIntervalSince1970: 0))
        #expect(page.contains("| plain without liburcu | 0 | 0 |"))
        #expect(page.contains("plain without liburcu: *bug*."))
    }

    @Test("JUnit has a case for each scenario and invariant; failures, hangs and missed windows are distinguished")
    func junit() throws {
        let parsed = try JUnit(JUnitReport.text(Sample.report()))
        #expect(parsed.cases["storm"]?.count == 1 + 3 + 1)
        #expect(parsed.failures == ["storm: P1.a", "idle: window: never", "mutants, plain: bug, storm, seed 5"])
        #expect(parsed.errors == ["stuck: runs to its end"])
        #expect(parsed.skipped == ["storm: P15.nothing-forbidden"])
        #expect(parsed.declared == parsed.counted)
    }

    @Test("The page escapes what it shows, loads nothing, and names what failed first")
    func page() {
        let page = HTMLReport.text(Sample.report())
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
        let merged = Report(merging: [other, Sample.report()])
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

    @Test("A crash within a scenario leaves files that say so")
    func provisional() throws {
        let folder = try Folder()
        let path = folder.file("d.json").path
        let files = try ReportFiles.parse(["--json", path])
        let found = Guarded<Report?>(nil)
        let scenario = Scenario(name: "test", summary: "", invariants: ["P1.a"], windows: []) { _ in
            found.withLock { $0 = try? Report(contentsOf: path) }
        }
        let plan = RunPlan.test([scenario], iterations: 1)
        let recorder = RunRecorder(plan: plan, files: files)
        let exit = Runner(plan: plan, progress: .silent, recorder: recorder).run().exit
        recorder.write(ending: exit)
        let during = try #require(found.withLock { $0 })
        #expect(during.exitCode == StressExit.crash.rawValue)
        #expect(during.scenarios.map(\.verdict) == [.unfinished])
        let after = try Report(contentsOf: path)
        #expect(after.exitCode == 0)
        #expect(after.scenarios.map(\.verdict) == [.pass])
    }

    @Test("A violation carries the last events of the threads, the finder's most, oldest first")
    func events() throws {
        let violations = Violations(scenario: "test", seed: 9)
        let round = Round(
            scenario: Scenario(name: "test", summary: "", invariants: [], windows: []) { _ in },
            seed: 1,
            threads: 2,
            duration: .zero,
            perturbation: Perturbation([]),
            violations: violations
        )
        let workers = (0..<2).map { Worker(index: $0, round: round) }
        Roster.shared.enlist(workers)
        defer { Roster.shared.enlist([]) }
        workers[0].begin("zero")
        workers[1].begin("one")
        workers[1].note("callback", 1 << 40 | 3)
        workers[1].check(true, "P1.a", "")
        #expect(violations.summary.total == 0)
        workers[1].check(false, "P1.a", "found")
        workers[0].check(false, "P1.a", "found again")
        let (total, first) = violations.summary
        let violation = try #require(first.first)
        #expect(total == 2 && first.count == 1)
        #expect(violation.seed == 9 && violation.thread == 1 && violation.message == "found")
        #expect(violation.events.map(\.text) == ["zero 1", "one 1", "callback, closure 3 of thread 0"])
        #expect(violation.events.map(\.thread) == [0, 1, 1])
    }
}

@Suite("Event ring")
struct EventRingTests {
    @Test("The ring keeps the last events, in their order")
    func last() {
        let ring = EventRing()
        for number in 1...200 as ClosedRange<UInt64> { ring.note("event", number, at: number) }
        func numbers(_ count: Int) -> [UInt64] {
            var found: [UInt64] = []
            unsafe ring.forLast(count) { _, _, number in found.append(number) }
            return found
        }
        #expect(numbers(3) == [198, 199, 200])
        #expect(numbers(1_000) == Array(137...200))
    }
}

@Suite("Memory course")
struct MemoryCourseTests {
    /// A run of ten minutes.
    private func course(_ level: (Double) -> Double) -> MemoryCourse {
        var course = MemoryCourse(warmUpSeconds: 60)
        for second in stride(from: 0.0, through: 600, by: 15) {
            course.add(MemoryCourse.Point(seconds: second, residentBytes: Int(level(second) * 1_048_576)))
        }
        return course
    }

    @Test("Memory that grows by more than 4 MiB after the first minute is not flat; memory that fills at first is")
    func growth() throws {
        #expect(course { 80 + $0 / 60 }.hasGrown)
        #expect(!course { 80 + min($0, 50) }.hasGrown)
        #expect(!course { 80 + $0 / 600 }.hasGrown)
        let slope = try #require(course { 80 + $0 / 60 }.slope)
        #expect(abs(slope / 1_048_576 - 1) < 0.01)
    }

    @Test("Memory that is resident by chance at some looks is no growth, and hides none")
    func scatter() {
        let scatter: (Double) -> Double = { Int($0 / 15) % 3 == 0 ? 0 : 9 }
        #expect(!course { 80 + scatter($0) }.hasGrown)
        #expect(course { 80 + $0 / 60 + scatter($0) }.hasGrown)
    }

    @Test("A run that is too short to judge says so")
    func short() {
        var course = MemoryCourse(warmUpSeconds: 60)
        for second in 0..<70 {
            course.add(MemoryCourse.Point(seconds: Double(second) * 0.9, residentBytes: second << 24))
        }
        #expect(course.growth == nil && !course.hasGrown)
        #expect(course.text.contains("not judged"))
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
    ) -> Report {
        var histogram = Histogram()
        for value in 1...1_000 as ClosedRange<UInt64> { histogram.record(value * 10) }
        func row(
            _ name: String,
            _ verdict: ScenarioVerdict,
            violations: [Violation] = [],
            hits: UInt64 = 3,
            dump: String? = nil
        ) -> Report.ScenarioRow {
            Report.ScenarioRow(
                name: name,
                promises: ["P1"],
                invariants: name == "storm" ? ["P1.a", "P1.b", Realtime.invariant] : ["P1.a"],
                seconds: 1,
                rounds: 2,
                operations: 100,
                checks: 200,
                windows: [Report.WindowRow(name: "never", hits: hits)],
                violationCount: violations.count,
                violations: violations,
                notifyNanoseconds: Report.LatencyRow(histogram),
                cancelAndWaitNanoseconds: nil,
                verdict: verdict,
                dump: dump
            )
        }
        let violation = Violation(
            scenario: "storm",
            invariant: "P1.a",
            message: "<b> & \"more\"",
            thread: 1,
            seed: 5,
            events: [Event(thread: 1, microsecondsBefore: 1.5, name: "notify", number: 7)]
        )
        return Report(
            command: "run",
            seed: 5,
            build: "product",
            threads: 2,
            perturbations: ["yield"],
            machine: MachineDescription(),
            seconds: 3,
            exitCode: exit.rawValue,
            verdict: "\(exit)",
            scenarios: [
                row("storm", .violated, violations: [violation]), row("idle", .inconclusive, hits: 0),
                row("stuck", .hang, dump: "thread 0 at notify"),
            ],
            samples: (0..<5).map {
                stress.Sample(
                    seconds: Double($0),
                    scenario: $0 < 3 ? "storm" : "idle",
                    operationsPerSecond: 1_000,
                    gracePeriodsPerSecond: 10,
                    backlog: $0,
                    residentBytes: 50 << 20
                )
            },
            kills: kills,
            memory: nil
        )
    }
}

/// A folder that goes with the test.
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
    /// Cases, failures and errors, as the suites say and as they are.
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
