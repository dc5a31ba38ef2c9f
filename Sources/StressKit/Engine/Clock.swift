// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Monotonic time in nanoseconds, as cheap as the system has it.
package func nanoseconds() -> UInt64 {
    var time = timespec()
    // Safe: a variable of this frame.
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Keeps the processor busy for about so long.
package func spin(nanoseconds duration: UInt64) {
    let end = nanoseconds() + duration
    while nanoseconds() < end {}
}

/// Seconds as a number, for arithmetic and printing.
extension Duration {
    package var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
