// SPDX-License-Identifier: Apache-2.0

/// The result of an exploring process, in one line.
package enum ExplorationVerdict: Equatable {
    case explored(runs: Int, isComplete: Bool)
    case found(invariant: String, message: String, schedule: Schedule, preemptions: Int)
    /// The harness is at fault.
    case diverged(String)

    package var line: String {
        switch self {
        case .explored(let runs, let isComplete): "explored\t\(runs)\t\(isComplete)"
        case .found(let invariant, let message, let schedule, let preemptions):
            "found\t\(invariant)\t\(message)\t\(schedule.text)\t\(preemptions)"
        case .diverged(let message): "diverged\t\(message)"
        }
    }

    package init?(line: String) {
        let parts = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        switch (parts[0], parts.count) {
        case ("explored", 3):
            guard let runs = Int(parts[1]) else { return nil }
            self = .explored(runs: runs, isComplete: parts[2] == "true")
        case ("found", 5):
            guard let schedule = Schedule(text: parts[3]), let preemptions = Int(parts[4]) else { return nil }
            self = .found(invariant: parts[1], message: parts[2], schedule: schedule, preemptions: preemptions)
        case ("diverged", 2): self = .diverged(parts[1])
        // A process that dies writes the signal, its steps as single letters, and the preemptions.
        case ("crashed", 4):
            guard let preemptions = Int(parts[3]) else { return nil }
            let schedule = Schedule(parts[2].compactMap(Schedule.letters.firstIndex))
            self = .found(
                invariant: Self.crash,
                message: "signal \(Int(parts[1]) ?? 0)",
                schedule: schedule,
                preemptions: preemptions
            )
        default: return nil
        }
    }

    /// The word in place of an invariant when the process has crashed.
    package static let crash = "crash"
}
