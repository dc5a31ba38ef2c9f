// SPDX-License-Identifier: Apache-2.0

/// Explores and replays in other processes, so that a failure, a crash or a deadlock does not
/// affect this one.
enum ExplorationProcess {
    static func explore(_ program: LibraryProgram, _ search: SearchOptions) -> ExplorationVerdict {
        verdict(CommandProcess.run(["explore", program.name, "--child"] + search.arguments).output)
    }

    /// Returns the steps of a schedule, and the result of running it.
    static func replay(_ string: String) -> (steps: [Columns.Step], verdict: ExplorationVerdict) {
        let output = CommandProcess.run(["replay", "--child", string]).output
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
}
