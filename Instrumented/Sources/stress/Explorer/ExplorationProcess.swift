// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Explores and replays in other processes, so that a failure, a crash or a deadlock does not
/// affect this one.
enum ExplorationProcess {
    static func explore(_ program: LibraryProgram, _ search: SearchOptions) -> ExplorationVerdict {
        verdict(run(["explore", program.name, "--child"] + search.arguments))
    }

    /// Returns the steps of a schedule, and the result of running it.
    static func replay(_ string: String) -> (steps: [Columns.Step], verdict: ExplorationVerdict) {
        let output = run(["replay", "--child", string])
        let steps = output.split(separator: "\n").compactMap { line -> Columns.Step? in
            let parts = line.split(separator: "\t", omittingEmptySubsequences: false)
            guard parts.count == 4, parts[0] == "step", let thread = Int(parts[1]) else { return nil }
            return Columns.Step(thread: thread, name: String(parts[2]), label: String(parts[3]))
        }
        return (steps, verdict(output))
    }

    private static func verdict(_ output: String) -> ExplorationVerdict {
        guard let verdict = output.split(separator: "\n").last.flatMap({ ExplorationVerdict(line: String($0)) }) else {
            harnessFailure("the exploring process gives no verdict: \(output.suffix(200))")
        }
        return verdict
    }

    private static func run(_ arguments: [String]) -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        do { try process.run() } catch { harnessFailure("the system gives no process: \(error)") }
        // No step of such a process waits forever. If it does, the harness is wrong.
        let limit = DispatchWorkItem { process.terminate() }
        DispatchQueue.global().asyncAfter(deadline: .now() + 1_800, execute: limit)
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        limit.cancel()
        return output
    }
}
