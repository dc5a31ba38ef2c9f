// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Decides how many deinit threads to start: looks from time to time how fast items are begun, and
/// how much processor time the threads use meanwhile.
///
/// Guarded by the lock of the `DeinitThreads`.
internal struct DeinitPace {
    /// What was seen at the last look, if items have waited since then.
    private var look: Look?
    /// How many looks in a row have found the threads blocked or slow.
    private var stalls = 0

    /// So many threads can run at once.
    private let processors = sysconf(Int32(_SC_NPROCESSORS_ONLN))

    private struct Look {
        let begun: Int
        let at: ContinuousClock.Instant
    }

    // Those that follow are computed: a stored one would be made on its first use, and a fork that
    // catches a thread there would leave it half made in the child. (P18)

    /// The time between two looks.
    private static var patience: Duration { .milliseconds(4) }
    /// A thread that begins fewer items than this between two looks is blocked or slow.
    private static var briskPace: Int { 8 }
    /// More threads than this do not help with deinitialisers that are slow, not blocked.
    private static var mostSlowThreads: Int { 32 }

    /// When threads were last looked at for items that they do not get to.
    private var withdrawal: ContinuousClock.Instant?

    /// Whether it is time to look for threads that have had their items since an earlier look.
    mutating func mayWithdraw() -> Bool {
        let now = LibraryClock.now
        if let withdrawal, withdrawal.duration(to: now) < Self.patience { return false }
        withdrawal = now
        return true
    }

    /// How many threads to start now.
    ///
    /// - Parameters:
    ///   - queues: What waits.
    ///   - workers: The threads that exist.
    ///   - idle: How many of them wait for items.
    ///   - begun: Items begun since the process began.
    mutating func missingThreads(
        for queues: SourceQueues,
        workers: [ObjectIdentifier: DeinitWorker],
        idle: Int,
        begun: Int
    ) -> Int {
        let now = LibraryClock.now
        let next = queues.next
        guard let next, idle == 0, !workers.isEmpty else {
            restart()
            return next != nil && workers.isEmpty ? 1 : 0
        }
        guard let look else {
            lookAgain(at: workers, begun, now)
            return 0
        }
        // Half of the processors are for other threads, which must not wait for deinitialisers that
        // compute.
        if SourceQueues.isAnyCrowded, workers.count * 2 < processors { return 1 }
        let elapsed = look.at.duration(to: now)
        guard elapsed >= Self.patience else { return 0 }
        let served = begun &- look.begun
        let computed = lookAgain(at: workers, begun, now)
        guard served < Self.briskPace * workers.count, workers.count < SourceQueues.mostThreads else { return 0 }
        // Where threads compute, more of them would only share the processors. But no source waits
        // for the sake of other sources.
        let isComputing = computed * 2 >= elapsed * min(workers.count, processors)
        // All threads are blocked, or so slow that delays of a few milliseconds would add up.
        let limit = served == 0 ? SourceQueues.mostThreads : Self.mostSlowThreads
        guard !isComputing, workers.count < limit else { return next.busy == 0 ? 1 : 0 }
        // Twice as many more each time until nothing waits.
        stalls += 1
        return min(1 << min(stalls - 1, 6), limit - workers.count, queues.waiting)
    }

    /// Notes what is to be seen now.
    ///
    /// - Returns: The processor time that the threads have used since the last look.
    @discardableResult
    private mutating func lookAgain(
        at workers: [ObjectIdentifier: DeinitWorker],
        _ begun: Int,
        _ now: ContinuousClock.Instant
    ) -> Duration {
        look = Look(begun: begun, at: now)
        var computed = Duration.zero
        for worker in workers.values { computed += worker.newProcessorTime() }
        return computed
    }

    /// Nothing waits, or the threads do not exist any more.
    mutating func restart() { (stalls, look) = (0, nil) }
}
