// SPDX-License-Identifier: Apache-2.0

/// The result of one row, one weakening or one defect, as `stress report` reads kills.
///
/// An ordering that is kept for a reason although no test needs it is none: nothing can be found.
public struct Kill: Encodable, Sendable {
    /// Nil: a row as the code has it.
    let mutant: String?
    let engine = "litmus"
    /// The row.
    let scenario: String
    let seed = 0
    let verdict: String
    /// The memory models that allow what must not be.
    let catcher: String?
    let seconds: Double

    init(row: String, holds: Bool, since start: ContinuousClock.Instant) {
        (mutant, scenario, catcher) = (nil, row, nil)
        verdict = holds ? "clean" : "failed"
        seconds = Self.seconds(since: start)
    }

    init(of change: String, in row: String, foundBy targets: [Target], seconds: Double) {
        (mutant, scenario, self.seconds) = (change, row, seconds)
        verdict = targets.isEmpty ? "survived" : "killed"
        catcher = targets.isEmpty ? nil : targets.map(\.rawValue).joined(separator: ", ")
    }

    static func seconds(since start: ContinuousClock.Instant) -> Double {
        let duration = ContinuousClock.now - start
        return Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
    }
}
