// SPDX-License-Identifier: Apache-2.0

public import Synchronization

/// The counts of the events that were sent to one observer that is not called inline. (P1)
///
/// Every event is received, dropped or pending: `sent == received + dropped + pending`, always. An
/// event is a change of a property, the initial value, a prior delivery, or an event of a registry.
/// The end of the source is not an event, and is not counted.
///
/// A change that `removingDuplicates()` leaves out is not an event of the observer: it is neither
/// received nor dropped. The library compares the values of a change when it has taken the change
/// from the mailbox. Until then the change counts as sent and pending; from then on it does not
/// count. Therefore `sent` falls by one when a change is left out; `received` and `dropped` never
/// fall.
public struct DeliveryCounts: Sendable, Equatable {
    /// The number of events that were put into the observer's mailbox before the observation ended,
    /// minus the changes that `removingDuplicates()` has left out.
    public let sent: UInt64
    /// The number of events with which the observer's closure was called, or that an iterator has
    /// returned. An event counts when its callback begins.
    public let received: UInt64
    /// The number of lost events: those that the buffering policy dropped, and those whose callback
    /// had not begun when the observation ended, or when its owner died.
    public let dropped: UInt64

    /// The number of events that are neither received nor dropped yet.
    public var pending: UInt64 { sent &- received &- dropped }
}

/// The counts of one mailbox. This object may outlive the mailbox.
@usableFromInline
internal final class DeliveryCounter: EventTally, @unchecked Sendable {
    // Unchecked: constants and atomics only.

    /// A mailbox with this number of pending events or more is large.
    @usableFromInline static var largeCount: UInt64 { 1_024 }

    /// The number of events that were put into the mailbox. Only a thread that holds the mailbox's
    /// lock writes it.
    @usableFromInline let sent = Atomic<UInt64>(0)
    /// Separates the words that changing threads write from those that the delivering thread
    /// writes, so that they lie in different cache lines.
    private let padding = (0, 0, 0, 0, 0, 0, 0)
    /// The number of events that were received. Only the thread that empties the mailbox writes it,
    /// and there is one such thread at a time.
    @usableFromInline let received = Atomic<UInt64>(0)
    @usableFromInline let dropped = Atomic<UInt64>(0)
    private let leftOut = Atomic<UInt64>(0)

    @usableFromInline
    override init() {}

    /// Counts an event as sent. The caller must hold the mailbox's lock.
    ///
    /// - Returns: At every 1,024th event, whether the mailbox is large; false otherwise.
    @inlinable
    func countSent() -> Bool {
        // Relaxed, both: one writer at a time, under the mailbox's lock. The thread that counts the
        // event as received took it from the mailbox under that lock.
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
        // Relaxed: one writer at a time. Release: pairs with the acquire in `counts`; the event was
        // sent before.
        received.store(received.load(ordering: .relaxed) &+ 1, ordering: .releasing)
        ThreadRecord.countPending(-1)
    }

    @inlinable
    override func countDropped(_ count: Int = 1) {
        guard count > 0 else { return }
        // Release: pairs with the acquire in `counts`; the events were sent before.
        dropped.add(UInt64(count), ordering: .releasing)
        ThreadRecord.countDropped(count)
        ThreadRecord.countPending(-count)
    }

    @usableFromInline
    override func countLeftOut() {
        // Relaxed: one writer at a time. Release: pairs with the acquire in `counts`; the event was
        // sent before.
        leftOut.store(leftOut.load(ordering: .relaxed) &+ 1, ordering: .releasing)
        ThreadRecord.countPending(-1)
    }

    var counts: DeliveryCounts {
        // Acquire, all: pairs with the releases above. An event that is counted here was sent
        // before the load of `sent`, which may be relaxed for that reason.
        let (received, dropped) = (received.load(ordering: .acquiring), dropped.load(ordering: .acquiring))
        let leftOut = leftOut.load(ordering: .acquiring)
        return DeliveryCounts(sent: sent.load(ordering: .relaxed) &- leftOut, received: received, dropped: dropped)
    }
}

extension ObservationToken {
    /// The counts of the observer's events; nil for an inline observer, which has no mailbox. Any
    /// thread may read them, also after the observation has ended.
    public var deliveryCounts: DeliveryCounts? { observer.delivery?.counter.counts }
}

/// The counts and the mailbox of an observation that is not called inline.
internal final class DeliveryState: ObservationCompanion, @unchecked Sendable {
    // Unchecked: constants only.
    let counter: DeliveryCounter
    /// The mailbox that a flush waits for. Nil for an iterator, whose sequence flushes it, and
    /// after the end.
    let mailbox: (any FlushableMailbox)?

    init(_ counter: DeliveryCounter, _ mailbox: (any FlushableMailbox)? = nil) {
        (self.counter, self.mailbox) = (counter, mailbox)
        super.init()
    }
}

extension Observer {
    /// The counts and the mailbox of the observation; nil if it is inline.
    var delivery: DeliveryState? { companion as? DeliveryState }
}
