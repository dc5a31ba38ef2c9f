// SPDX-License-Identifier: Apache-2.0

// An *item* is a retired object: see `Retirable`. A *pass* takes all items, scans the hazard
// pointers of all threads (in their frames), and reclaims the items that no frame holds. The
// comment at the top of `ReclamationThread.swift` explains this folder.

import ConcurrentObservePlatform

/// Decides how many deinit threads to start. While items wait, it measures how fast the threads
/// begin items, and how much processor time they use. Two measurements are at least four
/// milliseconds apart.
///
/// The lock of the `DeinitThreads` guards it.
internal struct DeinitPace {
    /// The last measurement; nil unless items have waited since then.
    private var look: Look?
    /// The number of measurements in a row that found the threads blocked or slow.
    private var stalls = 0

    /// The number of threads that can run at once.
    private let processors = Processors.count

    private struct Look {
        let begun: Int
        let at: ContinuousClock.Instant
    }

    /// The shortest time between two measurements.
    private static var patience: Duration { .milliseconds(4) }
    /// A thread that begins fewer items than this between two measurements is blocked or slow.
    private static var briskPace: Int { 8 }
    /// The largest number of threads if deinitialisers are slow but not blocked. More threads would
    /// not help then.
    private static var mostSlowThreads: Int { 32 }

    /// Returns how many threads to start now.
    ///
    /// - Parameters:
    ///   - queues: The items that wait.
    ///   - workers: The threads that exist.
    ///   - idle: How many threads wait for items.
    ///   - begun: The number of items begun since the process began.
    mutating func missingThreads(
        for queues: DestructionQueues,
        workers: [ObjectIdentifier: DeinitWorker],
        idle: Int,
        begun: Int
    ) -> Int {
        let now = LibraryClock.now
        guard queues.next != nil, idle == 0, !workers.isEmpty else {
            restart()
            return queues.next != nil && workers.isEmpty ? 1 : 0
        }
        guard let look else {
            lookAgain(at: workers, begun, now)
            return 0
        }
        // Half of the processors are left to other threads, which must not wait for deinitialisers
        // that compute.
        if DestructionQueues.isAnyCrowded, workers.count * 2 < processors { return 1 }
        let elapsed = look.at.duration(to: now)
        guard elapsed >= Self.patience else { return 0 }
        let served = begun &- look.begun
        let computed = lookAgain(at: workers, begun, now)
        guard served < Self.briskPace * workers.count, workers.count < DestructionQueues.mostThreads else { return 0 }
        // If the threads compute, more threads would only share the processors.
        let isComputing = computed * 2 >= elapsed * min(workers.count, processors)
        // If no item was begun, all threads are blocked. Otherwise they are so slow that delays of
        // a few milliseconds would add up.
        let limit = served == 0 ? DestructionQueues.mostThreads : Self.mostSlowThreads
        guard !isComputing, workers.count < limit else {
            // But no source may wait because other sources occupy all threads. (P14)
            let mostUnserved = isComputing ? 1 : DestructionQueues.mostThreads - workers.count
            return min(queues.unserved, mostUnserved)
        }
        // Doubles the number of new threads each time, until nothing waits.
        stalls += 1
        return min(1 << min(stalls - 1, 6), limit - workers.count, queues.waiting)
    }

    /// Stores a new measurement.
    ///
    /// - Returns: The processor time that the threads have used since the last measurement.
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

    /// Forgets the measurements, because no item waits, a thread is idle, or no thread exists.
    mutating func restart() { (stalls, look) = (0, nil) }
}
