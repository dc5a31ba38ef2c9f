// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// An invariant that did not hold.
struct Violation: Codable, Sendable {
    let scenario: String
    let invariant: String
    let message: String
    /// The thread that found it, if it is one of the scenario's.
    let thread: Int?
    /// The run's seed.
    let seed: UInt64
    /// The last events of the threads under test, the thread that found it first.
    let events: [Event]
}

/// Collects violations; the first of each invariant is printed when it happens, the first of all
/// with what led to it.
final class Violations: Sendable {
    private struct State {
        var first: [Violation] = []
        var total = 0
    }

    private let state = Guarded(State())
    private let count = Atomic<Int>(0)
    let scenario: String
    /// The run's.
    let seed: UInt64

    init(scenario: String, seed: UInt64) {
        self.scenario = scenario
        self.seed = seed
    }

    var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

    /// How many there were, and the first of each invariant.
    var summary: (total: Int, first: [Violation]) { state.withLock { ($0.total, $0.first) } }

    func report(_ invariant: String, _ message: String, worker: Worker? = nil) {
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
                events: Roster.shared.timeline(of: worker, before: now)
            )
            state.first.append(violation)
            print(violation, isFirst: state.first.count == 1, at: worker?.currentStep)
        }
        count.add(1, ordering: .relaxed)
    }

    private func print(_ violation: Violation, isFirst: Bool, at step: String?) {
        let place = violation.thread.map { " thread \($0), at \(step ?? "?")" } ?? ""
        var text = "VIOLATION \(scenario): \(violation.invariant): \(violation.message)\(place)"
        if isFirst {
            text += "\n\(WaitInVain.text)"
            if !violation.events.isEmpty { text += "\n  the last events before it:\n\(violation.events.text)" }
            text += "\n  seed \(seed): `stress run \(scenario) --seed \(seed)` draws the same workload"
        }
        StandardError.print(text)
    }
}
