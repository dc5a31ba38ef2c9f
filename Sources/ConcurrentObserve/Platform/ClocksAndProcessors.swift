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

/// The processor time of a thread. Other threads may read it while the thread exists.
internal struct ProcessorClock: Sendable {
    private let id: clockid_t

    /// The clock of the calling thread; nil if the system has none.
    static var ofThisThread: ProcessorClock? {
        var id = clockid_t()
        // Safe: the calling thread exists, the variable is this function's.
        guard unsafe pthread_getcpuclockid(pthread_self(), &id) == 0 else { return nil }
        return ProcessorClock(id: id)
    }

    /// How long the thread has run so far; nil if the thread no longer exists.
    var time: Duration? {
        var time = timespec()
        // Safe: the variable is this function's.
        guard unsafe clock_gettime(id, &time) == 0 else { return nil }
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

/// The processors of the machine.
internal enum Processors {
    /// The number of threads that can run at once.
    static var count: Int { sysconf(Int32(_SC_NPROCESSORS_ONLN)) }
}
