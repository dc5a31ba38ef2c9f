// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Judging

/// A program that measures a peer. A request is a line of its input, and the figures are a line of
/// its output.
///
/// The program waits between its rounds. It keeps compiled code and memory, so the rounds of both
/// sides can alternate.
final class PeerProgram {
    let title: String
    private let process = Process()
    private let requests = Pipe()
    private let answers: UnsafeMutablePointer<FILE>

    /// Starts the program.
    ///
    /// - Parameter argument: `TITLE=COMMAND`.
    init(_ argument: String) throws {
        let parts = argument.split(separator: "=", maxSplits: 1)
        guard parts.count == 2 else { throw ValidationError("'\(argument)' is not TITLE=COMMAND") }
        title = String(parts[0])
        let output = Pipe()
        answers = fdopen(dup(output.fileHandleForReading.fileDescriptor), "r")
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", "exec \(parts[1])"]
        (process.standardInput, process.standardOutput) = (requests, output)
        try process.run()
    }

    /// The program ends when its input ends.
    deinit {
        try? requests.fileHandleForWriting.close()
        process.waitUntilExit()
        fclose(answers)
    }

    /// Measures one round. Returns nil if the peer has no such operation.
    func measure(_ operation: PeerOperation, _ times: Int) throws -> [ThreadRun]? {
        let request = Data((operation.request(times) + "\n").utf8)
        var line = [CChar](repeating: 0, count: 1024)
        guard (try? requests.fileHandleForWriting.write(contentsOf: request)) != nil,
            fgets(&line, Int32(line.count), answers) != nil
        else { throw Failure(title: title) }
        let answer = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        if answer == "-" { return nil }
        guard let runs = ThreadRun.parse(answer) else { throw Failure(title: title) }
        return runs
    }

    struct Failure: Error, CustomStringConvertible {
        let title: String

        var description: String { "the program of \(title) has ended, or answers with something else than figures" }
    }
}
