// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Shows again what was run before.
struct ReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Render results again without running; several files become one, their kills one matrix.",
        discussion: "Ends as the run did whose results it shows, of several as the worst."
    )

    @Argument(help: ArgumentHelp("What --json has written.", valueName: "file"))
    var results: [String]

    @OptionGroup(title: "Reports")
    var files: ReportFiles

    func run() throws {
        let reports = try results.map { path throws(ValidationError) in
            do throws(Report.Failure) { return try Report(contentsOf: path) } catch {
                throw ValidationError(error.message)
            }
        }
        let report = Report(merging: reports)
        files.write(report)
        if !report.scenarios.isEmpty { print(RunReport.text(report)) }
        if !report.kills.isEmpty { print(KillMatrix(report.kills).text) }
        print("stress: \(report.verdict), seed \(report.seed)")
        throw StressExit(rawValue: report.exitCode) ?? .harnessError
    }
}
