// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// An invariant that did not hold.
public struct Violation: Codable, Sendable {
    /// The name of the scenario or of the test.
    public let scenario: String
    /// The invariant's name.
    public let invariant: String
    /// The facts that contradict it.
    public let message: String
    /// The number of the thread that found it; nil if it was found at rest.
    public let thread: Int?
    /// The run's seed.
    public let seed: UInt64
    /// The command that runs the same workload again.
    public let command: String
    /// The last events of the threads under test, in the order in which they began.
    public let events: [Event]

    package init(
        scenario: String,
        invariant: String,
        message: String,
        thread: Int?,
        seed: UInt64,
        command: String,
        events: [Event]
    ) {
        (self.scenario, self.invariant, self.message, self.thread) = (scenario, invariant, message, thread)
        (self.seed, self.command, self.events) = (seed, command, events)
    }
}

/// Collects violations. The first violation of each invariant is printed when it happens. For the
/// first of all, the events before it are printed, too.
package final class Violations: Sendable {
    private struct State {
        var first: [Violation] = []
        var total = 0
    }

    private let state = Guarded(State())
    private let count = Atomic<Int>(0)
    package let scenario: String
    /// The run's seed.
    package let seed: UInt64
    private let host: RunHost

    package init(scenario: String, seed: UInt64, host: RunHost = RunHost()) {
        (self.scenario, self.seed, self.host) = (scenario, seed, host)
    }

    package var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

    /// The number of violations, and the first one of each invariant.
    package var summary: (total: Int, first: [Violation]) { state.withLock { ($0.total, $0.first) } }

    package func report(_ invariant: String, _ message: String, worker: Worker? = nil) {
        let now = nanoseconds()
        state.withLock { state in
            state.total += 1
            if state.first.contains(where: { $0.invariant == invariant }) { return }
            let violation = Violation(
                scenario: scenario,
                invariant: invariant,
                message: message,
                thread: worker?.index,
                seed: seed,
                command: host.command(scenario, seed),
                events: Roster.shared.timeline(of: worker, before: now)
            )
            state.first.append(violation)
            if !host.isQuiet {
                StandardError.print(violation.text(isFirst: state.first.count == 1, at: worker?.currentStep))
            }
        }
        count.add(1, ordering: .relaxed)
    }
}

extension Violation {
    fileprivate func text(isFirst: Bool, at step: String?) -> String {
        let place = thread.map { " thread \($0), at \(step ?? "?")" } ?? ""
        let line = "VIOLATION \(scenario): \(invariant): \(message)\(place)"
        return isFirst ? "\(line)\n\(WaitInVain.text)\n\(circumstances)" : line
    }

    /// The events before the violation, and the command that runs the same workload again.
    var circumstances: String {
        (events.isEmpty ? "" : "  the last events before it:\n\(events.text)\n")
            + "  seed \(seed): `\(command)` draws the same workload"
    }
}
