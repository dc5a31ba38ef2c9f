// SPDX-License-Identifier: Apache-2.0

public import Synchronization

/// One observation whose events are delivered one at a time, in the order in which they came. It is
/// a mailbox between an observer of the library on the source and a list with the user's observer.
///
/// A thread that puts an event in waits for no delivery: it holds the mailbox's lock for a few
/// instructions, and never while user code runs. When the mailbox is no longer empty, `begin()`
/// starts a delivery. Until that finds the mailbox empty, no other delivery starts. (P2)
///
/// Subclasses say which thread delivers.
@usableFromInline
internal class OrderedObservation<Event: Sendable>: FlushableMailbox, @unchecked Sendable {
    // Unchecked: `guarded` is guarded by `lock`; the observers are written once, before the first
    // event.

    /// The list of the user's observer.
    final let observers = ObserverList()

    @usableFromInline final let lock = SourceLock()
    // Exclusivity unchecked: the lock ensures it.
    @exclusivity(unchecked) @usableFromInline final var guarded: Guarded
    /// The events that the delivery has taken from the mailbox, and the user has still to receive.
    ///
    /// The delivery takes the next event out in a visit of the user's observer, without the lock.
    /// All other accesses are under the lock. The thread that closes the mailbox holds the lock,
    /// too, and comes after the last visit: the observation has finished. (P8)
    // Exclusivity unchecked: the visits and the lock ensure it.
    @exclusivity(unchecked) @usableFromInline final var batch = RingBuffer<Event>()
    /// Whether the mailbox needs a delivery, or has events to destroy. Written under the lock. A
    /// thread always sees the value that it has written itself.
    @usableFromInline final let needsAttention = Atomic<Bool>(false)
    /// Whether tasks wait in `flush()` until the present events are delivered or dropped. Written
    /// under the lock.
    @usableFromInline final let hasFlushes = Atomic<Bool>(false)
    @usableFromInline final let counter: DeliveryCounter

    @usableFromInline final var user: Observer?
    @usableFromInline final let userAddress = Atomic<UInt>(0)
    /// Whether the owner may be gone when an event is delivered.
    @usableFromInline final let mayLoseOwner = Atomic<Bool>(false)
    /// Whether the closure may be called and not call the user's code. If so, it counts each event
    /// itself.
    @usableFromInline final let closureCounts = Atomic<Bool>(false)
    final var sourceObserver: Observer?

    /// The state that changing threads, the delivery, and the thread that ends the observation
    /// share.
    @usableFromInline
    struct Guarded: ~Copyable {
        @usableFromInline var mailbox: Mailbox<Event>
        /// Whether a thread delivers, or is about to.
        @usableFromInline var isBusy = false
        /// Whether the source's observer is in the list of the source.
        @usableFromInline var isJoined = false

        @inlinable
        init(mailbox: consuming Mailbox<Event>) { self.mailbox = mailbox }
    }

    @inlinable
    init(_ buffering: Buffering, _ succession: Succession<Event>?) {
        let counter = DeliveryCounter()
        self.counter = counter
        // Safe: no other thread has the object yet.
        unsafe guarded = Guarded(mailbox: Mailbox(buffering, counter, succession))
    }

    /// Ends the list, whose memory is about to be freed: its core must not clean it up any more.
    deinit { observers.endSource(.cancelled) }

    /// Calls `run` once, here or elsewhere. Under no lock.
    @usableFromInline
    func begin() { fatalError("begin() is a subclass's") }

    /// Whether events are delivered on the thread that makes the change.
    @usableFromInline
    var isSerial: Bool { false }
}

extension OrderedObservation {
    /// Lends the guarded state, under the lock.
    @inlinable @inline(__always)
    final func withGuarded<Result>(_ body: (inout Guarded) -> Result) -> Result {
        // Safe: `lock` keeps other threads out.
        lock.withLock { unsafe body(&guarded) }
    }

    /// Lends the batch: to the delivery in a visit of a live observer, or under the lock.
    @inlinable @inline(__always)
    final func withBatch<Result>(_ body: (inout RingBuffer<Event>) -> Result) -> Result {
        // Safe: no other thread uses it then, as its declaration says.
        unsafe body(&batch)
    }

    /// The address of the user's observer, which this object retains.
    @inlinable @inline(__always)
    final var address: UInt {
        // Relaxed: written before the first event.
        userAddress.load(ordering: .relaxed)
    }
}

// MARK: - Enqueueing

extension OrderedObservation {
    /// Puts an event in. Under the source's lock or no lock; runs no user code.
    @inlinable
    final func enqueue(_ event: Event) {
        // If the observation has ended, the user will not receive the event, so it is not sent.
        // Safe: this object retains the observer.
        guard Observer.isActive(at: address) else { return }
        withGuarded { guarded in
            guarded.mailbox.enqueue(event)
            noteAttention(guarded)
        }
    }

    /// Notes that the source is gone. The observation ends when all earlier events are delivered.
    /// Runs no user code.
    @inlinable
    final func enqueueEnd() {
        withGuarded { guarded in
            guarded.mailbox.enqueueEnd()
            noteAttention(guarded)
        }
    }

    /// Sets `needsAttention` if there is something to do. The caller must hold `lock`.
    @inlinable
    final func noteAttention(_ guarded: borrowing Guarded) {
        // Relaxed: the thread that has just put an event in loads it; a delivery looks at the
        // mailbox again before it ends.
        if !guarded.isBusy || guarded.mailbox.hasDropped || guarded.mailbox.hasGrown {
            needsAttention.store(true, ordering: .relaxed)
        }
    }

    /// Starts a delivery, unless one is running. Call it after each event, under no lock. It leaves
    /// dropped events to `drain()`, since the thread that discards them may have to wait a moment.
    /// (P16)
    @inlinable @Sendable
    final func wake() {
        // Relaxed: as above. If another thread has set it and this one does not see that, the other
        // thread calls `wake()` itself.
        guard needsAttention.load(ordering: .relaxed) else { return }
        let begins = withGuarded { guarded -> Bool in
            needsAttention.store(guarded.mailbox.hasDropped || guarded.mailbox.hasGrown, ordering: .relaxed)
            return guarded.begins()
        }
        if begins { beginDelivery() }
    }

    @usableFromInline
    final func beginDelivery() {
        begin()
    }

    /// Discards dropped events, and starts a delivery, unless one is running. Call it after each
    /// event, under no lock.
    @inlinable @Sendable
    final func drain() {
        // Relaxed: as above.
        guard needsAttention.load(ordering: .relaxed) else { return }
        var dropped: Mailbox<Event>.Dropped?
        var hasGrown = false
        let begins = withGuarded { guarded -> Bool in
            needsAttention.store(false, ordering: .relaxed)
            dropped = guarded.mailbox.takeDropped()
            swap(&hasGrown, &guarded.mailbox.hasGrown)
            return guarded.begins()
        }
        if hasGrown { noteGrowth() }
        // Elsewhere: the caller may hold a lock that a value's `deinit` takes. (P5)
        Discarded.discard(&dropped, of: self)
        if begins { beginDelivery() }
    }
}

extension OrderedObservation {
    /// Adds the mailbox to the list of large ones. Under no lock.
    @usableFromInline
    final func noteGrowth() {
        let ownLabel = user.flatMap { LabelledObservations.label(of: $0) }
        LargeMailboxes.note(counter, label: ownLabel ?? sourceObserver?.core.label)
    }
}

// The caller must hold the observation's lock, for all of these.
extension OrderedObservation.Guarded {
    /// Returns whether the caller must begin the delivery.
    @inlinable
    mutating func begins() -> Bool {
        guard !isBusy, !mailbox.isEmpty else { return false }
        setBusy()
        return true
    }

    @inlinable
    mutating func setBusy() {
        isBusy = true
    }

    @inlinable
    mutating func clearBusy() {
        isBusy = false
    }
}
