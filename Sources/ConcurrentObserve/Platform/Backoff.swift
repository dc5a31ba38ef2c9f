// SPDX-License-Identifier: Apache-2.0

import CPlatform

/// Waits for a short event that no thread signals. It spins first, then yields, then sleeps for
/// increasing times.
@usableFromInline
package struct Backoff {
    @usableFromInline internal var round: Int

    @inlinable
    package init() { round = 0 }

    /// Waits while `condition` holds. `condition` must have no side effects.
    package static func wait(for name: StaticString, while condition: () -> Bool) {
        var wait = Backoff()
        while condition() { wait.pause() }
    }

    package mutating func pause() {
        round += 1
        switch round {
        case ...64:
            for _ in 0..<16 { cplatform_spin_hint() }
        case ...80:
            cplatform_yield()
        default:
            // The sleep doubles from 50 µs to 3.2 ms, and then stays at 3.2 ms.
            cplatform_sleep(50 << UInt32(min(round - 81, 6)))
        }
    }
}
