// SPDX-License-Identifier: Apache-2.0

import Glibc

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
