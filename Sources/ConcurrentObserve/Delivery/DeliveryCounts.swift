// SPDX-License-Identifier: Apache-2.0

public import Synchronization

/// What has become of the events that were sent to one observer which is not called inline. (P1)
///
/// Every one is delivered, dropped, or still to come: `sent == received + dropped + pending`,
/// always. An event is a change of a property, the initial value, a prior delivery, or an event of
/// a registry. The end of the source is none: nothing counts it.
///
/// A change that `removingDuplicates()` leaves out is no event of the observer's: it is neither
/// received nor dropped. The library compares the values of a change when it has taken the change
/// from the mailbox. Until then the change counts as sent and pending, from then on as nothing. So
/// `sent` falls by one when a change is left out; `received` and `dropped` never fall.
public struct DeliveryCounts: Sendable, Equatable {
    /// Events that were put into the observer's mailbox while the observation went on, without the
    /// changes that `removingDuplicates()` has left out since.
    public let sent: UInt64
    /// Events that the observer's closure was called with, or that an iterator has returned. An
    /// event counts when its callback begins.
    public let received: UInt64
    /// Events that are lost: those that the overload policy left out, and those whose callback had
    /// not begun when the observation ended, or its owner died.
    public let dropped: UInt64

    /// Events that are still to come.
    public var pending: UInt64 { sent &- received &- dropped }
}

/// The counts of one mailbox; they outlive it.
@usableFromInline
internal final class DeliveryCounter: EventTally, @unchecked Sendable {
    // Unchecked: constants and atomics only.

    /// A mailbox is large from so many pending events on.
    @usableFromInline static var largeCount: UInt64 { 1_024 }

    /// Written under the mailbox's lock.
    @usableFromInline let sent = Atomic<UInt64>(0)
    /// Keeps what changing threads write out of the cache line that the delivering thread writes.
    private let padding = (0, 0, 0, 0, 0, 0, 0)
    /// Written by the thread that empties the mailbox, one at a time.
    @usableFromInline let received = Atomic<UInt64>(0)
    @usableFromInline let dropped = Atomic<UInt64>(0)
    private let leftOut = Atomic<UInt64>(0)

    @usableFromInline
    override init() {}

    /// - Returns: Whether the mailbox is large, and has grown since it last was asked. Now and then only.
    @inlinable
    func countSent() -> Bool {
        // Relaxed, both: one writer at a time; the thread that counts the event as received has it from under the lock.
        let count = sent.load(ordering: .relaxed) &+ 1
        sent.store(count, ordering: .relaxed)
        ThreadRecord.countPending(1)
        guard count & (Self.largeCount &- 1) == 0 else { return false }
        return isLarge
    }

    @usableFromInline
    var isLarge: Bool { counts.pending >= Self.largeCount }

    @inlinable
    override func countReceived() {
        // Relaxed: one writer at a time. Release: pairs with the acquire in counts; the event was sent before.
        received.store(received.load(ordering: .relaxed) &+ 1, ordering: .releasing)
        ThreadRecord.countPending(-1)
    }

    @inlinable
    override func countDropped(_ count: Int = 1) {
        guard count > 0 else { return }
        // Release: as above.
        dropped.add(UInt64(count), ordering: .releasing)
        ThreadRecord.countDropped(count)
        ThreadRecord.countPending(-count)
    }

    @usableFromInline
    override func countLeftOut() {
        // Relaxed: one writer at a time. Release: as above.
        leftOut.store(leftOut.load(ordering: .relaxed) &+ 1, ordering: .releasing)
        ThreadRecord.countPending(-1)
    }

    var counts: DeliveryCounts {
        // Acquire, all: what is counted here was sent before the load of `sent`.
        let (received, dropped) = (received.load(ordering: .acquiring), dropped.load(ordering: .acquiring))
        let leftOut = leftOut.load(ordering: .acquiring)
        return DeliveryCounts(sent: sent.load(ordering: .relaxed) &- leftOut, received: received, dropped: dropped)
    }
}

extension ObservationToken {
    /// How the delivery goes; nil for inline observers, which are called on the threads that make the changes. Any thread; also after the end.
    public var deliveryCounts: DeliveryCounts? { observer.delivery?.counter.counts }
}
