// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The time by which the library's threads decide.
internal enum LibraryClock {
    static var now: ContinuousClock.Instant {
        return .now
    }

    /// The time since the machine started, in units of about a quarter of a second. It costs a few nanoseconds: the kernel keeps it in
    /// memory that every process reads.
    static var quarters: UInt32 {
        var time = timespec()
        // Safe: the variable is this function's. The clock exists in every Linux.
        unsafe clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        // A second has less than four times 2^28 nanoseconds, and more than three times.
        return UInt32(truncatingIfNeeded: time.tv_sec << 2 | time.tv_nsec >> 28)
    }
}
