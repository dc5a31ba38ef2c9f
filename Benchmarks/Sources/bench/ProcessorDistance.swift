// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Judging
import Synchronization

/// How far two processors are from each other: how long a cache line takes from one to the other
/// and back.
///
/// The host of a virtual machine moves its processors. On one chiplet a line took 80 ns, on two
/// 380, for seconds on end; what one thread allocates and another frees took three times as long
/// then. So all rounds are of one distance, the least that was seen.
struct ProcessorDistance {
    /// Nanoseconds.
    private var least = look(until: 0)
    /// How long rounds have waited, in all, and may wait.
    private var waited = Duration.zero
    private let patience: Duration
    /// How many times the least they may be. On one chiplet it was up to 1.7, on two from 4.
    private static let tolerance = 3.0

    init(_ effort: Effort) { patience = .seconds(60 / effort.divisor) }

    /// Waits until the processors are about as near each other as they have ever been.
    ///
    /// - Returns: False if they did not come near in time.
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

    /// The least of four looks: one that is disturbed takes longer, never less. Fewer if one is as
    /// near as asked for.
    private static func look(until near: Double) -> Double {
        var least = look()
        for _ in 1..<4 where least > near { least = min(least, look()) }
        return least
    }

    private static func look() -> Double {
        let (line, left) = (Line(), DispatchGroup())
        let times = 1_000
        DispatchQueue.global().async(group: left) { for step in 0...times { line.pass(from: 2 * step + 1) } }
        // The other thread is there.
        line.pass(from: 0)
        let time = nanoseconds { for step in 1...times { line.pass(from: 2 * step) } }
        left.wait()
        return time / Double(times)
    }

    /// A number that two threads raise in turn.
    private final class Line: Sendable {
        private let number = Atomic(0)

        /// Waits for the number, and adds one. Acquire and release: the hand over is what is
        /// measured; nothing else is published.
        func pass(from expected: Int) {
            var spins = 0
            while number.load(ordering: .acquiring) != expected {
                spins += 1
                // The other may have no processor.
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
