// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A command that runs in a folder, with one variable more in its environment.
struct Command {
    /// How it has ended.
    struct End: Equatable {
        /// The exit code; of a signal, 128 and its number; nil if it has been killed, at the limit.
        let code: Int32?
        let seconds: Double
        /// The text of both outputs.
        let output: String
    }

    let arguments: [String]
    let folder: String

    /// Runs it to its end, and waits for that. Nothing that it has started runs any longer.
    ///
    /// - Parameters:
    ///   - bug: The seeded bug that is on.
    ///   - limit: The seconds after which it is killed.
    ///   - log: The file that gets its output.
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
        // It can have ended but for a pipe that a process holds whose parents are gone.
        let isFreed = !isInTime && tree.killDetached() && exited.wait(timeout: .now() + 5) == .success
        let duration = begin.duration(to: .now) / .seconds(1)
        tree.kill()
        // On Linux, only after the end of all processes that have inherited a socket from it.
        let isReaped = ended.wait(timeout: .now() + 5) == .success
        Interruption.running.withLock { all in all.removeAll { $0 == tree } }
        let output = String(decoding: try Data(contentsOf: URL(fileURLWithPath: log)), as: UTF8.self)
        let signal: Int32 = isReaped && process.terminationReason == .uncaughtSignal ? 128 : 0
        let code = isReaped ? process.terminationStatus + signal : tree.reapRoot()
        return End(code: isInTime || isFreed && code != 0 ? code : nil, seconds: duration, output: output)
    }
}
