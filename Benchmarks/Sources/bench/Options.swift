// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation

/// The options of the command line.
struct Options: ParsableArguments {
    @Flag(help: "Fewer and shorter rounds: a look, not a judgement to rely on.")
    var quick = false

    @Option(help: ArgumentHelp("Measure the cases whose names contain this.", valueName: "text"))
    var only: String?

    @Option(help: ArgumentHelp("Write the figures to a file as well.", valueName: "file"))
    var json: String?

    @Option(help: ArgumentHelp("Write the tables to a file, as Markdown.", valueName: "file"))
    var markdown: String?

    @Option(help: ArgumentHelp("Write the data of the plots to a folder that exists.", valueName: "folder"))
    var plots: String?

    mutating func validate() throws {
        if let only, only.isEmpty { throw ValidationError("--only needs a part of the cases' names") }
        // This is checked before the measurements: a file that cannot be written is a mistake in
        // the command line.
        for file in [json, markdown].compactMap({ $0 })
        where !FileManager.default.createFile(atPath: file, contents: nil) {
            throw ValidationError("cannot write '\(file)'")
        }
        if let plots, !FileManager.default.isWritableFile(atPath: plots) {
            throw ValidationError("cannot write to the folder '\(plots)'")
        }
    }
}
