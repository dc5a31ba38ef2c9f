// SPDX-License-Identifier: Apache-2.0

import ConcurrentObservePlatform
import Synchronization

/// Figures about the library in this process at one moment. Use them for metrics and to find a
/// stuck callback.
///
/// Reading the figures takes no lock that a notification, a registration or a cancellation needs,
/// except on a thread's first use of the library. Each thread has its own counts, and reading adds
/// them up. Under load the figures may therefore disagree with each other by the changes during the
/// call; at rest they are exact.
public struct ConcurrentObserveDiagnostics: Sendable {
    /// The number of observations that have begun and not ended.
    public let liveObservers: Int

    /// The number of ended observations, replaced values and replaced tables that were handed over
    /// for reclamation since the process began.
    public let retired: Int

    /// The number of `retired` items that are reclaimed: their closures are destroyed, and their
    /// memory is released.
    public let reclaimed: Int

    /// The number of `retired` items that are not reclaimed yet.
    public var backlog: Int { retired - reclaimed }

    /// The number of observations that ended because their token was released within about a second
    /// after they began, since the process began. A service that keeps its tokens has none: see
    /// <doc:Troubleshooting>.
    ///
    /// The library measures the time in quarters of a second, and stores it in 12 bits. Therefore
    /// it also counts an observation whose token is released in the first second after a multiple
    /// of 17 minutes.
    public let tokensReleasedEarly: Int

    /// The number of events that overload policies dropped, or whose delivery had not begun when
    /// their observation ended, since the process began: the sum of `DeliveryCounts.dropped` over
    /// all observations.
    public let droppedEvents: Int

    /// The number of events that wait in the mailboxes of observers and iterators which are slower
    /// than the changes: the sum of `DeliveryCounts.pending` over all observations.
    ///
    /// `largestMailboxes(_:)` reports which mailboxes have the most.
    public let pendingEvents: Int

    /// The highest `pendingEvents` so far. The library checks when these diagnostics are read, when
    /// something is reclaimed, when a large mailbox has grown by another 1,024 events, and once a
    /// second on its reclamation thread while that has nothing to reclaim.
    public let peakPendingEvents: Int

    /// The number of grace periods that the library has waited for since the process began. Without
    /// liburcu, the number of barriers that it has executed in their place.
    public let gracePeriods: Int

    /// The time for which the oldest running callback has been seen running; nil if no callback is
    /// running.
    ///
    /// It is a lower bound, counted from the first check that found the callback. The library
    /// checks when these diagnostics are read, while something waits to be reclaimed, and otherwise
    /// once a second on its reclamation thread.
    public let oldestCallbackAge: Duration?

    /// The number of records of threads that have used the library and not exited, and of records
    /// of exited threads that wait for a new thread.
    public let threadRecords: Int

    /// Whether the library uses the kernel's membarrier. Without it a notification executes a full
    /// fence for every observer.
    public let usesMembarrier: Bool

    /// Reads the figures. Any thread, also inside a callback; never waits for user code.
    ///
    /// - Complexity: O(threads).
    public static func current() -> ConcurrentObserveDiagnostics {
        Fork.noteUse()
        let since = CallbackAges.shared.observe()
        let pending = PendingEvents.look()
        // Reclaimed items first: if they were counted after the retired ones, their number could be
        // higher.
        let reclaimed = ReclamationThread.shared.batches.reclaimedCount
        let released = MagazineCounts.released()
        let retired = ThreadRecords.shared.retiredCount &+ MagazineCounts.put()
        // Read last, so that it is not smaller than the number of references that the counts above
        // include twice.
        let counts = RetiredCounts.note(retired, reclaimed &+ released, twice: MagazineCounts.handedOver())
        var live = 0
        var dropped: UInt = 0
        var releasedEarly: UInt = 0
        unsafe ThreadRecords.shared.forEach { record in
            // Relaxed, all: statistics.
            unsafe live &+= record.pointee.liveObservers.load(ordering: .relaxed)
            unsafe dropped &+= record.pointee.droppedCount.load(ordering: .relaxed)
            unsafe releasedEarly &+= UInt(record.pointee.droppedTokens.load(ordering: .relaxed))
        }
        return ConcurrentObserveDiagnostics(
            liveObservers: live,
            retired: Int(bitPattern: counts.retired),
            reclaimed: Int(bitPattern: counts.reclaimed),
            tokensReleasedEarly: Int(bitPattern: releasedEarly),
            droppedEvents: Int(bitPattern: dropped),
            pendingEvents: pending,
            peakPendingEvents: PendingEvents.peak,
            gracePeriods: Int(bitPattern: ReclamationThread.shared.gracePeriodCount),
            oldestCallbackAge: since.map { $0.duration(to: .now) },
            threadRecords: ThreadRecords.shared.count,
            usesMembarrier: !AsymmetricBarrier.needsFences
        )
    }
}

/// The highest numbers of retired and reclaimed items that a call of `current()` has found.
///
/// A reference that a thread hands over is counted twice, and then subtracted once. A reading
/// between the two steps may be lower than the one before it, so the highest reading is kept. It is
/// exact once no thread retires.
internal enum RetiredCounts {
    private static let retired = Atomic<UInt>(0)
    private static let reclaimed = Atomic<UInt>(0)

    /// Records the numbers that a call of `current()` has counted.
    ///
    /// - Parameters:
    ///   - retired: The number of retired items. It counts items that were handed over twice.
    ///   - reclaimed: The number of reclaimed items. It counts items that were handed over twice.
    ///   - twice: The number of items that were handed over.
    /// - Returns: The highest numbers that any call has found.
    static func note(_ retired: UInt, _ reclaimed: UInt, twice: UInt) -> (retired: UInt, reclaimed: UInt) {
        // `twice` may include an item that the other numbers do not count yet. Relaxed: the
        // exchange below publishes it.
        self.retired.max(retired >= twice ? retired &- twice : 0, ordering: .relaxed)
        // Release and acquire: pair with each other. A call that reads the number of reclaimed
        // items of another call also reads that call's number of retired items.
        let highest = self.reclaimed.max(reclaimed >= twice ? reclaimed &- twice : 0, ordering: .acquiringAndReleasing)
        // Relaxed: ordered by the exchange above.
        return (self.retired.load(ordering: .relaxed), highest.newValue)
    }
}
