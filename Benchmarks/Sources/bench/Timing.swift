// SPDX-License-Identifier: Apache-2.0

/// Nanoseconds that `body` takes.
@inline(never)
func nanoseconds(_ body: () -> Void) -> Double {
    let clock = ContinuousClock()
    let start = clock.now
    body()
    let (seconds, attoseconds) = start.duration(to: clock.now).components
    return Double(seconds) * 1e9 + Double(attoseconds) / 1e9
}

/// How long and how often to measure.
struct Effort {
    /// Rounds of a case, before more are added because they do not suffice to judge it.
    let rounds: Int
    /// Times that as many rounds are added.
    let extensions: Int
    /// Divides the work of a round.
    let divisor: Int

    static let full = Effort(rounds: 21, extensions: 3, divisor: 1)
    static let quick = Effort(rounds: 11, extensions: 1, divisor: 4)

    /// The work of a round, `full` in a full run.
    func work(_ full: Int) -> Int { max(1, full / divisor) }
}

/// The rounds of one case, ours and the reference's measured in turn.
struct Rounds {
    var ours: [Double] = []
    var reference: [Double] = []
    private var isOursFirst = true

    /// Ours over the reference, round by round; without a reference, ours.
    var figures: [Double] { reference.isEmpty ? ours : zip(ours, reference).map { $0 / $1 } }

    /// Measures `count` rounds more. Each side goes first in every other round, so that a drift favours neither.
    mutating func run(_ count: Int, ours measureOurs: () -> Double, reference measureReference: (() -> Double)?) {
        for _ in 0..<count {
            guard let measureReference else {
                ours.append(measureOurs())
                continue
            }
            let early = isOursFirst ? measureOurs() : measureReference()
            let late = isOursFirst ? measureReference() : measureOurs()
            defer { isOursFirst.toggle() }
            // A round that was disturbed beyond use.
            if early.isNaN || late.isNaN { continue }
            ours.append(isOursFirst ? early : late)
            reference.append(isOursFirst ? late : early)
        }
    }
}

extension [Double] {
    /// The value below which the given part of the values lies, interpolated. The array is not empty.
    func quantile(_ part: Double) -> Double {
        let sorted = self.sorted()
        let position = part * Double(count - 1)
        let below = Int(position)
        guard below + 1 < count else { return sorted[below] }
        return sorted[below] + (sorted[below + 1] - sorted[below]) * (position - Double(below))
    }

    var median: Double { quantile(0.5) }
}
