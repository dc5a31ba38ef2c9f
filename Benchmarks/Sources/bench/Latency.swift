// SPDX-License-Identifier: Apache-2.0

import Glibc
import Histogram
import Synchronization

/// When operations that are due at a fixed rate are done, from the moment when each was due.
///
/// An operation that begins late, because the one before it took long or the thread was not
/// running, has waited since it was due: the waiting counts (an open loop, without the coordinated
/// omission that G. Tene describes). The thread spins until the next is due.
struct Latency {
    /// Nanoseconds from one operation's due time to the next one's.
    let interval: UInt64
    /// Operations in a round, one at a time.
    let count: Int

    static let perSecond: UInt64 = 100_000

    init(_ effort: Effort) {
        interval = 1_000_000_000 / Self.perSecond
        count = effort.work(60_000)
    }

    /// Runs one round and returns what it measured, in nanoseconds.
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

/// Nanoseconds of the clock that is not set.
func monotonicNanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// All rounds of each situation, for the table of latencies and its plot.
final class LatencyLog: Sendable {
    static let shared = LatencyLog()

    private let situations = Mutex<[(name: String, histogram: Histogram<UInt64>)]>([])

    /// Adds a round to the situation's.
    func add(_ round: Histogram<UInt64>, to name: String) {
        situations.withLock { situations in
            if let index = situations.firstIndex(where: { $0.name == name }) {
                situations[index].histogram.add(round)
            } else {
                situations.append((name, round))
            }
        }
    }

    /// In the order in which they were first measured.
    var all: [(name: String, histogram: Histogram<UInt64>)] { situations.withLock { $0 } }
}
