// SPDX-License-Identifier: Apache-2.0

// The *consumer* empties a mailbox: a delivery, or the task of an iterator. A *flush* is a task
// that waits until all present events are delivered or dropped. The comment at the top of
// `Delivery.swift` explains this folder.

public import Synchronization

/// A mailbox that threads share: the state machine, its lock, and the observers of an observation.
///
/// A thread that puts an event in waits for no consumer: it holds the lock for a few instructions,
/// and never while user code runs. (P5, P7) Subclasses say who empties the mailbox.
@usableFromInline
internal class SharedMailbox<Event: Sendable>: FlushableMailbox, @unchecked Sendable {
    // Unchecked: `mailbox` is guarded by `lock`; the observers are written once, before the first
    // event.
    @usableFromInline final let lock = SourceLock()
    // Exclusivity unchecked: the lock ensures it.
    @exclusivity(unchecked) @usableFromInline final var mailbox: Mailbox<Event>
    /// Whether the consumer must be woken, or events must be destroyed. Only a thread that holds
    /// `lock` writes it. A thread always sees the value that it has written itself.
    @usableFromInline final let needsAttention = Atomic<Bool>(false)
    /// Whether tasks wait in `flush()` until the present events are delivered or dropped. Only a
    /// thread that holds `lock` writes it.
    @usableFromInline final let hasFlushes = Atomic<Bool>(false)
    @usableFromInline final let counter: DeliveryCounter
    /// The observer whose end ends the observation. It is the user's observer, or, for an iterator,
    /// the source's.
    @usableFromInline final var observer: Observer?
    /// The address of `observer`; 0 before it is set.
    @usableFromInline final let observerAddress = Atomic<UInt>(0)
    /// The observer in the list of the source; nil before the subclass joins the source.
    final var sourceObserver: Observer?

    @inlinable
    init(_ buffering: Buffering, _ succession: Succession<Event>?, _ consumer: Mailbox<Event>.Consumer) {
        let counter = DeliveryCounter()
        self.counter = counter
        // Safe: no other thread has the object yet.
        unsafe mailbox = Mailbox(buffering, counter, succession, consumer)
    }

    var place: String { "in a sequence" }

    /// Wakes the consumer, which was parked. It is called once for each time that the consumer has
    /// parked. The caller must hold no lock.
    @usableFromInline
    func begin() { fatalError("begin() is a subclass's") }
}

extension SharedMailbox {
    /// Calls `body` with the state machine, under `lock`.
    @inlinable @inline(__always)
    final func withMailbox<Result>(_ body: (inout Mailbox<Event>) -> Result) -> Result {
        // Safe: `lock` keeps other threads out.
        lock.withLock { unsafe body(&mailbox) }
    }

    /// The address of `observer`, which this object retains; 0 if it has none.
    @inlinable @inline(__always)
    final var address: UInt {
        // Relaxed: written before the first event.
        observerAddress.load(ordering: .relaxed)
    }

    /// Stores the observer whose end ends the observation. The caller must call this function
    /// before the first event.
    final func setObserver(_ observer: Observer) {
        self.observer = observer
        // Relaxed: no other thread has the observation yet.
        observerAddress.store(observer.address, ordering: .relaxed)
    }
}

// MARK: - The source's side

extension SharedMailbox {
    /// Puts an event in. The call runs no user code, and wakes no thread. The caller may hold the
    /// source's lock.
    @inlinable
    final func enqueue(_ event: Event) {
        // If the observation has ended, the event will not be received, so it is not sent. The last
        // property of a path may still send changes. (P8)
        // Safe: this object retains the observer.
        guard Observer.isActive(at: address) else { return }
        withMailbox { mailbox in
            mailbox.enqueue(event)
            noteAttentionLocked(mailbox)
        }
    }

    /// Notes that the source is gone: no event comes after this. The observation ends when all
    /// earlier events are delivered.
    @usableFromInline
    final func finish() {
        withMailbox { mailbox in
            mailbox.enqueueEnd()
            noteAttentionLocked(mailbox)
        }
        drain()
    }

    /// Sets `needsAttention` if there is something to do.
    @inlinable
    final func noteAttentionLocked(_ mailbox: borrowing Mailbox<Event>) {
        // Relaxed: the thread that has just put an event in loads it; a consumer looks at the
        // mailbox again before it parks.
        if mailbox.needsAttention { needsAttention.store(true, ordering: .relaxed) }
    }

    /// Wakes the consumer, if it is parked. Call it after each event, under no lock. It leaves
    /// dropped events to `drain()`, because the thread that discards them may have to wait a
    /// moment. (P16)
    @inlinable @Sendable
    final func wake() {
        // Relaxed: as above. If another thread has set it and this one does not see that, the other
        // thread calls `wake()` itself.
        guard needsAttention.load(ordering: .relaxed) else { return }
        let begins = withMailbox { mailbox -> Bool in
            needsAttention.store(mailbox.needsCollecting, ordering: .relaxed)
            return mailbox.wake()
        }
        if begins { begin() }
    }

    /// Discards dropped events, and wakes the consumer, if it is parked. Call it after each event,
    /// under no lock.
    @inlinable @Sendable
    final func drain() {
        // Relaxed: as above.
        guard needsAttention.load(ordering: .relaxed) else { return }
        var dropped = RingBuffer<Event>()
        var hasGrown = false
        let begins = withMailbox { mailbox -> Bool in
            needsAttention.store(false, ordering: .relaxed)
            hasGrown = mailbox.collect(&dropped)
            return mailbox.wake()
        }
        if hasGrown { noteGrowth() }
        // Not destroyed here: the caller may hold a lock that a value's `deinit` takes. (P5)
        Discarded.discard(&dropped, of: self)
        if begins { begin() }
    }

    /// Adds the mailbox to the list of large mailboxes. The caller must hold no lock.
    @usableFromInline
    final func noteGrowth() {
        let ownLabel = observer.flatMap { LabelledObservations.label(of: $0) }
        LargeMailboxes.note(counter, label: ownLabel ?? sourceObserver?.core.label)
    }
}

// MARK: - Flushing

extension SharedMailbox {
    final func withFlushes(_ body: (_ flushes: inout [Flush], _ target: UInt64?) -> Void) {
        withMailbox { mailbox in
            let target = mailbox.flushTarget
            body(&mailbox.flushes, target)
            // Relaxed: written under `lock`.
            hasFlushes.store(!mailbox.flushes.isEmpty, ordering: .relaxed)
        }
        // The observation may have ended, and its mailbox not be closed yet. Then the reclamation
        // thread must close it without delay.
        if let observer, !observer.isMarkedActive { ReclamationThread.wake(urgently: true) }
    }
}

/// Events that no observer will receive. They are retired, so that a thread which may run user code
/// destroys them. (P5)
///
/// The thread whose change drops them may hold a lock that a value's `deinit` takes, and other
/// threads wait for the change.
@usableFromInline
internal final class Discarded<Event: Sendable>: Retirable, @unchecked Sendable {
    // Unchecked: written when the object is made, and emptied by `reclaim`.
    private var events = RingBuffer<Event>()

    /// The address that identifies the item's source: the mailbox that would have delivered the
    /// events.
    private let owner: UInt

    private init(_ events: inout RingBuffer<Event>, of owner: AnyObject) {
        self.owner = UInt(bitPattern: ObjectIdentifier(owner))
        super.init()
        swap(&self.events, &events)
    }

    override var hold: Hold { .nothing }
    override var runsUserCode: Bool { true }
    override var sourceAddress: UInt { owner }
    override func reclaim() { events = RingBuffer() }

    /// Takes the events out of `events`, and retires them, so that a deinit thread destroys them.
    /// Events of a type that needs no destruction stay in `events`. The caller must have no copy of
    /// `events`, and hold no lock.
    @usableFromInline
    static func discard(_ events: inout RingBuffer<Event>, of owner: AnyObject) {
        if !_isPOD(Event.self), !events.isEmpty { ThreadRecord.retire(Discarded(&events, of: owner)) }
    }
}
