// SPDX-License-Identifier: Apache-2.0

import Dispatch
public import Synchronization

/// One observation whose events are delivered one at a time, in the order in which they came. It is
/// a mailbox between two observers: the library's observer on the source, and the user's observer,
/// which is in a list of its own.
///
/// When the mailbox is no longer empty, `begin()` starts a delivery. Until that delivery finds the
/// mailbox empty, no other one starts. (P2)
@usableFromInline
internal final class OrderedObservation<Event: Sendable>: SharedMailbox<Event>, @unchecked Sendable {
    // Unchecked: `lock` guards the variables, except the batch.

    /// Says on which thread the events are delivered.
    @usableFromInline let delivery: Delivery
    @usableFromInline let deliver: Delivering
    /// The list that holds the user's observer, `observer`.
    let observers = ObserverList()
    /// The events that the delivery has taken from the mailbox, and that the user's observer has
    /// not received yet.
    ///
    /// The delivery takes the next event out in a visit of the user's observer (`Observer.visit`),
    /// without the lock. All other accesses are under the lock. The thread that closes the mailbox
    /// holds the lock, too, and comes after the last visit: the observation has finished. (P8)
    // Exclusivity unchecked: the visits and the lock ensure it.
    @exclusivity(unchecked) @usableFromInline var batch = RingBuffer<Event>()
    /// Whether the source's observer is in the list of the source. `lock` guards it.
    private var isJoined = false
    /// Whether the owner may be gone when an event is delivered.
    @usableFromInline let mayLoseOwner = Atomic<Bool>(false)
    /// Whether the closure decides for each event whether to call the user's code. If so, it counts
    /// each event itself.
    @usableFromInline let closureCounts = Atomic<Bool>(false)

    @inlinable
    init(_ delivery: Delivery, _ succession: Succession<Event>?) {
        self.delivery = delivery
        deliver = Self.delivering
        super.init(delivery.buffering, succession, .parked)
    }

    /// Ends the list of the user's observer, because the list's memory is about to be freed. The
    /// list's core must not clean it up afterwards.
    deinit { observers.endSource(.cancelled) }

    override var place: String {
        switch delivery.kind {
        case .inline: "inline"
        case .serial: "one at a time"
        case .queue(let queue): "on queue '\(queue.label)'"
        case .isolated: "on an actor"
        }
    }

    @usableFromInline
    override func begin() {
        switch delivery.kind {
        case .inline: preconditionFailure("an inline observer has no mailbox")
        case .serial: if !deliver(self, Self.shareOfThread) { handOver() }
        case .queue(let queue):
            queue.async { [self] in
                // In a new block, so that other blocks of the queue can run in between.
                if !deliver(self, Self.shareOfJob) { begin() }
            }
        case .isolated(let isolation):
            // Detached: the observer must not inherit the changing task's priority and task-local
            // values.
            Task.detached { [self] in
                // Between two jobs the actor is free, and not retained. Therefore an actor that
                // never empties its mailbox may die, too. (P11)
                if await !runJob(on: isolation) { begin() }
            }
        }
    }
}

// MARK: - Where it is delivered

extension OrderedObservation {
    /// Whether events are delivered on the thread that makes the change.
    @inlinable
    var isSerial: Bool { if case .serial = delivery.kind { true } else { false } }

    /// The largest number of events that a changing thread delivers in one call: its own and 64 of
    /// other threads. A thread of the library delivers the rest.
    private static var shareOfThread: Int { 1 + 64 }

    /// The largest number of events that a thread of the library delivers before it does other
    /// work.
    private static var shareOfLibrary: Int { 4_096 }

    /// The number of events after which other jobs run on the same queue or actor.
    private static var shareOfJob: Int { 256 }

    /// Hands a serial delivery over to a thread of the library.
    private func handOver() {
        ThreadRecord.retire(
            DeferredAction(for: self) { [self] in if !deliver(self, Self.shareOfLibrary) { handOver() } }
        )
    }

    private func runJob(on isolation: DeliveryIsolation) async -> Bool {
        guard let actor = isolation.actor else {
            observer?.end(.ownerDeleted)
            return true
        }
        return await deliverJob(on: actor)
    }

    private func deliverJob(on isolation: isolated any Actor) -> Bool { deliver(self, Self.shareOfJob) }
}

// MARK: - Beginning

extension OrderedObservation {
    /// Makes the user's observer. It is called once, before the observation begins.
    ///
    /// - Parameter isHeldMeanwhile: Whether the delivery retains the owner while it calls the
    ///   closure.
    @usableFromInline
    func makeUser(owner: WeakReference?, isHeldMeanwhile: Bool, _ form: CallbackForm<Event>) -> Observer {
        let user = observers.makeObserver(owner: owner)
        user.companion = DeliveryState(counter, self)
        setObserver(user)
        // Relaxed, both: no other thread has the observation yet.
        mayLoseOwner.store(owner != nil && !isHeldMeanwhile, ordering: .relaxed)
        closureCounts.store(form.isChoosing, ordering: .relaxed)
        user.setCallback(form, counter)
        return user
    }

    /// Makes the receiver through which the source uses the observation. It is called where the
    /// compiler knows the event's type. A serial delivery comes after the inline callbacks: `drain`
    /// begins it, not `wake`. (P1)
    @inlinable
    func receiver() -> EventReceiver<Event> {
        let wake: @Sendable () -> Void = if isSerial { {} } else { { self.wake() } }
        return EventReceiver(
            enqueue: { event in self.enqueue(event) },
            wake: wake,
            drain: { self.drain() },
            join: { sourceObserver in self.join(sourceObserver) },
            hasJoined: { self.hasJoined() }
        )
    }

    /// Joins the observation to its source. The caller then publishes `sourceObserver` there, and
    /// calls `hasJoined()`.
    ///
    /// - Returns: The token that keeps the observation going.
    @usableFromInline
    func join(_ sourceObserver: Observer) -> ObservationToken {
        self.sourceObserver = sourceObserver
        let user = observer!
        user.beforeFinished { [self] in close() }
        // Removing the source's observer removes the user's.
        sourceObserver.feed(user.core)
        _ = sourceObserver.whenFinished { [self] end in
            if end == .sourceDeleted { finish() } else { observer?.end(end) }
        }
        let token = user.takeToken()
        // Last: from here on another thread can end the observation, for example with all others of
        // its owner.
        user.register()
        return token ?? ObservationToken(user)
    }

    /// Delivers the events that came before the source's observer was published. The caller has
    /// published this observer, and holds no lock.
    @usableFromInline
    func hasJoined() {
        let isClosed = withMailbox { mailbox -> Bool in
            isJoined = true
            return mailbox.isClosed
        }
        if isClosed { sourceObserver!.end(.cancelled) }
        drain()
    }
}

// MARK: - Delivering

extension OrderedObservation {
    /// Delivers at most `limit` events of `observation`. Returns false if the limit was reached:
    /// see `run(atMost:_:)`.
    @usableFromInline
    typealias Delivering = @Sendable (_ observation: OrderedObservation, _ limit: Int) -> Bool

    /// Returns the closure that delivers. It is called where the compiler knows the event's type,
    /// so that the closure is compiled for that type.
    @inlinable
    static var delivering: Delivering { { observation, limit in observation.run(atMost: limit, Observer.call) } }

    /// Delivers the events of the mailbox in order, at most `limit` of them.
    ///
    /// - Parameter call: Calls the closure of the observer at an address with an event.
    /// - Returns: False if the limit was reached: the caller must go on, or hand the delivery over.
    ///   True if nothing was left, or the observation has ended: the caller must not go on.
    @inlinable @inline(never)
    func run(atMost limit: Int, _ call: (_ observer: UInt, Event) -> Void) -> Bool {
        // Delivered events may be destroyed here.
        ThreadRecord.withUserCode {
            var left = 0
            for _ in 0..<limit {
                if left == 0 {
                    guard let count = fillBatch() else {
                        return true
                    }
                    left = count
                }
                if left == 0 {
                    observer?.end(.sourceDeleted)
                } else {
                    guard let rest = deliverNext(of: left, call) else { return true }
                    left = rest
                }
                // Relaxed: a flush that this load misses is found under the lock, at the latest
                // when nothing is left.
                if hasFlushes.load(ordering: .relaxed) { settleFlushes(left) }
            }
            return false
        }
    }

    /// Takes from the mailbox the events that the policy allows, unless an earlier job has left
    /// some in the batch.
    ///
    /// - Returns: The number of events to deliver; 0 if no event is left and the source is gone;
    ///   nil if there is nothing to deliver: the delivery is over.
    @inlinable
    func fillBatch() -> Int? {
        var settled: [Flush] = []
        let count = withMailbox { mailbox -> Int? in
            let count = withBatch { batch in
                mailbox.take(into: &batch)
                return batch.count
            }
            if count > 0 { return count }
            if mailbox.takeEnd() { return 0 }
            mailbox.park()
            if !mailbox.flushes.isEmpty {
                settled = mailbox.settle(pending: 0)
                hasFlushes.store(false, ordering: .relaxed)  // Relaxed: written under `lock`.
            }
            return nil
        }
        if !settled.isEmpty { Flush.resume(settled) }
        return count
    }

    /// Resumes the flushes whose events are all delivered or dropped. The delivering thread calls
    /// it, between two callbacks.
    ///
    /// - Parameter count: The number of events of the batch that are not delivered yet.
    @usableFromInline @inline(never)
    func settleFlushes(_ count: Int) {
        let settled = withMailbox { mailbox -> [Flush] in
            let settled = mailbox.settle(pending: count)
            // Relaxed: written under `lock`.
            hasFlushes.store(!mailbox.flushes.isEmpty, ordering: .relaxed)
            return settled
        }
        Flush.resume(settled)
    }

    /// Takes the next event from the batch, and calls the closure with it.
    ///
    /// - Parameter count: The number of events in the batch.
    /// - Returns: The number of events that are left; nil if the observation has ended. Then the
    ///   call took no event. The batch is dropped later, when the closure is destroyed and the
    ///   mailbox closes. (P8)
    @inlinable @inline(__always)
    func deliverNext(of count: Int, _ call: (UInt, Event) -> Void) -> Int? {
        // Before the call, because the closure may leave the event out before it checks its owner.
        // (P13) Relaxed: written before the first event.
        if mayLoseOwner.load(ordering: .relaxed) { noticeOwner() }
        // Keeps the event until the visit is over, so that it is destroyed after that.
        var taken: Event?
        Observer.visit(at: address) { address in
            // The release that ends the visit pairs with the acquire of the scan before the closure
            // is destroyed. Therefore `close()` finds the batch as the visits have left it.
            let event = withBatch { $0.popFirst()! }
            taken = event
            // Relaxed: written before the first event.
            if !closureCounts.load(ordering: .relaxed) { counter.countReceived() }
            call(address, event)
        }
        return taken == nil ? nil : count &- 1
    }

    /// Calls `body` with the batch. The caller must be in a visit of a live observer, or hold
    /// `lock`.
    @inlinable @inline(__always)
    func withBatch<Result>(_ body: (inout RingBuffer<Event>) -> Result) -> Result {
        // Safe: no other thread uses it then, as its declaration says.
        unsafe body(&batch)
    }

    @usableFromInline
    func noticeOwner() {
        if let observer, observer.hasLostOwner { observer.end(.ownerDeleted) }
    }
}

// MARK: - Ending

extension OrderedObservation {
    /// Closes the mailbox: the user's observation has ended, and its closure is destroyed. No visit
    /// goes on, and none begins. The events in the batch are dropped with the rest. (P8)
    private func close() { Flush.resume(dropAll()) }

    /// Drops and destroys all events. Returns the flushes that waited for them.
    private func dropAll() -> [Flush] {
        var (taken, rest, dropped) = (RingBuffer<Event>(), RingBuffer<Event>(), RingBuffer<Event>())
        let (settled, hasJoined) = withMailbox { mailbox in
            withBatch { swap(&taken, &$0) }
            counter.countDropped(taken.count)
            let settled = mailbox.close(&rest).settled
            _ = mailbox.collect(&dropped)
            return (settled, isJoined)
        }
        // If the source's observer is in no list yet, it cannot be taken out of one: `hasJoined()`
        // ends it later.
        if hasJoined { sourceObserver!.end(.cancelled) }
        observer?.companion = DeliveryState(counter)
        withExtendedLifetime((rest, taken, dropped)) {}
        return settled
    }
}
