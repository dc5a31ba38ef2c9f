// SPDX-License-Identifier: Apache-2.0

public import CPlatform

/// The clock of the deinit threads' pauses, and of the ages of tokens.
@usableFromInline
package enum LibraryClock {
    package static var now: ContinuousClock.Instant {
        return .now
    }

    /// The time since the machine started, in units of about a quarter of a second. Tokens have
    /// their age in it. Reading it costs a few nanoseconds, because the kernel keeps it in memory
    /// that every process can read.
    @inlinable
    package static var quarters: UInt32 { cplatform_quarters() }
}

/// The processor time of a thread. Other threads may read it while the thread exists. `DeinitPace`
/// measures with it how busy the deinit threads are.
package struct ProcessorClock: Sendable {
    private let id: UInt64

    /// The clock of the calling thread; nil if the system has none.
    package static var ofThisThread: ProcessorClock? {
        let id = cplatform_thread_clock()
        return id == 0 ? nil : ProcessorClock(id: id)
    }

    /// The processor time that the thread has used so far; nil if the thread no longer exists.
    package var time: Duration? {
        let time = cplatform_thread_time(id)
        return time < 0 ? nil : .nanoseconds(time)
    }
}

/// The processors of the machine.
package enum Processors {
    /// The number of threads that can run at once.
    package static var count: Int { Int(cplatform_processor_count()) }
}
