// SPDX-License-Identifier: Apache-2.0

public import Synchronization

/// One observation whose events are delivered one at a time, in the order in which they came: a mailbox between an observer of the
/// library's own on the source and a list with the user's.
///
/// A thread that puts an event in waits for no delivery: the mailbox's lock is held for a few instructions, and never while user code runs. When the mailbox is
/// no longer empty, `begin()` starts a delivery; until that finds it empty, it alone delivers. (P2)
///
/// Subclasses say who that is.
@usableFromInline
internal class OrderedObservation<Event: Sendable>: FlushableMailbox, @unchecked Sendable {
    // Unchecked: `guarded` is guarded by `lock`; the observers are written once, before the first event.

    /// The list of the user's observer.
    final let observers = ObserverList()

    /// No thread holds it while the process forks: a delivery changes nothing, so that the child may change the source. (P18)
    @usableFromInline final let lock = SourceLock()
    // Exclusivity unchecked: the lock sees to it.
    @exclusivity(unchecked) @usableFromInline final var guarded: Guarded
    /// What the delivery has taken from the mailbox, and the user has still to receive.
    ///
    /// The delivery takes the next event out in a visit of the user's observer, without the lock.
    /// Everything else happens under the lock. Who closes the mailbox has the lock, too, and comes
    /// after the last visit: the observation has finished. (P8)
    // Exclusivity unchecked: the visits and the lock see to it.
    @exclusivity(unchecked) @usableFromInline final var batch = RingBuffer<Event>()
    /// Whether the mailbox needs a delivery, or has something to destroy. Written under the lock; a thread sees what it has written itself.
    @usableFromInline final let needsAttention = Atomic<Bool>(false)
    /// Whether tasks wait for what is in the mailbox. Written under the lock.
    @usableFromInline final let hasFlushes = Atomic<Bool>(false)
    @usableFromInline final let counter: DeliveryCounter

    @usableFromInline final var user: Observer?
    @usableFromInline final let userAddress = Atomic<UInt>(0)
    /// Whether an owner may be gone when an event is delivered.
    @usableFromInline final let mayLoseOwner = Atomic<Bool>(false)
    /// Whether the closure may leave an event out, and counts by itself what becomes of each.
    @usableFromInline final let closureCounts = Atomic<Bool>(false)
    final var sourceObserver: Observer?

    /// What changing threads, the delivery, and the thread that ends the observation share.
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
        // Safe: no other thread has it yet.
        unsafe guarded = Guarded(mailbox: Mailbox(buffering, counter, succession))
    }

    /// The list's memory goes: its core must not tidy it up any more.
    deinit { observers.endSource(.cancelled) }

    /// Sees to it that `run` is called, once, here or elsewhere. Under no lock.
    @usableFromInline
    func begin() { fatalError("begin() is a subclass's") }

    /// Whether events are delivered on the thread that makes the change.
    @usableFromInline
    var isSerial: Bool { false }
}

extension OrderedObservation {
    /// Lends what is guarded, under the lock.
    @inlinable @inline(__always)
    final func withGuarded<Result>(_ body: (inout Guarded) -> Result) -> Result {
        // Safe: no other thread is inside.
        lock.withLock { unsafe body(&guarded) }
    }

    /// Lends what the delivery has taken: to the delivery in a visit of a live observer, and under the lock.
    @inlinable @inline(__always)
    final func withBatch<Result>(_ body: (inout RingBuffer<Event>) -> Result) -> Result {
        // Safe: no other thread uses it then, as its declaration says.
        unsafe body(&batch)
    }

    /// Where the user's observer is, which this object keeps.
    @inlinable @inline(__always)
    final var address: UInt {
        // Relaxed: written before the first event.
        userAddress.load(ordering: .relaxed)
    }
}

// MARK: - Enqueueing

extension OrderedObservation {
    /// Puts an event in. Under the source's lock or none; runs no user code.
    @inlinable
    final func enqueue(_ event: Event) {
        // An event that the user will not receive is not sent: the observation has ended. Safe: this object keeps the observer.
        guard Observer.isActive(at: address) else { return }
        withGuarded { guarded in
            guarded.mailbox.enqueue(event)
            noteAttention(guarded)
        }
    }

    /// The source is gone: the observation ends when everything before is delivered. Runs no user code.
    @inlinable
    final func enqueueEnd() {
        withGuarded { guarded in
            guarded.mailbox.enqueueEnd()
            noteAttention(guarded)
        }
    }

    /// Under the lock.
    @inlinable
    final func noteAttention(_ guarded: borrowing Guarded) {
        // Relaxed: the thread that has just put an event in looks at it; a delivery looks at the mailbox again before it ends.
        if !guarded.isBusy || guarded.mailbox.hasDropped || guarded.mailbox.hasGrown {
            needsAttention.store(true, ordering: .relaxed)
        }
    }

    /// After each event, under no lock: has the mailbox emptied unless another thread is at it. Leaves to `drain()` what was dropped, for which the
    /// caller may have to wait a moment. (P16)
    @inlinable @Sendable
    final func wake() {
        // Relaxed: as above. Another thread's news is that thread's to see to.
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

    /// After each event, under no lock: has what was dropped destroyed, and the mailbox emptied unless another thread is at it.
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
        // Elsewhere: the caller may hold a lock that a value's deinit takes. (P5)
        Discarded.discard(&dropped, of: self)
        if begins { beginDelivery() }
    }
}

extension OrderedObservation {
    /// Lists the mailbox among the large ones. Under no lock.
    @usableFromInline
    final func noteGrowth() {
        let ownLabel = user.flatMap { LabelledObservations.label(of: $0) }
        LargeMailboxes.note(counter, label: ownLabel ?? sourceObserver?.core.label)
    }
}

// Under the lock, all of these.
extension OrderedObservation.Guarded {
    /// Whether the caller is to begin the delivery.
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
