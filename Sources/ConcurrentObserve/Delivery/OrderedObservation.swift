// SPDX-License-Identifier: Apache-2.0

public import Synchronization

/// One observation whose events are delivered one at a time, in the order in which they were posted: a mailbox between an observer of the
/// library's own on the source, the poster, and a list with the user's.
///
/// Whoever posts an event waits for nobody: the mailbox's lock is held for a few instructions, and never while user code runs. When the mailbox is
/// no longer empty, `begin()` sees to it that somebody empties it; until that one finds it empty, it alone delivers. (P2)
///
/// Subclasses say who that is.
@usableFromInline
internal class OrderedObservation<Event: Sendable>: FlushableMailbox, @unchecked Sendable {
    // Unchecked: `guarded` is guarded by `lock`; the observers are written once, before anybody posts.

    /// The list of the user's observer.
    final let observers = ObserverList()

    /// Nobody holds it while the process forks: whoever delivers changes nothing, so that the child may change the source. (P18)
    @usableFromInline final let lock = SourceLock()
    // Exclusivity unchecked: the lock sees to it.
    @exclusivity(unchecked) @usableFromInline final var guarded: Guarded
    /// Whether somebody has to see to the mailbox. Written under the lock; a poster sees what it has written itself.
    @usableFromInline final let needsAttention = Atomic<Bool>(false)
    /// Whether tasks wait for what is in the mailbox. Written under the lock.
    @usableFromInline final let hasFlushes = Atomic<Bool>(false)
    @usableFromInline final let isUnbounded: Bool
    @usableFromInline final let counter: DeliveryCounter

    @usableFromInline final var user: Observer?
    @usableFromInline final let userAddress = Atomic<UInt>(0)
    /// Whether an owner may be gone when an event is delivered.
    @usableFromInline final let mayLoseOwner = Atomic<Bool>(false)
    private final var poster: Observer?

    /// What posters, whoever delivers, and whoever ends the observation share.
    @usableFromInline
    struct Guarded: ~Copyable {
        @usableFromInline var mailbox: Mailbox<Event>
        /// Whether somebody delivers, or is about to.
        @usableFromInline var isBusy = false
        /// Taken from the mailbox at once, where the policy allows it; whoever delivers has it meanwhile.
        @usableFromInline var batch = RingBuffer<Event>()
        /// Whether whoever delivers waits for another turn, which may come late or never.
        @usableFromInline var isPausing = false
        /// Whether a thread delivers at this moment: it has the batch, and looks after the flushes.
        @usableFromInline var isDelivering = false
        /// Whether the poster is in the list of the source.
        @usableFromInline var isJoined = false

        @inlinable
        init(mailbox: consuming Mailbox<Event>) { self.mailbox = mailbox }
    }

    @inlinable
    init(_ buffering: Buffering) {
        let counter = DeliveryCounter()
        self.counter = counter
        // Safe: nobody else has it yet.
        unsafe guarded = Guarded(mailbox: Mailbox(buffering, counter))
        isUnbounded = buffering.capacity == nil
    }

    /// The list's memory goes: its core must not tidy it up any more.
    deinit { observers.endAll(.cancelled, isSourceGone: true) }

    /// Sees to it that `run` is called, once, here or elsewhere. Under no lock.
    @usableFromInline
    func begin() { fatalError("begin() is a subclass's") }

    /// Whether events are delivered on the thread that posts them.
    @usableFromInline
    var isSerial: Bool { false }
}

extension OrderedObservation {
    /// Lends what is guarded, under the lock.
    @inlinable @inline(__always)
    final func withGuarded<Result>(_ body: (inout Guarded) -> Result) -> Result {
        // Safe: nobody else is inside.
        lock.withLock { unsafe body(&guarded) }
    }

    /// Where the user's observer is, which this object keeps.
    @inlinable @inline(__always)
    final var address: UInt {
        // Relaxed: written before anybody posts.
        userAddress.load(ordering: .relaxed)
    }
}

// MARK: - The two observers

extension OrderedObservation {
    /// An observer for the user's closure, which the caller sets.
    ///
    /// - Parameter isHeldMeanwhile: Whether the delivery holds the owner while it calls the closure.
    @usableFromInline
    final func makeUser(owner: WeakReference?, isHeldMeanwhile: Bool = false) -> Observer {
        let user = observers.makeObserver(owner: owner)
        user.deliveryCounter = counter
        user.mailbox = self
        self.user = user
        // Relaxed, both: nobody else has the observation yet.
        userAddress.store(user.address, ordering: .relaxed)
        mayLoseOwner.store(owner != nil && !isHeldMeanwhile, ordering: .relaxed)
        return user
    }

    /// Joins the observation to its source: the caller publishes `poster` there afterwards, then calls `hasJoined()`.
    ///
    /// - Returns: The token that keeps the observation going.
    @usableFromInline
    final func join(_ poster: Observer) -> ObservationToken {
        self.poster = poster
        let user = user!
        _ = user.whenFinished { [self] _ in close() }
        // Who removes the poster from its source removes the user's.
        poster.begin(path: user.core)
        _ = poster.whenFinished { [self] end in posterHasEnded(end) }
        // Last: from here on another thread can end it, as whoever ends all of an owner's.
        user.register()
        return ObservationToken(user)
    }

    /// Keeps what is posted in the mailbox until the caller calls `begin()`. Before anybody posts.
    final func hold() { withGuarded { $0.isBusy = true } }

    /// The poster is published: what came before that is seen to. Under no lock.
    @usableFromInline
    final func hasJoined() {
        let isClosed = withGuarded { guarded -> Bool in
            guarded.isJoined = true
            return guarded.mailbox.isClosed
        }
        if isClosed { poster!.end(.cancelled) }
        attend()
    }

    /// The user's observation has ended, and its closure is destroyed.
    private func close() {
        var settled: [Flush] = []
        let (rest, batch, isJoined) = withGuarded { guarded -> (Mailbox<Event>.Rest, RingBuffer<Event>?, Bool) in
            let rest = guarded.mailbox.close()
            // A thread that delivers drops what it has taken, and resumes them then.
            if !guarded.isDelivering { settled = guarded.mailbox.flushes.take(through: .max) }
            return (rest, guarded.isPausing ? guarded.dropBatch() : nil, guarded.isJoined)
        }
        // One that is in no list yet cannot be taken out of it: `hasJoined()` does that.
        if isJoined { poster!.end(.cancelled) }
        user?.mailbox = nil
        withExtendedLifetime((rest, batch)) {}
        Flush.resume(settled)
    }

    private func posterHasEnded(_ end: ObservationEnd) {
        guard end == .sourceDeleted else {
            user?.end(end)
            return
        }
        postEnd()
        attend()
    }

    /// Whom the events were for is gone.
    final func ownerIsGone() { user?.end(.ownerDeleted) }
}

// MARK: - Posting

extension OrderedObservation {
    /// Puts an event in. Under the source's lock or none; runs no user code.
    @inlinable
    final func post(_ event: Event) {
        // An event that the user will not hear is not sent: the observation has ended. Safe: this object keeps the observer.
        guard Observer.isActive(at: address) else { return }
        inject("mailbox.posting")
        withGuarded { guarded in
            guarded.mailbox.post(event)
            noteAttention(guarded)
        }
    }

    /// The source is gone: the observation ends when everything before is delivered. Runs no user code.
    @inlinable
    final func postEnd() {
        withGuarded { guarded in
            guarded.mailbox.postEnd()
            noteAttention(guarded)
        }
    }

    /// Under the lock.
    @inlinable
    final func noteAttention(_ guarded: borrowing Guarded) {
        // Relaxed: whoever has just posted looks at it on the same thread; who delivers now looks at the mailbox again before it leaves.
        if !guarded.isBusy || guarded.mailbox.hasSpoilt || guarded.mailbox.hasGrown {
            needsAttention.store(true, ordering: .relaxed)
        }
    }

    /// After each post, under no lock: has the mailbox emptied unless somebody is at it. Leaves to `attend()` what was dropped, for which the
    /// caller may have to wait a moment. (P16)
    @inlinable @Sendable
    final func wake() {
        // Relaxed: as above. Another thread's news is that thread's to see to.
        guard needsAttention.load(ordering: .relaxed) else { return }
        let begins = withGuarded { guarded -> Bool in
            needsAttention.store(guarded.mailbox.hasSpoilt || guarded.mailbox.hasGrown, ordering: .relaxed)
            return guarded.takesTurn()
        }
        inject("mailbox.attended")
        if begins, !mutant(.aMailboxsWakeUpIsLost) { begin() }
    }

    /// After each post, under no lock: has what was dropped destroyed, and the mailbox emptied unless somebody is at it.
    @inlinable @Sendable
    final func attend() {
        while mutant(.aSetterWaitsForABusyObserver), withGuarded({ $0.isBusy }) {}
        // Relaxed: as above.
        guard needsAttention.load(ordering: .relaxed) else { return }
        var spoilt: Mailbox<Event>.Spoilt?
        var hasGrown = false
        let begins = withGuarded { guarded -> Bool in
            needsAttention.store(false, ordering: .relaxed)
            spoilt = guarded.mailbox.takeSpoilt()
            swap(&hasGrown, &guarded.mailbox.hasGrown)
            return guarded.takesTurn()
        }
        inject("mailbox.attended")
        if hasGrown { noteGrowth() }
        // Elsewhere: the caller may hold a lock that a value's deinit takes. (P5)
        Discarded.discard(&spoilt, of: self)
        if begins, !mutant(.aMailboxsWakeUpIsLost) { begin() }
    }
}

extension OrderedObservation {
    /// Lists the mailbox among the large ones. Under no lock.
    @usableFromInline
    final func noteGrowth() {
        LargeMailboxes.note(counter, label: user.flatMap { LabelledObservations.label(of: $0) } ?? poster?.core.label)
    }
}

// Under the lock, all of these.
extension OrderedObservation.Guarded {
    /// Whether the caller is to begin the delivery.
    @inlinable
    mutating func takesTurn() -> Bool {
        guard !isBusy, !mailbox.isEmpty else { return false }
        isBusy = !mutant(.twoDeliverAtOnce)
        return true
    }

    /// Takes what was taken from the mailbox, for the caller to destroy under no lock.
    @inlinable
    mutating func dropBatch() -> RingBuffer<Event> {
        var dropped = RingBuffer<Event>()
        swap(&dropped, &batch)
        mailbox.counter.countDropped(dropped.count)
        return dropped
    }
}

// MARK: - Delivering

extension OrderedObservation {
    /// Delivers what there is, in order, `limit` events at most.
    ///
    /// - Parameter call: Calls the closure of the observer at an address with an event.
    /// - Returns: False if the limit was reached: the caller delivers on, or hands that on. True if there was nothing left: others begin.
    @inlinable @inline(never)
    final func run(atMost limit: Int, _ call: (_ observer: UInt, Event) -> Void) -> Bool {
        // What is delivered may be destroyed here.
        ThreadRecord.withUserCode {
            var batch = takeBatch()
            var settled: [Flush] = []
            for _ in 0..<limit {
                guard let item = next(&batch, &settled) else {
                    if mutant(.isBusyIsClearedOutsideTheLock) {
                        inject("mailbox.attended")
                        withGuarded { $0.isBusy = false }
                    }
                    if !settled.isEmpty { Flush.resume(settled) }
                    return true
                }
                if mutant(.aFlushDoesNotWaitForTheCallback) { settleFlushes(batch.count) }
                deliver(item, call)
                // Relaxed: who comes later is found under the lock, when nothing is left at the latest.
                if hasFlushes.load(ordering: .relaxed) { settleFlushes(batch.count) }
            }
            pause(batch)
            return false
        }
    }

    /// Delivers the events of observers whose closures are `Callback`s; see `run`.
    @usableFromInline
    typealias Delivering = @Sendable (_ observation: OrderedObservation, _ limit: Int) -> Bool

    /// A closure made where the event's type is known, so that it is compiled for that.
    @inlinable
    static var delivering: Delivering { { observation, limit in observation.run(atMost: limit, Observer.call) } }

    /// What the last turn has left, and the memory for more.
    @inlinable
    final func takeBatch() -> RingBuffer<Event> {
        withGuarded { guarded in
            guarded.isPausing = false
            guarded.isDelivering = true
            var batch = RingBuffer<Event>()
            swap(&batch, &guarded.batch)
            return batch
        }
    }

    /// Until there is another turn, what is left belongs to whoever ends the observation: it is dropped then, not later. (P8, P14)
    @inlinable
    final func pause(_ batch: consuming RingBuffer<Event>) {
        var settled: [Flush] = []
        let dropped = withGuarded { guarded -> RingBuffer<Event>? in
            swap(&batch, &guarded.batch)
            guarded.isPausing = true
            guarded.isDelivering = false
            guard guarded.mailbox.isClosed else { return nil }
            settled = guarded.mailbox.flushes.take(through: .max)
            return guarded.dropBatch()
        }
        withExtendedLifetime(dropped) {}
        Flush.resume(settled)
    }

    @inlinable @inline(__always)
    final func next(_ batch: inout RingBuffer<Event>, _ settled: inout [Flush]) -> Mailbox<Event>.Item? {
        if let event = batch.popFirst() { return .event(event) }
        return withGuarded { guarded in
            if isUnbounded {
                guarded.mailbox.takeAll(into: &batch)
                if let event = batch.popFirst() { return .event(event) }
            }
            if let item = guarded.mailbox.next() { return item }
            // Its memory is used again.
            swap(&batch, &guarded.batch)
            guarded.isBusy = mutant(.isBusyIsClearedOutsideTheLock)
            guarded.isDelivering = false
            if !guarded.mailbox.flushes.isEmpty {
                settled = guarded.mailbox.flushes.take(through: .max)
                hasFlushes.store(false, ordering: .relaxed)  // Relaxed: under the lock.
            }
            return nil
        }
    }

    /// Resumes the flushes for which nothing is left to do. Between two callbacks, by the one who delivers.
    ///
    /// - Parameter count: How many events it has taken and not delivered.
    @usableFromInline @inline(never)
    final func settleFlushes(_ count: Int) {
        let settled = withGuarded { guarded -> [Flush] in
            let position = guarded.mailbox.position &- UInt64(count)
            let settled = guarded.mailbox.flushes.take(through: position)
            // Relaxed: under the lock.
            hasFlushes.store(!guarded.mailbox.flushes.isEmpty, ordering: .relaxed)
            return settled
        }
        Flush.resume(settled)
    }

    final func withFlushes(_ body: (_ flushes: inout Flushes, _ target: UInt64?) -> Void) {
        withGuarded { guarded in
            let isSettled =
                guarded.mailbox.isFlushed && !guarded.isBusy || guarded.mailbox.isClosed && !guarded.isDelivering
            body(&guarded.mailbox.flushes, isSettled ? nil : guarded.mailbox.entered)
            // Relaxed: under the lock.
            hasFlushes.store(!guarded.mailbox.flushes.isEmpty, ordering: .relaxed)
        }
        // Ended, but not closed: that is not put off.
        if let user, !user.isMarkedActive { Reclaimer.shared.wake(urgently: true) }
    }

    @inlinable @inline(__always)
    final func deliver(_ item: Mailbox<Event>.Item, _ call: (UInt, Event) -> Void) {
        inject("mailbox.taken")
        switch item {
        case .event(let event):
            var isHeard = false
            // Or one that is gone would be counted as called. Relaxed: as the address.
            if mayLoseOwner.load(ordering: .relaxed) { noticeOwner() }
            Observer.visit(at: address) { address in
                isHeard = true
                counter.countReceived()
                call(address, event)
            }
            if !isHeard, mutant(.queuedChangesAreDeliveredAfterTheEnd) { call(address, event) }
            if !isHeard { counter.countDropped() }
        case .end: user?.end(.sourceDeleted)
        }
    }

    @usableFromInline
    final func noticeOwner() {
        if let user, user.hasLostOwner { user.end(.ownerDeleted) }
    }
}
