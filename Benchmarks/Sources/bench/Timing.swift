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
