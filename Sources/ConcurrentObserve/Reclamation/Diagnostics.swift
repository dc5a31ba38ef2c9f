// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// How the library is doing, process-wide, at one moment. For metrics and for finding a stuck callback.
///
/// Reading it takes no lock that a notification, a registration or a cancellation needs, but for a thread's first use. The figures are counted per thread and
/// added up, so that under load they may be off against each other by what happened meanwhile; at rest they are exact.
public struct ConcurrentObserveDiagnostics: Sendable {
    /// Observations that have begun and not ended.
    public let liveObservers: Int

    /// Ended observations, replaced values and replaced tables handed over for reclamation since the process began.
    public let retired: Int

    /// Those of them that are reclaimed: their closures destroyed, their memory released.
    public let reclaimed: Int

    /// Those of them that are not reclaimed yet.
    public var backlog: Int { retired - reclaimed }

    /// Events that overload policies left out, or that had not begun when their observation ended, since the process began: what
    /// `DeliveryCounts.dropped` has for one observation, for all.
    public let droppedEvents: Int

    /// Events that wait in the mailboxes of observers and iterators which are slower than the changes: what
    /// `DeliveryCounts.pending` has for one observation, for all.
    ///
    /// `largestMailboxes(_:)` reports where most of them are.
    public let pendingEvents: Int

    /// The highest `pendingEvents` so far: of the moments at which these diagnostics were read, something
    /// was reclaimed, or a large mailbox had grown by another 1,024 events.
    public let peakPendingEvents: Int

    /// Grace periods the library has waited for since the process began.
    public let gracePeriods: Int

    /// How long the oldest callback that is running now has been seen running; nil when none is. A lower bound: it counts from
    /// the first look, and looks happen when these diagnostics are read, while something waits to be
    /// reclaimed, and otherwise once a second on the library's reclamation thread.
    public let oldestCallbackAge: Duration?

    /// Threads that have used the library and not exited, and those of exited threads that wait for a new one.
    public let threadRecords: Int

    /// Whether the kernel's membarrier is in use. Without it every observer costs its notification a full fence.
    public let usesMembarrier: Bool

    /// Reads the figures. Any thread, also inside a callback; never waits for user code.
    ///
    /// - Complexity: O(threads).
    public static func current() -> ConcurrentObserveDiagnostics {
        Fork.prepare()
        let since = CallbackAges.shared.observe()
        let pending = PendingEvents.look()
        // The reclaimed first: counted later than retired, it could only be too high.
        let reclaimed = ReclamationThread.shared.batches.reclaimedCount
        let retired = ThreadRecords.shared.retiredCount
        var live = 0
        var dropped: UInt = 0
        unsafe ThreadRecords.shared.forEach { record in
            // Relaxed, both: statistics.
            unsafe live &+= record.pointee.liveObservers.load(ordering: .relaxed)
            unsafe dropped &+= record.pointee.droppedCount.load(ordering: .relaxed)
        }
        return ConcurrentObserveDiagnostics(
            liveObservers: live,
            retired: Int(bitPattern: retired),
            reclaimed: Int(bitPattern: reclaimed),
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
