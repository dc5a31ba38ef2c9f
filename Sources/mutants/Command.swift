// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A command that runs in a folder, with one additional variable in its environment.
struct Command {
    /// The way in which the command has ended.
    struct End: Equatable {
        /// The exit code. If a signal ended the command, 128 plus its number. Nil if the command
        /// was killed at the limit.
        let code: Int32?
        let seconds: Double
        /// The text of standard output and standard error.
        let output: String
    }

    let arguments: [String]
    let folder: String

    /// Runs the command, and waits for its end. All processes that it has started have ended by
    /// then.
    ///
    /// - Parameters:
    ///   - bug: The name of the seeded bug that is on.
    ///   - limit: The number of seconds after which the command is killed.
    ///   - log: The file that receives its output.
    func run(bug: String? = nil, limit: Double, log: String) throws -> End {
        _ = FileManager.default.createFile(atPath: log, contents: nil)
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        process.currentDirectoryURL = URL(fileURLWithPath: folder)
        var environment = ProcessInfo.processInfo.environment
        environment["SEEDED_BUG"] = bug
        let mark = "MUTANTS_" + UUID().uuidString.replacing("-", with: "_")
        environment[mark] = "1"
        process.environment = environment
        (process.standardInput, process.standardOutput, process.standardError) = (FileHandle.nullDevice, file, file)
        let begin = ContinuousClock.now
        let (exited, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        process.terminationHandler = { _ in ended.signal() }
        let tree = try Interruption.running.withLock { all in
            try process.run()
            let tree = ProcessTree(root: process.processIdentifier, mark: mark)
            all.append(tree)
            return tree
        }
        DispatchQueue.global().async {
            tree.waitForRoot()
            exited.signal()
        }
        let isInTime = exited.wait(timeout: .now() + limit) == .success
        // The command may only be waiting for a pipe that a process without a parent holds.
        let isFreed = !isInTime && tree.killDetached() && exited.wait(timeout: .now() + 5) == .success
        let duration = begin.duration(to: .now) / .seconds(1)
        tree.kill()
        // On Linux, `Process` reports the end only when all processes that inherited a socket from
        // the command have ended.
        let isReaped = ended.wait(timeout: .now() + 5) == .success
        Interruption.running.withLock { all in all.removeAll { $0 == tree } }
        let output = String(decoding: try Data(contentsOf: URL(fileURLWithPath: log)), as: UTF8.self)
        let signal: Int32 = isReaped && process.terminationReason == .uncaughtSignal ? 128 : 0
        let code = isReaped ? process.terminationStatus + signal : tree.reapRoot()
        return End(code: isInTime || isFreed && code != 0 ? code : nil, seconds: duration, output: output)
    }
}
