// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Monotonic time in nanoseconds, as cheap as the system has it.
func nanoseconds() -> UInt64 {
    var time = timespec()
    // Safe: a variable of this frame.
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Keeps the processor busy for about so long.
func spin(nanoseconds duration: UInt64) {
    let end = nanoseconds() + duration
    while nanoseconds() < end {}
}

/// Waits until `condition` holds, ten seconds at most.
///
/// - Returns: How long that took, but for what the system took from this thread: a promise of promptness does not count it. (P14)
func waitOnSchedule(until condition: () -> Bool) -> UInt64 {
    var (counted, last): (UInt64, UInt64) = (0, nanoseconds())
    let end = last + 10_000_000_000
    while !condition(), last < end {
        usleep(200)
        let now = nanoseconds()
        // A sleep that took longer than that was not slept: others had the processor, and whoever is waited for may not have had it.
        counted += min(now - last, 1_000_000)
        last = now
    }
    return counted
}

/// Seconds as a number, for arithmetic and printing.
extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
