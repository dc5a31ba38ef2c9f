// SPDX-License-Identifier: Apache-2.0

import ConcurrentObservePlatform
import Synchronization

/// Figures about the library in this process at one moment. Use them for metrics and to find a
/// stuck callback.
///
/// Reading the figures takes no lock that a notification, a registration or a cancellation needs,
/// except on a thread's first use of the library. Each thread has its own counts, and reading adds
/// them up. If other threads change the counts during the call, the figures may not fit together;
/// at rest they are exact.
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

    /// The number of observations, since the process began, that ended early: their token was
    /// released within about a second of the registration. A service that keeps its tokens has
    /// none: see <doc:Troubleshooting>.
    ///
    /// The library measures the time in quarters of a second, and stores it in 12 bits. After every
    /// 17 minutes the stored time repeats. Therefore the library also counts a token that is
    /// released in the first second after 17 minutes of its observation, after 34 minutes, and so
    /// on.
    public let tokensReleasedEarly: Int

    /// The number of events lost since the process began. An event is lost if an overload policy
    /// drops it, or if its delivery has not begun when its observation ends. This is the sum of
    /// `DeliveryCounts.dropped` over all observations.
    public let droppedEvents: Int

    /// The number of events that wait in mailboxes now, because their observers or iterators are
    /// slower than the changes. This is the sum of `DeliveryCounts.pending` over all observations.
    ///
    /// `largestMailboxes(_:)` reports which mailboxes have the most.
    public let pendingEvents: Int

    /// The highest `pendingEvents` so far. The library checks the number when these diagnostics are
    /// read, when something is reclaimed, and when a large mailbox has grown by another 1,024
    /// events. While its reclamation thread has nothing to reclaim, that thread checks once a
    /// second.
    public let peakPendingEvents: Int

    /// The number of grace periods that the library has waited for since the process began. Without
    /// liburcu, the number of barriers that it has executed in place of grace periods.
    public let gracePeriods: Int

    /// The time since the library first saw the oldest running callback; nil if no callback is
    /// running.
    ///
    /// It is a lower bound, because the callback may have begun some time before the first check
    /// that found it. The library checks when these diagnostics are read, while something waits to
    /// be reclaimed, and otherwise once a second on its reclamation thread.
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
        // The handed-over references are counted last, so that their number is not smaller than the
        // number of references that the counts above include twice.
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
/// If a frame pins the object of a reference in a magazine, the owner of the magazine retires the
/// reference once more, outside the magazine. The reference is then counted twice, and `current()`
/// subtracts one of the two. A call between these steps may compute a lower number than an earlier
/// call. Therefore the highest number is kept. It is exact when no thread is retiring.
internal enum RetiredCounts {
    private static let retired = Atomic<UInt>(0)
    private static let reclaimed = Atomic<UInt>(0)

    /// Records the numbers that a call of `current()` has counted.
    ///
    /// - Parameters:
    /// - retired: The number of retired items. It includes each handed-over item twice.
    /// - reclaimed: The number of reclaimed items. It includes each handed-over item twice.
    /// - twice: The number of handed-over items.
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
