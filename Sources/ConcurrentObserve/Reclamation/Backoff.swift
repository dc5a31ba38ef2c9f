// SPDX-License-Identifier: Apache-2.0

import CURCU
import Glibc

/// Waiting for something short that no thread signals: spins, then yields, then sleeps for longer
/// and longer.
internal struct Backoff {
    private var round = 0

    /// Waits while `condition` holds; it looks, and changes nothing.
    static func wait(for name: StaticString, while condition: () -> Bool) {
        var wait = Backoff()
        while condition() { wait.pause() }
    }

    mutating func pause() {
        round += 1
        switch round {
        case ...64:
            for _ in 0..<16 { curcu_spin_hint() }
        case ...80:
            sched_yield()
        default:
            // Doubles from 50 µs to 3.2 ms, then stays.
            usleep(50 << UInt32(min(round - 81, 6)))
        }
    }
}
