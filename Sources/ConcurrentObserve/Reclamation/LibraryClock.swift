// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The clock by which the library's threads decide.
internal enum LibraryClock {
    static var now: ContinuousClock.Instant {
        return .now
    }

    /// The time since the machine started, in units of about a quarter of a second. Reading it
    /// costs a few nanoseconds: the kernel keeps it in memory that every process can read.
    static var quarters: UInt32 {
        var time = timespec()
        // Safe: the variable is this function's. Every Linux has this clock.
        unsafe clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        // A second has between three and four times 2^28 nanoseconds.
        return UInt32(truncatingIfNeeded: time.tv_sec << 2 | time.tv_nsec >> 28)
    }
}
