// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Judging
import Synchronization

/// Measures the distance of two processors: the time in which a cache line goes from one to the
/// other and back.
///
/// The host of a virtual machine moves its processors. On one chiplet a line took 80 ns, on two 380
/// ns, for seconds. Memory that one thread allocates and another frees took three times as long
/// then. All rounds are therefore made at one distance, the smallest that was seen.
struct ProcessorDistance {
    /// The smallest distance so far, in nanoseconds.
    private var least = look(until: 0)
    /// The time that rounds have waited so far. `patience` is its limit.
    private var waited = Duration.zero
    private let patience: Duration
    /// The factor by which the distance may exceed the smallest one. On one chiplet it was up to
    /// 1.7, on two it was 4 or more.
    private static let tolerance = 3.0

    init(_ effort: Effort) { patience = .seconds(60 / effort.divisor) }

    /// Waits until the processors are about as near as they have ever been.
    ///
    /// - Returns: False if this took too long.
    mutating func settle() -> Bool {
        while true {
            let now = Self.look(until: least * Self.tolerance)
            least = min(least, now)
            if now <= least * Self.tolerance { return true }
            guard waited < patience else { return false }
            let pause = Duration.milliseconds(50)
            usleep(UInt32(pause / .microseconds(1)))
            waited += pause
        }
    }

    /// Returns the smallest of four measurements. A disturbed one is longer, never shorter. Returns
    /// early if one is as short as `near`.
    private static func look(until near: Double) -> Double {
        var least = look()
        for _ in 1..<4 where least > near { least = min(least, look()) }
        return least
    }

    private static func look() -> Double {
        let (line, left) = (Line(), DispatchGroup())
        let times = 1_000
        DispatchQueue.global().async(group: left) { for step in 0...times { line.pass(from: 2 * step + 1) } }
        // The other thread has arrived.
        line.pass(from: 0)
        let time = nanoseconds { for step in 1...times { line.pass(from: 2 * step) } }
        left.wait()
        return time / Double(times)
    }

    /// A number that two threads increment alternately.
    private final class Line: Sendable {
        private let number = Atomic(0)

        /// Waits for the number, and adds one. Acquire and release: the handover itself is
        /// measured, and nothing else is published.
        func pass(from expected: Int) {
            var spins = 0
            while number.load(ordering: .acquiring) != expected {
                spins += 1
                // The other thread may have no processor.
                if spins.isMultiple(of: 10_000) { sched_yield() }
            }
            number.store(expected + 1, ordering: .releasing)
        }
    }
}

extension ProcessorDistance: CustomStringConvertible {
    var description: String {
        let wait =
            waited > .zero
            ? " Rounds have waited \(decimal(waited / .seconds(1))) s for the processors to come so near." : ""
        return "A cache line goes from one processor to the other and back in \(decimal(least)) ns.\(wait)"
    }
}
