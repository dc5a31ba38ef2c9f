// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension OrderedObservation {
    /// An observer for the user's closure, which the caller sets.
    ///
    /// - Parameter isHeldMeanwhile: Whether the delivery holds the owner while it calls the closure.
    @usableFromInline
    final func makeUser(owner: WeakReference?, isHeldMeanwhile: Bool = false) -> Observer {
        let user = observers.makeObserver(owner: owner)
        user.companion = DeliveryState(counter, self)
        self.user = user
        // Relaxed, both: no other thread has the observation yet.
        userAddress.store(user.address, ordering: .relaxed)
        mayLoseOwner.store(owner != nil && !isHeldMeanwhile, ordering: .relaxed)
        return user
    }

    /// Joins the observation to its source: the caller publishes `sourceObserver` there afterwards, then calls `hasJoined()`.
    ///
    /// - Returns: The token that keeps the observation going.
    @usableFromInline
    final func join(_ sourceObserver: Observer) -> ObservationToken {
        self.sourceObserver = sourceObserver
        let user = user!
        _ = user.whenFinished { [self] _ in close() }
        // A removal of the source's observer removes the user's.
        sourceObserver.feed(user.core)
        _ = sourceObserver.whenFinished { [self] end in sourceObserverHasEnded(end) }
        let token = user.takeToken()
        // Last: from here on another thread can end it, as a removal of all of an owner's does.
        user.register()
        return token ?? ObservationToken(user)
    }

    /// Keeps what is enqueued in the mailbox until the caller calls `begin()`. Before the first event.
    final func hold() { withGuarded { $0.isBusy = true } }

    /// The source's observer is published: what came before is delivered now. Under no lock.
    @usableFromInline
    final func hasJoined() {
        let isClosed = withGuarded { guarded -> Bool in
            guarded.isJoined = true
            return guarded.mailbox.isClosed
        }
        if isClosed { sourceObserver!.end(.cancelled) }
        drain()
    }

    /// The user's observation has ended, and its closure is destroyed: no visit goes on, and none
    /// begins. What the delivery has taken is dropped with the rest. (P8)
    private func close() { Flush.resume(dropAll()) }

    /// Drops everything, and destroys it. Returns the flushes that waited for that.
    private func dropAll() -> [Flush] {
        var taken = RingBuffer<Event>()
        let (rest, settled, isJoined) = withGuarded { guarded -> (Mailbox<Event>.Rest, [Flush], Bool) in
            let rest = guarded.mailbox.close()
            takeBatch(&taken)
            return (rest, guarded.mailbox.flushes.take(through: .max), guarded.isJoined)
        }
        // One that is in no list yet cannot be taken out of it: `hasJoined()` does that.
        if isJoined { sourceObserver!.end(.cancelled) }
        user?.companion = DeliveryState(counter)
        withExtendedLifetime((rest, taken)) {}
        return settled
    }

    /// Takes what the delivery has taken, for the caller to destroy under no lock. Under the lock.
    private func takeBatch(_ taken: inout RingBuffer<Event>) {
        withBatch { swap(&taken, &$0) }
        counter.countDropped(taken.count)
    }

    private func sourceObserverHasEnded(_ end: ObservationEnd) {
        guard end == .sourceDeleted else {
            user?.end(end)
            return
        }
        enqueueEnd()
        drain()
    }

    /// The owner of the user's observation is gone.
    final func ownerIsGone() { user?.end(.ownerDeleted) }
}
