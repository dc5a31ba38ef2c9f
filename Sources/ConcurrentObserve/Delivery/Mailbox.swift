// SPDX-License-Identifier: Apache-2.0

/// The events that an observer has still to receive, in order.
///
/// Enqueueing takes a lock for a few instructions and runs no user code: what the policy drops is put aside, and destroyed elsewhere, outside
/// all locks. (P5) One thread at a time takes events out.
@usableFromInline
internal struct Mailbox<Event: Sendable>: ~Copyable {
    @usableFromInline var waiting = RingBuffer<Event>()
    /// The end of the source comes after all others, whatever the policy.
    @usableFromInline var end: End = .none
    /// What was dropped and not destroyed yet: the one, most often, then the others.
    @usableFromInline var dropped: Event?
    @usableFromInline var moreDropped: [Event] = []
    /// Whether no observer will receive what is enqueued.
    @usableFromInline var isClosed = false
    @usableFromInline let capacity: Int?
    @usableFromInline let dropsNewest: Bool
    /// What the events that follow a dropped one have from it; nil: nothing.
    @usableFromInline let succession: Succession<Event>?
    /// What the next event has from those that were dropped after the last.
    @usableFromInline var droppedLast: Event?
    @usableFromInline let counter: DeliveryCounter
    /// How many events have come in that were to be delivered.
    @usableFromInline var entered: UInt64 = 0
    @usableFromInline var flushes = Flushes()
    /// Whether the mailbox has grown by so much that the diagnostics should know.
    @usableFromInline var hasGrown = false

    @usableFromInline
    enum End {
        case none
        /// The source is gone.
        case waiting
        case taken
    }

    /// What there is to deliver.
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

    // MARK: Under the owner's lock, all of these

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
            // The event itself is the caller's, who destroys it.
            if dropsLatest || succession?.isAhead(event) == true { return noteDropped(event) }
            dropFirst(before: &event)
        } else if droppedLast != nil {
            succeedDropped(&event)
        }
        waiting.append(event)
        entered &+= 1
    }

    /// Drops the oldest event, which is counted. What it says of the time before, the next says from now on.
    @inlinable
    mutating func dropFirst(before event: inout Event) {
        var first = waiting.popFirst()!
        if let succession, !succession.isAhead(first) {
            // What is announced by these follows a dropped one.
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

    /// Remembers what is to be known of an event that is dropped behind all others.
    @inlinable
    mutating func noteDropped(_ event: Event) {
        if droppedLast == nil, let succession, !losesLink { droppedLast = succession.beginning(event) }
    }

    /// Gives an event what those had that were dropped before it.
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

    /// Whether the policy has no room for one event more.
    @inlinable
    var isFull: Bool {
        return capacity.map { waiting.count >= $0 } ?? false
    }

    @inlinable
    var dropsLatest: Bool {
        return dropsNewest
    }

    /// The source is gone: nothing comes after this. Only the first call counts.
    @inlinable
    mutating func enqueueEnd() {
        guard isOpen else { return }
        end = .waiting
    }

    /// The next to deliver, or nil.
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

    /// Moves what is to be delivered next into an empty buffer, for the thread that then delivers it without the lock.
    ///
    /// That is all there is, unless the policy looks at what is waiting: then one event.
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

    /// How many of those that came in have left the mailbox: where all of these are settled, it is the
    /// position that flushes wait for.
    @inlinable
    var position: UInt64 {
        entered &- UInt64(waiting.count)
    }

    /// Whether there is nothing that a flush would wait for.
    @inlinable
    var isFlushed: Bool { position == entered }

    /// Whether all was delivered, the end included.
    @inlinable
    var isFinished: Bool { if case .taken = end { true } else { isClosed } }

    /// No more events come in. Returns those that are left, which the caller destroys under no lock.
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

    /// What a mailbox still held when it was closed.
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

    // MARK: What was dropped

    @usableFromInline
    struct Dropped: Sendable {
        @usableFromInline let first: Event
        @usableFromInline let others: [Event]

        @inlinable
        init(first: Event, others: [Event]) { (self.first, self.others) = (first, others) }
    }

    /// Whether something was dropped that has to be destroyed.
    @inlinable
    var hasDropped: Bool { dropped != nil }

    /// What was dropped, if anything; the caller discards it under no lock.
    @inlinable
    mutating func takeDropped() -> Dropped? {
        guard let first = dropped.take() else { return nil }
        defer { if !moreDropped.isEmpty { moreDropped = [] } }
        return Dropped(first: first, others: moreDropped)
    }

    @inlinable
    mutating func putAside(_ event: consuming Event) {
        // Plain bits are gone without a trace.
        if _isPOD(Event.self) { return }
        if dropped == nil { dropped = event } else { moreDropped.append(event) }
    }
}
