// SPDX-License-Identifier: Apache-2.0

/// A time limit: the median of the measured durations must not exceed it.
///
/// A thread may be late because it waited for a processor. Each duration is therefore recorded
/// twice: as a whole, and without this waiting time. If the median without it exceeds the limit,
/// the code is slow, and this is a violation. If only the whole median exceeds the limit, the
/// threads were starved. Then this round does not judge the limit, and the scenario goes on until a
/// round does. The window shows whether a round has judged it.
package final class TimedBound: Sendable {
    private let invariant: String
    private let limit: UInt64
    private let window: Int
    private let durations = Guarded(Durations())

    private struct Durations {
        var all = Histogram()
        /// The durations without the time in which threads waited for a processor.
        var own = Histogram()
    }

    package enum Verdict: Equatable {
        case holds
        case starved
        /// Half of the durations were longer than this number of nanoseconds, without the time in
        /// line.
        case slow(UInt64)
    }

    /// Makes a limit.
    ///
    /// - Parameters:
    ///   - limit: The limit in nanoseconds. It is longer under a sanitizer.
    ///   - window: The index of the scenario's window that is hit when a round has judged the
    ///     limit.
    package init(_ invariant: String, limit: UInt64, window: Int) {
        (self.invariant, self.limit, self.window) = (invariant, limit * Sanitizer.slowdown, window)
    }

    /// Records a duration.
    ///
    /// - Parameter inLine: The part of it in which the measured threads waited for a processor.
    package func record(_ duration: UInt64, inLine: UInt64) {
        durations.withLock {
            $0.all.record(duration)
            $0.own.record(duration - min(duration, inLine))
        }
    }

    /// The verdict; nil if no duration was recorded.
    package var verdict: Verdict? {
        durations.withLock {
            guard let median = $0.all.quantile(0.5), let own = $0.own.quantile(0.5) else { return nil }
            return median <= limit ? .holds : own <= limit ? .starved : .slow(own)
        }
    }

    /// Judges the durations of the round, if it can. Call it at rest.
    ///
    /// - Parameter what: The begin of the message, such as "half of the waits took longer than".
    package func judge(_ round: Round, _ what: String) {
        guard !round.isFaulted else { return }
        switch verdict {
        case nil, .starved: return
        case .holds: round.check(true, invariant, what)
        case .slow(let own): round.check(false, invariant, "\(what) \(own / 1_000) µs on a processor")
        }
        round.workers.first?.hit(window)
    }
}
