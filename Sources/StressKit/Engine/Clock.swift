// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Returns the monotonic time in nanoseconds.
package func nanoseconds() -> UInt64 {
    var time = timespec()
    // Safe: a variable of this frame.
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Keeps the processor busy for about this time.
package func spin(nanoseconds duration: UInt64) {
    let end = nanoseconds() + duration
    while nanoseconds() < end {}
}

/// Converts durations to seconds, for arithmetic and for printing.
extension Duration {
    package var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
