// SPDX-License-Identifier: Apache-2.0

public import Synchronization

extension OrderedObservation {
    /// Delivers the events of the mailbox in order, at most `limit` of them.
    ///
    /// - Parameter call: Calls the closure of the observer at an address with an event.
    /// - Returns: False if the limit was reached: the caller must go on, or hand the delivery over.
    ///   True if nothing was left, or the observation has ended: the caller must not go on.
    @inlinable @inline(never)
    final func run(atMost limit: Int, _ call: (_ observer: UInt, Event) -> Void) -> Bool {
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
                    user?.end(.sourceDeleted)
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

    /// Delivers the events of an observation whose closure is a `Callback`; see `run`.
    @usableFromInline
    typealias Delivering = @Sendable (_ observation: OrderedObservation, _ limit: Int) -> Bool

    /// Made where the event's type is known, so that the closure is compiled for that type.
    @inlinable
    static var delivering: Delivering { { observation, limit in observation.run(atMost: limit, Observer.call) } }

    /// Takes from the mailbox the events that the policy allows, unless an earlier job has left
    /// some in the batch.
    ///
    /// - Returns: How many events there are to deliver; 0 if the source is gone; nil if there are
    ///   none: the delivery is over.
    @inlinable
    final func fillBatch() -> Int? {
        var settled: [Flush] = []
        let count = withGuarded { guarded -> Int? in
            let count = withBatch { batch in
                guarded.mailbox.take(into: &batch)
                return batch.count
            }
            if count > 0 { return count }
            if guarded.mailbox.next() != nil { return 0 }
            guarded.clearBusy()
            if !guarded.mailbox.flushes.isEmpty {
                settled = guarded.mailbox.flushes.take(through: .max)
                hasFlushes.store(false, ordering: .relaxed)  // Relaxed: written under `lock`.
            }
            return nil
        }
        if !settled.isEmpty { Flush.resume(settled) }
        return count
    }

    /// Resumes the flushes whose events are all settled. The delivering thread calls it, between
    /// two callbacks.
    ///
    /// - Parameter count: How many events of the batch are not delivered.
    @usableFromInline @inline(never)
    final func settleFlushes(_ count: Int) {
        let settled = withGuarded { guarded -> [Flush] in
            let position = guarded.mailbox.position &- UInt64(count)
            let settled = guarded.mailbox.flushes.take(through: position)
            // Relaxed: written under `lock`.
            hasFlushes.store(!guarded.mailbox.flushes.isEmpty, ordering: .relaxed)
            return settled
        }
        Flush.resume(settled)
    }

    final func withFlushes(_ body: (_ flushes: inout Flushes, _ target: UInt64?) -> Void) {
        withGuarded { guarded in
            // If the mailbox is closed, the last callback has returned, and the rest is dropped.
            let isSettled = guarded.mailbox.isFlushed && !guarded.isBusy || guarded.mailbox.isClosed
            body(&guarded.mailbox.flushes, isSettled ? nil : guarded.mailbox.entered)
            // Relaxed: written under `lock`.
            hasFlushes.store(!guarded.mailbox.flushes.isEmpty, ordering: .relaxed)
        }
        // The observation may have ended, and its mailbox not be closed yet. Then the reclamation
        // thread must do that without delay.
        if let user, !user.isMarkedActive { ReclamationThread.wake(urgently: true) }
    }

    /// Stores the closure of the user's observer. Called once, before the observation begins.
    @inlinable
    final func setCallback(_ form: CallbackForm<Event>) {
        // Relaxed: no other thread has the observation yet.
        closureCounts.store(form.isChoosing, ordering: .relaxed)
        user!.setCallback(form, counter)
    }

    /// Takes the next event from the batch, and calls the closure with it.
    ///
    /// - Parameter count: How many events are in the batch.
    /// - Returns: How many are left; nil if the observation has ended. Then it has taken none: when
    ///   the closure is destroyed, the thread that closes the mailbox drops the batch. (P8)
    @inlinable @inline(__always)
    final func deliverNext(of count: Int, _ call: (UInt, Event) -> Void) -> Int? {
        // Now, since the closure may leave the event out before it looks at its owner. (P13)
        // Relaxed: written before the first event.
        if mayLoseOwner.load(ordering: .relaxed) { noticeOwner() }
        // Keeps the event until the visit is over, so that it is destroyed after that.
        var taken: Event?
        Observer.visit(at: address) { address in
            // The release that ends the visit pairs with the acquire of the scan before the closure
            // is destroyed. So `close()` finds the batch as the visits have left it.
            let event = withBatch { $0.popFirst()! }
            taken = event
            // Relaxed: written before the first event.
            if !closureCounts.load(ordering: .relaxed) { counter.countReceived() }
            call(address, event)
        }
        return taken == nil ? nil : count &- 1
    }

    @usableFromInline
    final func noticeOwner() {
        if let user, user.hasLostOwner { user.end(.ownerDeleted) }
    }
}
