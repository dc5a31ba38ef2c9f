// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Builds the edited copy, and runs the tests once without a bug and once with each bug.
struct MutantRun {
    /// The verdict on one bug.
    struct Row: Codable {
        enum Verdict: String, Codable { case found, survived, hung }

        let bug: String
        let verdict: Verdict
        /// The names of the tests that failed, or the way in which the process ended.
        let foundBy: [String]
        /// The tests that had to find the bug; nil for all tests.
        let filter: String?
        let seconds: Double
        /// The path of the file with the output of the tests.
        let log: String
    }

    struct Report: Codable {
        /// Whether the tests pass without a bug.
        var controlPasses = false
        var controlSeconds = 0.0
        var bugs: [Row] = []

        var isGood: Bool { controlPasses && bugs.allSatisfy { $0.verdict == .found } }
    }

    private let package: SeededPackage
    private let command: [String]
    private let limit: Double?
    private let logs: String

    /// Makes a run.
    ///
    /// - Parameters:
    ///   - command: Runs the tests. If it is `swift test`, the build is a separate step.
    ///   - limit: The number of seconds that a run may take. If it is nil, five times the time of
    ///     the run without a bug, and 60.
    init(_ package: SeededPackage, command: [String], limit: Double? = nil) {
        (self.package, self.command, self.limit) = (package, command, limit)
        logs = (package.copy.folder as NSString).deletingLastPathComponent + "/logs"
    }

    /// Runs the tests, and prints a line for each bug as soon as its verdict is known. Returns
    /// after the last one.
    func run(_ bugs: [SeededBug]) throws -> Report {
        try package.write()
        try? FileManager.default.removeItem(atPath: logs)
        try FileManager.default.createDirectory(atPath: logs, withIntermediateDirectories: true)
        try build()

        var report = Report()
        let filters = bugs.map(\.filter)
        let control = try test(
            filter: filters.contains(nil) ? nil : Set(filters.compactMap { $0 }).sorted().joined(separator: "|"),
            limit: limit ?? 1_800
        )
        report.controlSeconds = control.seconds
        let failures = Self.failures(control.output)
        report.controlPasses = control.code == 0 && !Self.hasRunNothing(control.output)
        if !report.controlPasses {
            let reason =
                failures.isEmpty ? Array(control.output.split(separator: "\n").suffix(10).map(String.init)) : failures
            say("without a bug: the tests fail, so that they prove nothing: \(logs)/control.log")
            for line in reason { say("    \(line)") }
            return report
        }
        say("without a bug: the tests pass, \(Self.text(control.seconds))")
        let width = bugs.map(\.name.count).max() ?? 0
        for bug in bugs {
            let row = try judge(bug, limit: limit ?? 60 + 5 * control.seconds)
            report.bugs.append(row)
            let name = bug.name + String(repeating: " ", count: width - bug.name.count)
            say("\(name)  \(row.verdict.rawValue.padding(toLength: 8, withPad: " ", startingAt: 0))  \(text(of: row))")
        }
        let count = { (verdict: Row.Verdict) in report.bugs.count { $0.verdict == verdict } }
        say("\(report.bugs.count) bugs: \(count(.found)) found, \(count(.survived)) survived, \(count(.hung)) hung")
        return report
    }

    /// Writes a line at once, also if the output is no terminal.
    private func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

    private func text(of row: Row) -> String {
        let most = 2
        let rest = row.foundBy.count > most ? " and \(row.foundBy.count - most) more" : ""
        let reason =
            switch row.verdict {
            case .found: "by " + row.foundBy.prefix(most).joined(separator: ", ") + rest
            case .survived: (row.foundBy.first.map { $0 + ": " } ?? "") + row.log
            case .hung: "no end within the limit: " + row.log
            }
        return "\(Self.text(row.seconds))  \(reason)"
    }

    private static func text(_ seconds: Double) -> String { String(format: "%5.1f s", seconds) }

    private var isSwiftTest: Bool { command.starts(with: ["swift", "test"]) }

    /// Builds the copy with its tests, if the command is `swift test`. Any other command builds
    /// during its first run.
    private func build() throws {
        guard isSwiftTest else { return }
        var options: [String] = []
        var rest = command.dropFirst(2)
        while let option = rest.popFirst() {
            // Options of `swift test` that `swift build` does not know.
            switch option.split(separator: "=").first {
            case "--parallel", "--no-parallel", "--skip-build": continue
            case "--filter", "--skip", "-s", "--specifier", "--num-workers", "--xunit-output", "--attachments-path":
                if !option.contains("=") { _ = rest.popFirst() }
            default: options.append(option)
            }
        }
        let end = try Command(arguments: ["swift", "build", "--build-tests"] + options, folder: package.copy.folder)
            .run(limit: 7_200, log: logs + "/build.log")
        if end.code == 0 { return }
        let lines = end.output.split(separator: "\n").map(String.init)
        let errors = lines.filter { $0.prefixMatch(of: /(?:\S.*: )?error:/) != nil }
        throw Failure(
            (errors.isEmpty ? lines.suffix(20) : errors) + ["the edited copy does not build: \(logs)/build.log"]
        )
    }

    private func test(bug: String? = nil, filter: String?, limit: Double) throws -> Command.End {
        let options = (isSwiftTest ? ["--skip-build"] : []) + (filter.map { ["--filter", $0] } ?? [])
        return try Command(arguments: command + options, folder: package.copy.folder)
            .run(bug: bug, limit: limit, log: log(of: bug))
    }

    private func log(of bug: String?) -> String { "\(logs)/\(bug.map(Edit.caseName) ?? "control").log" }

    private func judge(_ bug: SeededBug, limit: Double) throws -> Row {
        let end = try test(bug: bug.name, filter: bug.filter, limit: limit)
        var verdict = Row.Verdict.hung
        var reasons = Self.failures(end.output)
        if let code = end.code {
            if reasons.isEmpty, code > 128 || end.output.contains(/unexpected signal code/) {
                reasons = ["a crash" + (Self.unended(end.output).map { " in \($0)" } ?? "")]
            } else if reasons.isEmpty, code != 0, !isSwiftTest {
                reasons = ["exit code \(code)"]
            }
            verdict = code == 0 || reasons.isEmpty ? .survived : .found
            if verdict == .survived {
                reasons =
                    Self.hasRunNothing(end.output)
                    ? ["no test has run"] : code == 0 ? [] : ["exit code \(code), and no test fails"]
            }
        }
        return Row(
            bug: bug.name,
            verdict: verdict,
            foundBy: reasons,
            filter: bug.filter,
            seconds: end.seconds,
            log: log(of: bug.name)
        )
    }

    /// Returns the names of the tests that failed, in the order of their failures. Each occurs
    /// once.
    static func failures(_ output: String) -> [String] {
        var names: [String] = []
        // Matches the lines of swift-testing, and of XCTest on Linux and on macOS.
        for match in output.matches(
            of:
                /Test (?:Case '(?:-\[)?([^'\]]+)\]?'|("[^\n]+?"|[^\s"(]+\([^)\n]*\)))(?: with \d+ test cases?)? failed (?:after|\()/
        ) {
            let name = String(match.1 ?? match.2 ?? "")
            if !names.contains(name) { names.append(name) }
        }
        return names
    }

    /// Returns the name of the test that began last and has not ended.
    static func unended(_ output: String) -> String? {
        var running: [Substring] = []
        for match in output.matches(
            of:
                /Test (?:Case '([^']+)'|("[^\n]+?"|[^\s"(]+\([^)\n]*\)))(?: with \d+ test cases?)? (started|passed|failed)/
        ) {
            let name = match.1 ?? match.2 ?? ""
            if match.3 == "started" { running.append(name) } else { running.removeAll { $0 == name } }
        }
        return running.last.map(String.init)
    }

    /// Returns whether the filter has excluded all tests.
    static func hasRunNothing(_ output: String) -> Bool {
        output.contains("No matching test cases were run")
            || output.contains(/Test run with 0 tests/) && !output.contains(/Executed [1-9]\d* tests?/)
    }
}
