// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// Runs this command in its own process until its output reports a finding.
///
/// A process that the child has forked may live longer than the child, and keep the pipe open.
/// Therefore the end of the pipe is not waited for.
struct Hunt {
    let arguments: [String]
    /// The longest time that the process may take. A run that hangs reports this itself much
    /// sooner.
    let limit: Duration

    struct Finding {
        let catcher: String
        let place: String?
    }

    func run() throws -> Finding? {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        let deadline = nanoseconds() + UInt64(limit.seconds * 1e9)
        try process.run()
        let descriptor = pipe.fileHandleForReading.fileDescriptor
        var text = ""
        var finding: Finding?
        while finding == nil, nanoseconds() < deadline {
            var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            // Safe: there is one request, a variable of this function.
            let isReady = unsafe poll(&request, 1, 100) > 0
            if isReady {
                let data = pipe.fileHandleForReading.availableData
                text += String(decoding: data, as: UTF8.self)
                finding = Self.finding(in: text)
                if data.isEmpty { break }
            } else if !process.isRunning {
                break
            }
        }
        let isOver = !process.isRunning || finding == nil && nanoseconds() < deadline
        if !isOver { kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
        if let finding { return finding }
        // The process was starved, or it hung. This code cannot distinguish the two, so it reports
        // nothing.
        guard isOver else { return nil }
        if process.terminationReason == .uncaughtSignal {
            return Finding(catcher: "signal \(process.terminationStatus)", place: nil)
        }
        switch StressExit(rawValue: process.terminationStatus) {
        case .pass, .inconclusive: return nil
        case .usage, .harnessError: harnessFailure("\(arguments.joined(separator: " ")) fails: \(text.suffix(400))")
        default: return Finding(catcher: "exit \(process.terminationStatus)", place: nil)
        }
    }

    /// Returns the first failure that the text reports; nil if there is none.
    static func finding(in text: String) -> Finding? {
        if let match = text.firstMatch(of: #/VIOLATION (\S+): ((?:P\d+|memory)\.[a-z-]+):/#) {
            return Finding(catcher: String(match.2), place: String(match.1))
        }
        if let match = text.firstMatch(of: #/VIOLATION (\S+): /#) {
            return Finding(catcher: "no order explains it", place: String(match.1))
        }
        if let match = text.firstMatch(of: #/HANG (\S+): /#) {
            return Finding(catcher: "hang", place: String(match.1))
        }
        if let match = text.firstMatch(of: #/CRASH: signal (\w+), scenario (\S*), /#) {
            return Finding(catcher: "crash (\(match.1))", place: String(match.2))
        }
        if let match = text.firstMatch(of: #/SUMMARY: (\w+Sanitizer)/#) {
            return Finding(catcher: String(match.1), place: nil)
        }
        return nil
    }
}
