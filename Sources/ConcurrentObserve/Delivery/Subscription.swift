// SPDX-License-Identifier: Apache-2.0

public import Synchronization

/// The link between a source and one iterator: a mailbox, and the task that waits for the next
/// event, if there is one.
@usableFromInline
internal final class Subscription<Event: Sendable>: IteratorMailbox, @unchecked Sendable {
    // Unchecked: `guarded` is guarded by `lock`; `sourceObserver` is written once, before the first
    // event.
    @usableFromInline let lock = SourceLock()
    // Exclusivity unchecked: the lock ensures it.
    @exclusivity(unchecked) @usableFromInline var guarded: Guarded
    /// Whether a task must be resumed, or events must be destroyed. Written under the lock. A
    /// thread always sees the value that it has written itself.
    @usableFromInline let needsAttention = Atomic<Bool>(false)
    @usableFromInline let counter: DeliveryCounter
    /// Whether the iterator may leave out an event that it has taken. Then the event is counted
    /// when that is known.
    @usableFromInline let isCountedLater: Bool
    private var sourceObserver: Observer?
    /// The address of `sourceObserver`.
    @usableFromInline let sourceObserverAddress = Atomic<UInt>(0)

    /// The state that the source and the iterating task share.
    @usableFromInline
    struct Guarded: ~Copyable {
        @usableFromInline var mailbox: Mailbox<Event>
        @usableFromInline var waiter: Waiter<Event>?
        /// Whether the iterator has returned an event and was not asked for the next one.
        @usableFromInline var isInUse = false
        /// Whether the iterator has taken an event that is not counted yet. The event is pending,
        /// even if the mailbox is closed.
        @usableFromInline var isUncounted = false

        @inlinable
        init(mailbox: consuming Mailbox<Event>) { self.mailbox = mailbox }
    }

    @inlinable
    init(_ buffering: Buffering, _ succession: Succession<Event>? = nil, isCountedLater: Bool = false) {
        let counter = DeliveryCounter()
        (self.counter, self.isCountedLater) = (counter, isCountedLater)
        // Safe: no other thread has the object yet.
        unsafe guarded = Guarded(mailbox: Mailbox(buffering, counter, succession))
    }

    /// Lends the guarded state, under the lock.
    @inlinable @inline(__always)
    func withGuarded<Result>(_ body: (inout Guarded) -> Result) -> Result {
        // Safe: `lock` keeps other threads out.
        lock.withLock { unsafe body(&guarded) }
    }

    /// Joins the subscription to its source. The caller then publishes `sourceObserver` there.
    @usableFromInline
    func join(_ sourceObserver: Observer) {
        self.sourceObserver = sourceObserver
        // Relaxed: written before the first event.
        sourceObserverAddress.store(sourceObserver.address, ordering: .relaxed)
        sourceObserver.companion = DeliveryState(counter)
        _ = sourceObserver.whenFinished { [self] end in
            if end == .sourceDeleted { finish() } else { cancel() }
        }
    }

    /// Keeps `token` until the subscription ends.
    func keep(_ token: ObservationToken) { _ = sourceObserver!.whenFinished { _ in withExtendedLifetime(token) {} } }

    var counts: DeliveryCounts { counter.counts }
}

// MARK: - The source's side

extension Subscription {
    /// Puts an event in. Under the source's lock or no lock; runs no user code, and resumes no
    /// task.
    @inlinable
    func enqueue(_ event: Event) {
        // The observation may have been ended with all others of its source or model, and the last
        // property of a path may still send changes. (P8)
        // Relaxed: written before the first event. Safe: this object retains the observer.
        guard Observer.isActive(at: sourceObserverAddress.load(ordering: .relaxed)) else { return }
        withGuarded { guarded in
            guarded.mailbox.enqueue(event)
            noteAttention(guarded)
        }
    }

    /// Notes that the source is gone: no event comes after this. Runs no user code.
    @inlinable
    func enqueueEnd() {
        withGuarded { guarded in
            guarded.mailbox.enqueueEnd()
            noteAttention(guarded)
        }
    }

    /// Sets `needsAttention` if there is something to do. The caller must hold `lock`.
    @inlinable
    func noteAttention(_ guarded: borrowing Guarded) {
        // Relaxed: the thread that has just put an event in loads it; a task that begins to wait
        // looks at the mailbox first.
        if guarded.waiter != nil || guarded.mailbox.hasDropped || guarded.mailbox.hasGrown {
            needsAttention.store(true, ordering: .relaxed)
        }
    }

    /// Resumes the task that waits. Call it after each event, under no lock. It leaves dropped
    /// events to `drain()`.
    @inlinable @Sendable
    func wake() {
        // Relaxed: as above. If another thread has set it and this one does not see that, the other
        // thread calls `wake()` itself.
        guard needsAttention.load(ordering: .relaxed) else { return }
        let resumption = withGuarded { guarded -> Resumption? in
            needsAttention.store(guarded.mailbox.hasDropped || guarded.mailbox.hasGrown, ordering: .relaxed)
            return takeResumption(&guarded)
        }
        if let resumption { resumption.waiter.resume(returning: resumption.event) }
    }

    /// Resumes the task that waits, and discards dropped events. Call it after each event, under no
    /// lock.
    @inlinable @Sendable
    func drain() {
        // Relaxed: as above.
        guard needsAttention.load(ordering: .relaxed) else { return }
        var dropped: Mailbox<Event>.Dropped?
        var hasGrown = false
        let resumption = withGuarded { guarded -> Resumption? in
            needsAttention.store(false, ordering: .relaxed)
            dropped = guarded.mailbox.takeDropped()
            swap(&hasGrown, &guarded.mailbox.hasGrown)
            return takeResumption(&guarded)
        }
        if hasGrown { noteGrowth() }
        if let resumption { resumption.waiter.resume(returning: resumption.event) }
        Discarded.discard(&dropped, of: self)
    }

    /// Ends the mailbox's input: no more events come, and those that are left are still delivered.
    @usableFromInline
    func finish() {
        enqueueEnd()
        drain()
    }

    /// Adds the mailbox to the list of large ones. Under no lock.
    @usableFromInline
    func noteGrowth() { LargeMailboxes.note(counter, label: sourceObserver?.core.label) }

    @usableFromInline
    typealias Resumption = (waiter: Waiter<Event>, event: Event?)

    /// Takes out the waiting task and the event, or end, that it returns; nil if no task waits, or
    /// there is nothing to return. The caller must hold `lock`.
    @inlinable
    func takeResumption(_ guarded: inout Guarded) -> Resumption? {
        guard let waiter = guarded.waiter, let event = take(&guarded) else { return nil }
        guarded.waiter = nil
        return (waiter, event)
    }
}

// MARK: - The iterator's side

extension Subscription {
    /// Returns the next event, as soon as there is one; nil at the end, and once the calling task
    /// is cancelled.
    @inlinable
    func next(isolation: isolated (any Actor)? = #isolation) async -> Event? {
        // If there are many events, most calls return here, without suspending.
        if Task.isCancelled || isRemoved { cancel() }
        if let event = takeAtOnce() { return event }
        return await withTaskCancellationHandler {
            // `isolation` is passed on explicitly: a closure that does not mention its function's
            // isolation would leave the actor.
            await Waiter.suspend(isolation: isolation) { waiter in
                if let event = takeOrWait(waiter) { waiter.resume(returning: event) }
            }
        } onCancel: {
            cancel()
        }
    }

    /// Whether the observation was ended, other than by the source's death. Then the events that
    /// are left are not returned. (P8)
    @inlinable
    var isRemoved: Bool {
        // Relaxed: written before the first event. It is 0 if the source was gone.
        let address = sourceObserverAddress.load(ordering: .relaxed)
        return address != 0 && Observer.isRemoved(at: address)
    }

    var sourceEnd: ObservationEnd? {
        // Relaxed: written before the first event. It is 0 if the source was gone.
        let address = sourceObserverAddress.load(ordering: .relaxed)
        if address != 0, Observer.isActive(at: address) { return nil }
        return isRemoved ? .cancelled : .sourceDeleted
    }

    // Not inlined, both, so that an asynchronous function never keeps a thread's address across a
    // suspension.

    @inlinable @inline(never)
    func takeAtOnce() -> Event?? {
        var settled: [Flush] = []
        let event = withGuarded { guarded in
            guarded.isInUse = false
            if !guarded.mailbox.flushes.isEmpty {
                settled = guarded.mailbox.flushes.take(through: guarded.mailbox.position)
            }
            return take(&guarded)
        }
        if !settled.isEmpty { Flush.resume(settled) }
        return event
    }

    @inlinable @inline(never)
    func takeOrWait(_ newcomer: Waiter<Event>) -> Event?? {
        return withGuarded { guarded in
            if let event = takeBeforeWaiting(&guarded) { return event }
            guard guarded.waiter == nil else {
                fatalError(
                    "ConcurrentObserve: two tasks wait for the same iterator. Give each task an iterator of its own."
                )
            }
            guarded.waiter = newcomer
            return nil
        }
    }

    /// Looks once more, before the task waits. The caller must hold `lock`.
    @inlinable
    func takeBeforeWaiting(_ guarded: inout Guarded) -> Event?? {
        return take(&guarded)
    }

    /// Takes the next event for the iterator, or nil at the end. The outer optional is nil if the
    /// iterator must wait. The caller must hold `lock`.
    @inlinable
    func take(_ guarded: inout Guarded) -> Event?? {
        switch guarded.mailbox.next() {
        case .event(let event):
            if isCountedLater { guarded.isUncounted = true } else { counter.countReceived() }
            guarded.isInUse = true
            return .some(event)
        case .end: return .some(nil)
        case nil: return guarded.mailbox.isFinished ? .some(nil) : nil
        }
    }

    /// Counts an event that the iterator has taken and `take(_:)` has not counted. Not inlined,
    /// so that an asynchronous function keeps no thread's address across a suspension.
    ///
    /// - Returns: Whether the iterator returns the event. User code, such as a value's `==`, made
    ///   the element from it, and may have ended the observation. (P8)
    @inline(never)
    func settleTaken(isLeftOut: Bool) -> Bool {
        let isDropped = isRemoved
        let settled = withGuarded { guarded -> [Flush] in
            if isLeftOut {
                counter.countLeftOut()
            } else if isDropped {
                counter.countDropped()
            } else {
                counter.countReceived()
            }
            guarded.isUncounted = false
            return guarded.mailbox.isClosed ? guarded.mailbox.flushes.take(through: .max) : []
        }
        Flush.resume(settled)
        return !isLeftOut && !isDropped
    }

    /// Ends the subscription at once: events that have not been returned are dropped. Any thread; a
    /// second call does nothing.
    @usableFromInline
    func cancel() {
        sourceObserver?.end(.cancelled)
        var rest: Mailbox<Event>.Rest?
        var settled: [Flush] = []
        let resumption = withGuarded { guarded -> Resumption? in
            rest = guarded.mailbox.close()
            // If the iterator has an uncounted event, `settleTaken(isLeftOut:)` resumes the
            // flushes.
            if !guarded.isUncounted { settled = guarded.mailbox.flushes.take(through: .max) }
            return takeResumption(&guarded)
        }
        Flush.resume(settled)
        // Discarded, not destroyed here: a thread that cancels a task may hold a lock that a
        // value's `deinit` takes. The runtime holds one. (P5)
        if rest?.isHarmless == false { discard(&rest) }
        if let resumption { resumption.waiter.resume(returning: resumption.event) }
    }
}

extension Subscription {
    private func discard(_ rest: inout Mailbox<Event>.Rest?) {
        Discarded.discard(&rest, of: self)
    }
}
