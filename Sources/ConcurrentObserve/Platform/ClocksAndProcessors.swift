// SPDX-License-Identifier: Apache-2.0

import CPlatform

/// The clock that measures the library's own time limits and intervals.
internal enum LibraryClock {
    static var now: ContinuousClock.Instant {
        return .now
    }

    /// The time since the machine started, in units of about a quarter of a second. Reading it
    /// costs a few nanoseconds: the kernel keeps it in memory that every process can read.
    static var quarters: UInt32 { cplatform_quarters() }
}

/// The processor time of a thread. Other threads may read it while the thread exists.
internal struct ProcessorClock: Sendable {
    private let id: UInt64

    /// The clock of the calling thread; nil if the system has none.
    static var ofThisThread: ProcessorClock? {
        let id = cplatform_thread_clock()
        return id == 0 ? nil : ProcessorClock(id: id)
    }

    /// The processor time that the thread has used so far; nil if the thread no longer exists.
    var time: Duration? {
        let time = cplatform_thread_time(id)
        return time < 0 ? nil : .nanoseconds(time)
    }
}

/// The processors of the machine.
internal enum Processors {
    /// The number of threads that can run at once.
    static var count: Int { Int(cplatform_processor_count()) }
}
