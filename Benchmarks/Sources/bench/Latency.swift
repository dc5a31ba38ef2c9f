// SPDX-License-Identifier: Apache-2.0

import Glibc
import Histogram
import Synchronization

/// Measures the time from the moment when an operation is due to its end. Operations are due at a
/// fixed rate.
///
/// An operation may begin late, because the previous one took long, or because the thread was not
/// running. The time since it was due is then included (an open loop, without the coordinated
/// omission that G. Tene describes). The thread spins until the next operation is due.
struct Latency {
    /// The nanoseconds between the times at which two operations are due.
    let interval: UInt64
    /// The number of operations in a round, one at a time.
    let count: Int

    static let perSecond: UInt64 = 100_000

    init(_ effort: Effort) {
        interval = 1_000_000_000 / Self.perSecond
        count = effort.work(60_000)
    }

    /// Runs one round. Returns the measured latencies in nanoseconds.
    func round(_ operation: (Int) -> Void) -> Histogram<UInt64> {
        var histogram = Histogram<UInt64>(highestTrackableValue: 60_000_000_000, numberOfSignificantValueDigits: .three)
        var due = monotonicNanoseconds() + interval
        for index in 0..<count {
            while monotonicNanoseconds() < due {}
            operation(index)
            _ = histogram.record(monotonicNanoseconds() - due)
            due += interval
        }
        return histogram
    }
}

/// Returns the nanoseconds of the monotonic clock.
func monotonicNanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Keeps the rounds of each situation, for the table of latencies and its plot.
final class LatencyLog: Sendable {
    static let shared = LatencyLog()

    private let situations = Mutex<[(name: String, histogram: Histogram<UInt64>)]>([])

    /// Adds a round to the situation with this name.
    func add(_ round: Histogram<UInt64>, to name: String) {
        situations.withLock { situations in
            if let index = situations.firstIndex(where: { $0.name == name }) {
                situations[index].histogram.add(round)
            } else {
                situations.append((name, round))
            }
        }
    }

    /// The situations in the order in which they were first measured.
    var all: [(name: String, histogram: Histogram<UInt64>)] { situations.withLock { $0 } }
}
