// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// An invariant that did not hold.
struct Violation: Codable, Sendable {
    let scenario: String
    let invariant: String
    let message: String
    let lane: Int?
}

/// Collects violations; the first of each invariant is printed when it happens.
final class Violations: Sendable {
    private struct State {
        var first: [Violation] = []
        var total = 0
    }

    private let state = Guarded(State())
    private let count = Atomic<Int>(0)
    let scenario: String

    init(scenario: String) { self.scenario = scenario }

    var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

    /// How many there were, and the first of each invariant.
    var summary: (total: Int, first: [Violation]) { state.withLock { ($0.total, $0.first) } }

    func report(_ invariant: String, _ message: String, lane: Lane? = nil) {
        let violation = Violation(scenario: scenario, invariant: invariant, message: message, lane: lane?.index)
        let isNew = state.withLock { state in
            state.total += 1
            if state.first.contains(where: { $0.invariant == invariant }) { return false }
            state.first.append(violation)
            return true
        }
        count.add(1, ordering: .relaxed)
        if isNew {
            let place = lane.map { " thread \($0.index), at \($0.currentStep)" } ?? ""
            StandardError.print("VIOLATION \(scenario): \(invariant): \(message)\(place)")
        }
    }
}
