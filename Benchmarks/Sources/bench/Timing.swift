// SPDX-License-Identifier: Apache-2.0

/// Returns the nanoseconds that `body` takes.
@inline(never)
func nanoseconds(_ body: () -> Void) -> Double {
    let clock = ContinuousClock()
    let start = clock.now
    body()
    let (seconds, attoseconds) = start.duration(to: clock.now).components
    return Double(seconds) * 1e9 + Double(attoseconds) / 1e9
}

/// Says how long and how often to measure.
struct Effort {
    /// The number of rounds of a case, before more are added because these are too few to judge it.
    let rounds: Int
    /// The number of times that as many rounds are added.
    let extensions: Int
    /// The number by which the work of a round is divided.
    let divisor: Int

    static let full = Effort(rounds: 21, extensions: 3, divisor: 1)
    static let quick = Effort(rounds: 11, extensions: 1, divisor: 4)

    /// Returns the work of a round; `full` is the work in a full run.
    func work(_ full: Int) -> Int { max(1, full / divisor) }
}
