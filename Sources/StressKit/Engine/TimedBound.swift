// SPDX-License-Identifier: Apache-2.0

/// A bound against the clock: the median of the measured durations must not exceed it.
///
/// A thread may be late because it waited in line for a processor. Each duration is therefore
/// recorded twice: as a whole, and without the time in line. If the median exceeds the bound
/// without the time in line, the code is slow: a violation. If it exceeds the bound only with that
/// time, the threads were starved: this round does not judge the bound, and the scenario goes on
/// until a round does. The window shows whether a round has judged it.
package final class TimedBound: Sendable {
    private let invariant: String
    private let limit: UInt64
    private let window: Int
    private let durations = Guarded(Durations())

    private struct Durations {
        var all = Histogram()
        /// Without the time in line.
        var own = Histogram()
    }

    package enum Verdict: Equatable {
        case holds
        case starved
        /// Half took longer than so many nanoseconds, without the time in line.
        case slow(UInt64)
    }

    /// - Parameters:
    ///   - limit: Nanoseconds; more under a sanitizer.
    ///   - window: The index of the scenario's window that is hit when a round has judged the
    ///     bound.
    package init(_ invariant: String, limit: UInt64, window: Int) {
        (self.invariant, self.limit, self.window) = (invariant, limit * Sanitizer.slowdown, window)
    }

    /// - Parameter inLine: The part of it for which the threads in question stood in line.
    package func record(_ duration: UInt64, inLine: UInt64) {
        durations.withLock {
            $0.all.record(duration)
            $0.own.record(duration - min(duration, inLine))
        }
    }

    /// Nil without any duration.
    package var verdict: Verdict? {
        durations.withLock {
            guard let median = $0.all.quantile(0.5), let own = $0.own.quantile(0.5) else { return nil }
            return median <= limit ? .holds : own <= limit ? .starved : .slow(own)
        }
    }

    /// At rest: judges what the round has measured, if that can be.
    ///
    /// - Parameter what: The subject of the message, such as "half of the waits took longer than".
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
