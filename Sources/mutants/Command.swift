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

    /// Runs it to its end, and waits for that.
    ///
    /// - Parameters:
    ///   - bug: The seeded bug that is on.
    ///   - limit: The seconds after which it is killed, with all that it has started.
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
        process.environment = environment
        (process.standardInput, process.standardOutput, process.standardError) = (FileHandle.nullDevice, file, file)
        let begin = ContinuousClock.now
        let ended = DispatchSemaphore(value: 0)
        process.terminationHandler = { _ in ended.signal() }
        try process.run()
        // Safe: one word, which the handler of a signal reads whole; no other thread writes it.
        unsafe Interruption.process = process.processIdentifier
        defer { unsafe Interruption.process = 0 }
        let isInTime = ended.wait(timeout: .now() + limit) == .success
        if !isInTime {
            for each in [process.processIdentifier] + Self.descendants(of: process.processIdentifier) {
                kill(each, SIGKILL)
            }
            _ = ended.wait(timeout: .now() + 10)
        }
        let duration = begin.duration(to: .now) / .seconds(1)
        let output = String(decoding: try Data(contentsOf: URL(fileURLWithPath: log)), as: UTF8.self)
        guard isInTime else { return End(code: nil, seconds: duration, output: output) }
        let signal: Int32 = process.terminationReason == .uncaughtSignal ? 128 : 0
        return End(code: process.terminationStatus + signal, seconds: duration, output: output)
    }

    /// The processes that a process has started, and those that these have started. `swift test`
    /// gives each a process group of its own.
    static func descendants(of root: Int32) -> [Int32] {
        let (process, pipe) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["ps", "-A", "-o", "pid=,ppid="]
        process.standardOutput = pipe
        guard (try? process.run()) != nil, let data = try? pipe.fileHandleForReading.readToEnd() else { return [] }
        var children: [Int32: [Int32]] = [:]
        for line in String(decoding: data, as: UTF8.self).split(separator: "\n") {
            let ids = line.split(separator: " ").compactMap { Int32($0) }
            if ids.count == 2 { children[ids[1], default: []].append(ids[0]) }
        }
        var (found, next) = ([Int32](), [root])
        while let parent = next.popLast() {
            found += children[parent] ?? []
            next += children[parent] ?? []
        }
        return found
    }
}

/// Ends the command that runs when the user ends `mutants`: it is a process group of its own.
enum Interruption {
    /// The command's process; 0 if none runs.
    nonisolated(unsafe) static var process: Int32 = 0

    static func endTheCommandToo() {
        for number in [SIGINT, SIGTERM, SIGHUP] {
            // Safe: the handler calls only what the handler of a signal may call. `swift test` ends
            // its own processes when it is interrupted.
            signal(number) { number in
                if unsafe Interruption.process != 0 { kill(unsafe Interruption.process, SIGINT) }
                _exit(128 + number)
            }
        }
    }
}
