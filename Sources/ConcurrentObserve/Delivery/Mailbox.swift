// SPDX-License-Identifier: Apache-2.0

// # The mailbox: a state machine
//
// `Mailbox` is a value without a lock and without a wake-up. Its functions are the events of the
// machine. They return actions, which the caller performs under no lock. `SharedMailbox` has the
// lock. Its two kinds are `OrderedObservation`, where a delivery empties the mailbox, and
// `Subscription`, where an iterating task does.
//
// Events come in:
//
//     enqueue: kept, or one is dropped
//        ┌──┐
//        ▼  │      enqueueEnd              takeEnd
//        open ─────────────────▶ ending ───────────────▶ ended
//         │                        │                       │
//         └────────────────────────┴──── close ────────────┴──▶ closed
//
// The consumer takes events out:
//
//                 ask                     park, when nothing is left
//        idle ◀───────── busy ─────────────────────────────────▶ parked
//         │               ▲ ▲                                      │
//         └───── take ────┘ └──────────── wake, when not empty ────┘
//
// - A delivery begins parked. `wake` makes it busy once, and asks the caller to begin it. It takes
//   events until none is left, and parks.
// - An iterator begins idle. `take` makes it busy with an event, until `ask` says that it asks for
//   the next one. If there is none, it parks out of idle, and `wake` asks the caller to resume its
//   task. `close`, and `take` at the end, make it idle.
//
// Growth: at each 1,024th event, `enqueue` checks whether the mailbox is large, and `collect`
// reports it. Dropping: the policy drops the oldest events or the newest; `collect` hands them out.
// Flushing: a flush waits until all events that were in the mailbox at its beginning are delivered
// or dropped. Then `settle` hands it out. `close` hands out all flushes; if the iterator has taken
// an event that is not counted yet, `count` does so in its place. Counting: sent = received +
// dropped + pending, after each function. (P1)

/// The events that an observer has still to receive, in order.
///
/// The mailbox runs no user code. Dropped events are put aside for the caller to destroy, under no
/// lock. (P5)
@usableFromInline
internal struct Mailbox<Event: Sendable>: ~Copyable {
    @usableFromInline var waiting = RingBuffer<Event>()
    @usableFromInline var input: Input = .open
    @usableFromInline var consumer: Consumer
    /// Dropped events that the caller must still destroy. Events whose destruction does nothing are
    /// not kept here: see `isTrivial(_:)`.
    @usableFromInline var dropped = RingBuffer<Event>()
    @usableFromInline let capacity: Int?
    @usableFromInline let dropsNewest: Bool
    /// Says which part an event takes over from the dropped events before it; nil if it takes over
    /// nothing.
    @usableFromInline let succession: Succession<Event>?
    /// The part of dropped events that the next event takes over; nil if there is none. The dropped
    /// events were newer than all events that wait.
    @usableFromInline var droppedLast: Event?
    @usableFromInline let counter: DeliveryCounter
    /// The number of events that were put in, without those that were dropped at once.
    @usableFromInline var entered: UInt64 = 0
    @usableFromInline var flushes: [Flush] = []
    /// Whether the iterator has taken an event that is not counted yet. The event is pending, even
    /// if the mailbox is closed.
    @usableFromInline var isUncounted = false
    /// Whether the mailbox was found to be large, and `collect` has not reported that yet.
    @usableFromInline var hasGrown = false

    @usableFromInline
    enum Input {
        case open
        /// The source is gone, and the end is not delivered yet. It comes after all events,
        /// whatever the policy.
        case ending
        case ended
        /// No event is delivered any more.
        case closed
    }

    @usableFromInline
    enum Consumer {
        /// The iterator has finished with its last event, and has not taken the next one.
        case idle
        /// The consumer waits, and must be woken when an event comes.
        case parked
        /// A delivery is running; or the iterator has taken an event, or is being woken to take
        /// one.
        case busy
    }

    @inlinable
    init(
        _ buffering: Buffering,
        _ counter: DeliveryCounter,
        _ succession: Succession<Event>?,
        _ consumer: Consumer
    ) {
        buffering.check()
        capacity = buffering.capacity
        dropsNewest = buffering.dropsNewest
        self.counter = counter
        self.succession = succession
        self.consumer = consumer
    }
}

// MARK: - Putting in

extension Mailbox {
    @inlinable
    var isOpen: Bool { if case .open = input { true } else { false } }

    /// Puts an event in, if the mailbox is open.
    @inlinable
    mutating func enqueue(_ event: Event) {
        guard isOpen else { return }
        if counter.countSent() { hasGrown = true }
        var event = event
        if isFull {
            counter.countDropped()
            // The caller has the event, and destroys it.
            if dropsNewest || succession?.isAhead(event) == true { return noteDropped(event) }
            dropFirst(before: &event)
        } else if droppedLast != nil {
            succeedDropped(&event)
        }
        waiting.append(event)
        entered &+= 1
    }

    /// Drops the oldest event, which the caller has counted as dropped. If it is a change, the next
    /// event, which may be `event`, takes over its old value.
    @inlinable
    mutating func dropFirst(before event: inout Event) {
        var first = waiting.popFirst()!
        if let succession, !succession.isAhead(first) {
            // Prior deliveries that come directly after the dropped change are dropped with it.
            while let next = waiting.first, succession.isAhead(next) {
                counter.countDropped()
                putAside(waiting.popFirst()!)
            }
            if waiting.isEmpty {
                succession.succeed(&first, &event)
            } else {
                waiting.updateFirst { succession.succeed(&first, &$0) }
            }
        }
        putAside(first)
    }

    /// Keeps the part of `event` that the next event takes over. `event` is dropped, and is newer
    /// than all events that wait.
    @inlinable
    mutating func noteDropped(_ event: Event) {
        if droppedLast == nil, let succession { droppedLast = succession.beginning(event) }
    }

    /// Lets an event take over the part that was kept from the events dropped before it.
    @inlinable
    mutating func succeedDropped(_ event: inout Event) {
        guard var dropped = droppedLast.take(), let succession else { return }
        if !succession.isAhead(event) { succession.succeed(&dropped, &event) }
        putAside(dropped)
    }

    /// Whether the policy has no room for another event.
    @inlinable
    var isFull: Bool {
        return capacity.map { waiting.count >= $0 } ?? false
    }

    /// Notes that the source is gone: nothing is put in after this. Only the first call counts.
    @inlinable
    mutating func enqueueEnd() {
        guard isOpen else { return }
        input = .ending
    }

    /// Whether a thread must call `wake` or `collect`.
    @inlinable
    var needsAttention: Bool { isParked || needsCollecting }

    @inlinable
    var needsCollecting: Bool { !dropped.isEmpty || hasGrown }

    @inlinable
    var isParked: Bool { if case .parked = consumer { true } else { false } }

    /// Makes a parked consumer busy if there is something to take. Returns whether the caller must
    /// wake the consumer.
    @inlinable
    mutating func wake() -> Bool {
        guard isParked, !isEmpty else { return false }
        consumer = .busy
        return true
    }

    /// Moves the dropped events into `events`, which is empty. Returns whether the mailbox has
    /// grown large since the last call.
    @inlinable
    mutating func collect(_ events: inout RingBuffer<Event>) -> Bool {
        defer { hasGrown = false }
        swap(&dropped, &events)
        return hasGrown
    }
}

// MARK: - Taking out

extension Mailbox {
    /// Takes out the end of the source. Call it when no event is left. Returns true once after the
    /// source has ended, otherwise false.
    @inlinable
    mutating func takeEnd() -> Bool {
        guard case .ending = input else { return false }
        input = .ended
        return true
    }

    /// Moves the next events to deliver into `batch`, if that is empty. The delivering thread then
    /// takes them from there without the lock.
    ///
    /// It moves all events, or only one if the capacity is limited, because the policy looks at the
    /// events that wait.
    @inlinable
    mutating func take(into batch: inout RingBuffer<Event>) {
        guard batch.isEmpty else { return }
        if capacity == nil {
            swap(&waiting, &batch)
        } else if let event = waiting.popFirst() {
            batch.append(event)
        }
    }

    /// Notes that the iterator asks for another event: it has finished with the last one. Returns
    /// the flushes that are over.
    @inlinable
    mutating func ask() -> [Flush] {
        consumer = .idle
        return flushes.isEmpty ? [] : settle(pending: 0)
    }

    /// Takes the next event for the iterator, or nil at the end. The outer optional is nil if the
    /// iterator must wait.
    ///
    /// - Parameter isCountedLater: True if the iterator may still leave the event out. Then
    ///   `count(isLeftOut:isDropped:)` counts the event later.
    @inlinable
    mutating func take(isCountedLater: Bool) -> Event?? {
        if let event = waiting.popFirst() {
            if isCountedLater { isUncounted = true } else { counter.countReceived() }
            consumer = .busy
            return .some(event)
        }
        guard takeEnd() || isFinished else { return nil }
        consumer = .idle
        return .some(nil)
    }

    /// Counts an event that the iterator took and `take` did not count. Returns the flushes that
    /// are over.
    mutating func count(isLeftOut: Bool, isDropped: Bool) -> [Flush] {
        if isLeftOut {
            counter.countLeftOut()
        } else if isDropped {
            counter.countDropped()
        } else {
            counter.countReceived()
        }
        isUncounted = false
        return isClosed ? flushes.take(through: .max) : []
    }

    /// Notes that the consumer has found nothing to take: the next event must wake it.
    @inlinable
    mutating func park() {
        consumer = .parked
    }

    @inlinable
    var isEmpty: Bool {
        if case .ending = input { return false }
        return waiting.isEmpty
    }

    /// Whether nothing more is delivered: the end was taken, or the mailbox is closed.
    @inlinable
    var isFinished: Bool {
        switch input {
        case .open, .ending: false
        case .ended, .closed: true
        }
    }

    @inlinable
    var isClosed: Bool { if case .closed = input { true } else { false } }
}

// MARK: - Flushing

extension Mailbox {
    /// The position for which a flush that begins now waits: the number of events that must have
    /// left the mailbox, counted from its first event. Nil if such a flush is over at once.
    var flushTarget: UInt64? {
        if isClosed { return isUncounted ? entered : nil }
        if case .busy = consumer { return entered }
        return waiting.isEmpty ? nil : entered
    }

    /// Takes out and returns the flushes that are over. `pending` is the number of events that the
    /// consumer has taken, and has not finished with.
    @usableFromInline
    mutating func settle(pending: Int) -> [Flush] {
        flushes.take(through: entered &- UInt64(waiting.count) &- UInt64(pending))
    }
}

// MARK: - Closing

extension Mailbox {
    /// Closes the mailbox: no more events come in. Hands out all flushes, unless an event is taken
    /// and not counted: `count` hands them out then. `wakes` says whether the consumer was parked:
    /// an iterator's task must then be resumed.
    ///
    /// - Parameter rest: Receives the events that are left, for the caller to destroy under no
    ///   lock. Events that were dropped before are left to `collect`.
    @inlinable
    mutating func close(_ rest: inout RingBuffer<Event>) -> (settled: [Flush], wakes: Bool) {
        if let event = droppedLast.take() { putAside(event) }
        swap(&rest, &waiting)
        counter.countDropped(rest.count)
        input = .closed
        let wakes = isParked
        if wakes { consumer = .idle }
        return (isUncounted ? [] : flushes.take(through: .max), wakes)
    }

    @inlinable
    mutating func putAside(_ event: consuming Event) {
        if isTrivial(event) { return }
        dropped.append(event)
    }
}
