// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Glibc

/// The files to which results are written, in addition to the terminal.
struct ReportFiles: ParsableArguments {
    @Option(help: ArgumentHelp("Write the results as JSON; `stress report` renders them again.", valueName: "file"))
    var json: String?

    @Option(help: ArgumentHelp("Write the results as JUnit reads them.", valueName: "file"))
    var junit: String?

    @Option(help: ArgumentHelp("Write a page for a browser.", valueName: "file"))
    var html: String?

    private var paths: [String] { [json, junit, html].compactMap(\.self) }

    var isEmpty: Bool { paths.isEmpty }

    /// Checks before anything runs that the files can be written. A file that cannot be written is
    /// a wrong option.
    func validate() throws {
        guard Set(paths).count == paths.count else { throw ValidationError("two reports cannot go to one file") }
        for path in paths {
            // An existing file keeps its contents until the report is written.
            let file = unsafe open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o666)
            guard file >= 0 else {
                throw ValidationError("cannot write to '\(path)': \(unsafe String(cString: strerror(errno)))")
            }
            close(file)
        }
    }

    /// Writes the files that the options name. The files could be written when the command began,
    /// so an error now is a failure.
    func write(_ report: CommandReport) {
        do {
            try json.map { try report.json.write(to: URL(fileURLWithPath: $0)) }
            try junit.map { try Data(report.junit.utf8).write(to: URL(fileURLWithPath: $0)) }
            try html.map { try Data(report.html.utf8).write(to: URL(fileURLWithPath: $0)) }
        } catch {
            harnessFailure("a report cannot be written: \(error.localizedDescription)")
        }
    }
}
