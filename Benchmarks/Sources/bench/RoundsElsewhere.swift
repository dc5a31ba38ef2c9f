// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Judging

/// Measures one case, and prints its rounds. `Measure` runs it in another process.
struct RoundsElsewhere: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "rounds", shouldDisplay: false)

    @Flag var quick = false
    @Argument var name: String

    func run() throws {
        guard let measured = Measure.all.first(where: { $0.name == name }) else {
            throw ValidationError("there is no case '\(name)'")
        }
        let effort = quick ? Effort.quick : .full
        var distance = ProcessorDistance(effort)
        print(measured.run(effort, &distance).text)
    }

    /// Adds the rounds that another process measures.
    static func add(_ name: String, isQuick: Bool, to rounds: inout Rounds) throws {
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(filePath: "/proc/self/exe")
        process.arguments = ["rounds", name] + (isQuick ? ["--quick"] : [])
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0, rounds.add(text: text) else { throw Failure(name: name) }
    }

    struct Failure: Error, CustomStringConvertible {
        let name: String

        var description: String { "the process that measures \(name) has failed" }
    }
}
