// SPDX-License-Identifier: Apache-2.0

/// The events that an observer has still to receive, in order.
///
/// Enqueueing takes a lock for a few instructions and runs no user code. Dropped events are put
/// aside, and destroyed elsewhere, outside all locks. (P5) One thread at a time takes events out.
@usableFromInline
internal struct Mailbox<Event: Sendable>: ~Copyable {
    @usableFromInline var waiting = RingBuffer<Event>()
    /// The end of the source. It comes after all events, whatever the policy.
    @usableFromInline var end: End = .none
    /// Dropped events that are not destroyed yet: the first, which is most often the only one, and
    /// the others.
    @usableFromInline var dropped: Event?
    @usableFromInline var moreDropped: [Event] = []
    /// Whether no observer will receive an event that is enqueued now.
    @usableFromInline var isClosed = false
    @usableFromInline let capacity: Int?
    @usableFromInline let dropsNewest: Bool
    /// Says what an event takes over from the dropped ones before it; nil if nothing.
    @usableFromInline let succession: Succession<Event>?
    /// The part that the next event takes over from events that were dropped behind all that wait.
    @usableFromInline var droppedLast: Event?
    @usableFromInline let counter: DeliveryCounter
    /// The number of events that were put in, without those that were dropped at once.
    @usableFromInline var entered: UInt64 = 0
    @usableFromInline var flushes = Flushes()
    /// Whether the mailbox was found to be large, and is not listed for that yet.
    @usableFromInline var hasGrown = false

    @usableFromInline
    enum End {
        case none
        /// The source is gone, and the end is not delivered yet.
        case waiting
        case taken
    }

    /// An event to deliver, or the end.
    @usableFromInline
    enum Item {
        case event(Event)
        case end
    }

    @inlinable
    init(_ buffering: Buffering, _ counter: DeliveryCounter, _ succession: Succession<Event>?) {
        buffering.check()
        capacity = buffering.capacity
        dropsNewest = buffering.dropsNewest
        self.counter = counter
        self.succession = succession
    }

    // MARK: The caller must hold the owner's lock

    /// Whether events may come in.
    @inlinable
    var isOpen: Bool { if case .none = end { !isClosed } else { false } }

    /// Puts an event in.
    @inlinable
    mutating func enqueue(_ event: Event) {
        guard accepts else { return }
        if counter.countSent() { hasGrown = true }
        var event = event
        if isFull {
            counter.countDropped()
            // The caller has the event, and destroys it.
            if dropsLatest || succession?.isAhead(event) == true { return noteDropped(event) }
            dropFirst(before: &event)
        } else if droppedLast != nil {
            succeedDropped(&event)
        }
        waiting.append(event)
        entered &+= 1
    }

    /// Drops the oldest event, which the caller has counted. If it is a change, the next event,
    /// which may be `event`, takes over its old value.
    @inlinable
    mutating func dropFirst(before event: inout Event) {
        var first = waiting.popFirst()!
        if let succession, !succession.isAhead(first) {
            // These announce changes that follow a dropped one: they are dropped with it.
            while let next = waiting.first, succession.isAhead(next) {
                counter.countDropped()
                putAside(waiting.popFirst()!)
            }
            if !losesLink {
                if waiting.isEmpty {
                    succession.succeed(&first, &event)
                } else {
                    waiting.updateFirst { succession.succeed(&first, &$0) }
                }
            }
        }
        putAside(first)
    }

    /// Keeps the part that the next event takes over from `event`, which is dropped behind all
    /// others.
    @inlinable
    mutating func noteDropped(_ event: Event) {
        if droppedLast == nil, let succession, !losesLink { droppedLast = succession.beginning(event) }
    }

    /// Lets an event take over the part that was kept from the events dropped before it.
    @inlinable
    mutating func succeedDropped(_ event: inout Event) {
        guard var dropped = droppedLast.take(), let succession else { return }
        if !succession.isAhead(event) { succession.succeed(&dropped, &event) }
        putAside(dropped)
    }

    @inlinable
    var losesLink: Bool {
        return false
    }

    @inlinable
    var accepts: Bool {
        return isOpen
    }

    /// Whether the policy has no room for another event.
    @inlinable
    var isFull: Bool {
        return capacity.map { waiting.count >= $0 } ?? false
    }

    @inlinable
    var dropsLatest: Bool {
        return dropsNewest
    }

    /// Notes that the source is gone: nothing is put in after this. Only the first call counts.
    @inlinable
    mutating func enqueueEnd() {
        guard isOpen else { return }
        end = .waiting
    }

    /// Takes out the next event, or else the end; nil if there is neither.
    @inlinable
    mutating func next() -> Item? {
        if let event = waiting.popFirst() { return .event(event) }
        guard case .waiting = end else { return nil }
        takeEnd()
        return .end
    }

    @inlinable
    mutating func takeEnd() {
        end = .taken
    }

    /// Moves the next events to deliver into `batch`, if that is empty. The delivering thread then
    /// takes them from there without the lock.
    ///
    /// It moves all events, or only one if the capacity is limited, since the policy looks at the
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

    @inlinable
    var isEmpty: Bool {
        if case .waiting = end { return false }
        return waiting.isEmpty
    }

    /// The number of events that were put in and have left the mailbox. If all of these are
    /// settled, it is the position that flushes wait for.
    @inlinable
    var position: UInt64 {
        entered &- UInt64(waiting.count)
    }

    /// Whether there is no event that a flush would wait for.
    @inlinable
    var isFlushed: Bool { position == entered }

    /// Whether nothing more is delivered: the end was delivered, or the mailbox is closed.
    @inlinable
    var isFinished: Bool { if case .taken = end { true } else { isClosed } }

    /// Closes the mailbox: no more events come in. Returns the events that are left, which the
    /// caller must destroy under no lock.
    @inlinable
    mutating func close() -> Rest {
        isClosed = true
        if let event = droppedLast.take() { putAside(event) }
        var rest = Rest(dropped: takeDropped())
        swap(&rest.events, &waiting)
        counter.countDropped(rest.events.count)
        end = .taken
        return rest
    }

    /// The events that a mailbox still had when it was closed.
    @usableFromInline
    struct Rest: Sendable {
        @usableFromInline var events = RingBuffer<Event>()
        @usableFromInline let dropped: Dropped?

        @inlinable
        init(dropped: Dropped?) { self.dropped = dropped }

        /// Whether destroying it runs no user code.
        @inlinable
        var isHarmless: Bool { _isPOD(Event.self) || events.isEmpty && dropped == nil }
    }

    // MARK: Dropped events

    @usableFromInline
    struct Dropped: Sendable {
        @usableFromInline let first: Event
        @usableFromInline let others: [Event]

        @inlinable
        init(first: Event, others: [Event]) { (self.first, self.others) = (first, others) }
    }

    /// Whether there are dropped events to destroy.
    @inlinable
    var hasDropped: Bool { dropped != nil }

    /// Takes out the dropped events, if there are any. The caller must discard them under no lock.
    @inlinable
    mutating func takeDropped() -> Dropped? {
        guard let first = dropped.take() else { return nil }
        defer { if !moreDropped.isEmpty { moreDropped = [] } }
        return Dropped(first: first, others: moreDropped)
    }

    @inlinable
    mutating func putAside(_ event: consuming Event) {
        // Plain bits need no destruction.
        if _isPOD(Event.self) { return }
        if dropped == nil { dropped = event } else { moreDropped.append(event) }
    }
}
