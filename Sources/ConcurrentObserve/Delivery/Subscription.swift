// SPDX-License-Identifier: Apache-2.0

/// Connects a source with one iterator: a mailbox, and the task that waits for the next event, if
/// there is one.
@usableFromInline
internal final class Subscription<Event: Sendable>: SharedMailbox<Event>, IteratorMailbox, @unchecked Sendable {
    // Unchecked: `waiter` is guarded by `lock`; for the rest see the superclass.

    /// The task that waits for the next event; nil if no task waits.
    // Exclusivity unchecked: the lock ensures it.
    @exclusivity(unchecked) @usableFromInline var waiter: Waiter<Event>?
    /// Whether the iterator may leave out an event that it has taken. If so, the event is counted
    /// when the iterator has decided.
    @usableFromInline let isCountedLater: Bool

    @inlinable
    init(_ buffering: Buffering, _ succession: Succession<Event>? = nil, isCountedLater: Bool = false) {
        self.isCountedLater = isCountedLater
        super.init(buffering, succession, .idle)
    }

    var counts: DeliveryCounts { counter.counts }

    /// Makes the receiver through which the source uses the subscription. It is called where the
    /// compiler knows the types.
    @inlinable
    func receiver<Enqueued: Sendable>(_ element: @escaping @Sendable (Enqueued) -> Event) -> EventReceiver<Enqueued> {
        EventReceiver(
            enqueue: { event in self.enqueue(element(event)) },
            wake: wake,
            drain: drain,
            join: { sourceObserver in
                self.join(sourceObserver)
                return nil
            }
        )
    }

    /// Joins the subscription to its source. The caller then publishes `sourceObserver` there.
    @usableFromInline
    func join(_ sourceObserver: Observer) {
        self.sourceObserver = sourceObserver
        setObserver(sourceObserver)
        sourceObserver.companion = DeliveryState(counter)
        _ = sourceObserver.whenFinished { [self] end in
            if end == .sourceDeleted { finish() } else { cancel() }
        }
    }

    /// Resumes the task that waits. The iterator has been busy since it was woken, so no other
    /// thread takes the task.
    @usableFromInline
    override func begin() {
        let (waiter, event) = withMailbox { mailbox in
            (takeWaiterLocked(), mailbox.take(isCountedLater: isCountedLater))
        }
        waiter?.resume(returning: event ?? nil)
    }

    @inlinable
    func takeWaiterLocked() -> Waiter<Event>? {
        // Safe: the caller holds `lock`.
        unsafe waiter.take()
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
        let address = address
        return address != 0 && Observer.isRemoved(at: address)
    }

    var sourceEnd: ObservationEnd? {
        let address = address
        if address != 0, Observer.isActive(at: address) { return nil }
        return isRemoved ? .cancelled : .sourceDeleted
    }

    // Not inlined, all three, so that an asynchronous function never keeps a thread's address
    // across a suspension.

    @inlinable @inline(never)
    func takeAtOnce() -> Event?? {
        let (settled, event) = withMailbox { mailbox in
            if mailbox.isParked { Self.trapTwoTasks() }
            return (mailbox.ask(), mailbox.take(isCountedLater: isCountedLater))
        }
        if !settled.isEmpty { Flush.resume(settled) }
        return event
    }

    @inlinable @inline(never)
    func takeOrWait(_ newcomer: Waiter<Event>) -> Event?? {
        return withMailbox { mailbox in
            if mailbox.isParked { Self.trapTwoTasks() }
            if let event = mailbox.take(isCountedLater: isCountedLater) { return event }
            mailbox.park()
            // Safe: under the lock.
            unsafe waiter = newcomer
            return nil
        }
    }

    @usableFromInline @inline(never)
    static func trapTwoTasks() -> Never {
        fatalError("ConcurrentObserve: two tasks wait for the same iterator. Give each task an iterator of its own.")
    }

    /// Counts an event that the iterator has taken, and that is not counted yet.
    ///
    /// - Returns: Whether the iterator returns the event. User code, such as a value's `==`, made
    ///   the element from it, and may have ended the observation. (P8)
    @inline(never)
    func settleTaken(isLeftOut: Bool) -> Bool {
        let isDropped = isRemoved
        Flush.resume(withMailbox { $0.count(isLeftOut: isLeftOut, isDropped: isDropped) })
        return !isLeftOut && !isDropped
    }

    /// Ends the subscription at once: events that have not been returned are dropped. Any thread
    /// may call it. A second call does nothing.
    @usableFromInline
    func cancel() {
        sourceObserver?.end(.cancelled)
        var (rest, dropped) = (RingBuffer<Event>(), RingBuffer<Event>())
        let (settled, waiter) = withMailbox { mailbox in
            let (settled, wakes) = mailbox.close(&rest)
            _ = mailbox.collect(&dropped)
            return (settled, wakes ? takeWaiterLocked() : nil)
        }
        Flush.resume(settled)
        // Discarded, not destroyed here: a thread that cancels a task may hold a lock that a
        // value's `deinit` takes. The runtime holds one. (P5)
        Discarded.discard(&rest, of: self)
        Discarded.discard(&dropped, of: self)
        waiter?.resume(returning: nil)
    }
}

/// A suspended task, which must be resumed once.
@safe @usableFromInline
internal struct Waiter<Event: Sendable>: Sendable {
    @usableFromInline let continuation: UnsafeContinuation<Event?, Never>

    @inlinable
    init(_ continuation: UnsafeContinuation<Event?, Never>) { unsafe self.continuation = continuation }

    /// Suspends the calling task until its waiter is resumed.
    ///
    /// - Parameter body: Receives the waiter, and ensures that it is resumed once.
    @inlinable
    static func suspend(isolation: isolated (any Actor)? = #isolation, _ body: (Waiter) -> Void) async -> Event? {
        // Safe: the waiter is resumed once, because a thread first takes it, under a lock, from the
        // place where it was stored.
        await unsafe withUnsafeContinuation { continuation in body(unsafe Waiter(continuation)) }
    }

    /// Resumes the task. The caller must hold no lock, because the executor that will run the task
    /// may be user code.
    @inlinable
    func resume(returning event: Event?) { unsafe continuation.resume(returning: event) }
}
