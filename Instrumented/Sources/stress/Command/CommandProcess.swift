// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Runs this command in a process of its own.
enum CommandProcess {
    /// The time after which the process is ended: the harness is wrong then.
    private static var patience: Double { 1_800 }

    /// Runs the command with these arguments, and waits for its end.
    ///
    /// - Returns: The standard output of the process, and its exit code.
    static func run(_ arguments: [String]) -> (output: String, exit: Int32) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        do { try process.run() } catch { harnessFailure("the system gives no process: \(error)") }
        let limit = DispatchWorkItem { process.terminate() }
        DispatchQueue.global().asyncAfter(deadline: .now() + patience, execute: limit)
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        limit.cancel()
        return (output, process.terminationStatus)
    }
}
