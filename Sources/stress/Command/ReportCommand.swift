// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation

/// Prints the results of earlier runs.
struct ReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Render results again without running; several files become one, their kills one matrix.",
        discussion: """
            Ends as the run did whose results it shows, of several as the worst. With trials of known defects (`stress calibrate`), \
            one that no engine has found makes it 6.
            """
    )

    @Argument(help: ArgumentHelp("The files that --json has written.", valueName: "file"))
    var results: [String]

    @OptionGroup(title: "Reports")
    var files: ReportFiles

    @Option(help: ArgumentHelp("Write the engines' figures as tables of Markdown.", valueName: "file"))
    var markdown: String?

    func run() throws {
        let reports = try results.map { path throws(ValidationError) in
            do throws(CommandReport.Failure) { return try CommandReport(contentsOf: path) } catch {
                throw ValidationError(error.message)
            }
        }
        let report = CommandReport(merging: reports)
        files.write(report)
        if !report.scenarios.isEmpty { print(RunReport.text(report.run)) }
        if !report.kills.isEmpty { print(KillMatrix(report.kills).text) }
        var exit = report.exitCode
        if let trials = report.trials {
            let calibration = Calibration(report.kills, trials)
            print("\n\(calibration.text)")
            let own: StressExit = calibration.failures.isEmpty ? .pass : .mutantSurvived
            if StressExit.severity(of: own.rawValue) > StressExit.severity(of: exit) { exit = own.rawValue }
        }
        if let markdown {
            let text = EngineFigures.markdown(report, measured: results.compactMap(Self.date).min() ?? Date())
            do { try Data(text.utf8).write(to: URL(fileURLWithPath: markdown)) } catch {
                harnessFailure("\(markdown) cannot be written: \(error.localizedDescription)")
            }
        }
        print("stress: \(StressExit(rawValue: exit).map { "\($0)" } ?? "unknown"), seed \(report.seed)")
        throw StressExit(rawValue: exit) ?? .harnessError
    }

    /// Returns the date on which the results were written.
    private static func date(of path: String) -> Date? {
        (try? FileManager.default.attributesOfItem(atPath: path))?[.modificationDate] as? Date
    }
}
