// SPDX-License-Identifier: Apache-2.0

public import Synchronization

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
                    #if INSTRUMENTED
                    if mutant(.isBusyIsClearedOutsideTheLock) { clearBusyLate() }
                    #endif
                    if !settled.isEmpty { Flush.resume(settled) }
                    return true
                }
                deliver(item, call, left: batch.count)
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

    /// What the last job has left, and the memory for more.
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

    /// Until there is another job, what is left belongs to the thread that ends the observation: it is dropped then, not later. (P8, P14)
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
            // Its memory is recycled.
            swap(&batch, &guarded.batch)
            guarded.clearBusy()
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
        if let user, !user.isMarkedActive { ReclamationThread.wake(urgently: true) }
    }

    /// Stores the closure of the user's observer. Once, before the observation begins.
    @inlinable
    final func setCallback(_ form: CallbackForm<Event>) {
        #if INSTRUMENTED
        if mutant(.anEventIsReceivedBeforeItIsLeftOut) { return user!.setCallback(form) }
        #endif
        // Relaxed: no other thread has the observation yet.
        closureCounts.store(form.isChoosing, ordering: .relaxed)
        user!.setCallback(form, counter)
    }

    /// - Parameter left: How many events were taken and are not delivered yet.
    @inlinable @inline(__always)
    final func deliver(_ item: Mailbox<Event>.Item, _ call: (UInt, Event) -> Void, left: Int) {
        #if INSTRUMENTED
        if mutant(.aFlushDoesNotWaitForTheCallback) { settleFlushes(left) }
        #endif
        inject("mailbox.taken")
        switch item {
        case .event(let event):
            var isCalled = false
            // The closure may leave the event out before it looks at its owner. (P13)
            // Relaxed: as the address.
            if mayLoseOwner.load(ordering: .relaxed) { noticeOwner() }
            Observer.visit(at: address) { address in
                isCalled = true
                // Relaxed: as the address.
                if !closureCounts.load(ordering: .relaxed) { counter.countReceived() }
                call(address, event)
            }
            if !isCalled { drop(event, call) }
        case .end: user?.end(.sourceDeleted)
        }
    }

    /// Leaves out an event: the observation has ended.
    @inlinable
    final func drop(_ event: Event, _ call: (UInt, Event) -> Void) {
        #if INSTRUMENTED
        if mutant(.queuedChangesAreDeliveredAfterTheEnd) { call(address, event) }
        #endif
        counter.countDropped()
    }

    @usableFromInline
    final func noticeOwner() {
        if let user, user.hasLostOwner { user.end(.ownerDeleted) }
    }
}
