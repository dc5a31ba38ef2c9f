// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// How the library is doing, process-wide, at one moment. For metrics and for finding a stuck
/// callback.
///
/// Reading the figures takes no lock that a notification, a registration or a cancellation needs,
/// except on a thread's first use of the library. Each thread counts for itself, and the figures
/// are added up. Under load they may therefore disagree with each other by what happened meanwhile;
/// at rest they are exact.
public struct ConcurrentObserveDiagnostics: Sendable {
    /// Observations that have begun and not ended.
    public let liveObservers: Int

    /// Ended observations, replaced values and replaced tables handed over for reclamation since
    /// the process began.
    public let retired: Int

    /// How many of the `retired` are reclaimed: their closures destroyed, their memory released.
    public let reclaimed: Int

    /// How many of the `retired` are not reclaimed yet.
    public var backlog: Int { retired - reclaimed }

    /// Observations that ended because their token was released within their first second, since
    /// the process began. A service that keeps its tokens has none: see <doc:Troubleshooting>.
    ///
    /// The time is measured in quarters of a second, and their number kept in 12 bits: an
    /// observation counts, too, whose token is released in the first second after a multiple of 17
    /// minutes.
    public let tokensReleasedEarly: Int

    /// Events that overload policies dropped, or that had not begun when their observation ended,
    /// since the process began: the sum over all observations of `DeliveryCounts.dropped`.
    public let droppedEvents: Int

    /// Events that wait in the mailboxes of observers and iterators which are slower than the
    /// changes: the sum over all observations of `DeliveryCounts.pending`.
    ///
    /// `largestMailboxes(_:)` reports where most of them are.
    public let pendingEvents: Int

    /// The highest `pendingEvents` so far. The library looks when these diagnostics are read, when
    /// something is reclaimed, and when a large mailbox has grown by another 1,024 events.
    public let peakPendingEvents: Int

    /// Grace periods the library has waited for since the process began.
    public let gracePeriods: Int

    /// How long the oldest callback that is running now has been seen running; nil when none is
    /// running.
    ///
    /// A lower bound: it counts from the first look. The library looks when these diagnostics are
    /// read, while something waits to be reclaimed, and otherwise once a second on its reclamation
    /// thread.
    public let oldestCallbackAge: Duration?

    /// Records of threads that have used the library and not exited, and records of exited threads
    /// that wait for a new thread.
    public let threadRecords: Int

    /// Whether the kernel's membarrier is in use. Without it a notification executes a full fence
    /// for every observer.
    public let usesMembarrier: Bool

    /// Reads the figures. Any thread, also inside a callback; never waits for user code.
    ///
    /// - Complexity: O(threads).
    public static func current() -> ConcurrentObserveDiagnostics {
        Fork.prepare()
        let since = CallbackAges.shared.observe()
        let pending = PendingEvents.look()
        // Reclaimed items first: counted after the retired ones, their number could be the higher
        // one.
        let reclaimed = ReclamationThread.shared.batches.reclaimedCount
        let released = MagazineCounts.released()
        let retired = ThreadRecords.shared.retiredCount &+ MagazineCounts.put()
        // Last: counted twice until here, and never less than what was counted before.
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
