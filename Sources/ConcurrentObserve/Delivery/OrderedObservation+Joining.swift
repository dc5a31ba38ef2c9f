// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension OrderedObservation {
    /// Makes the observer for the user's closure, which the caller sets.
    ///
    /// - Parameter isHeldMeanwhile: Whether the delivery retains the owner while it calls the
    ///   closure.
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

    /// Joins the observation to its source. The caller then publishes `sourceObserver` there, and
    /// calls `hasJoined()`.
    ///
    /// - Returns: The token that keeps the observation going.
    @usableFromInline
    final func join(_ sourceObserver: Observer) -> ObservationToken {
        self.sourceObserver = sourceObserver
        let user = user!
        _ = user.whenFinished { [self] _ in close() }
        // Removing the source's observer removes the user's.
        sourceObserver.feed(user.core)
        _ = sourceObserver.whenFinished { [self] end in sourceObserverHasEnded(end) }
        let token = user.takeToken()
        // Last: from here on another thread can end the observation, for example with all others of
        // its owner.
        user.register()
        return token ?? ObservationToken(user)
    }

    /// Keeps enqueued events in the mailbox until the caller calls `begin()`. Called before the
    /// first event.
    final func hold() { withGuarded { $0.isBusy = true } }

    /// Delivers the events that came before the source's observer was published. Called when that
    /// is done, under no lock.
    @usableFromInline
    final func hasJoined() {
        let isClosed = withGuarded { guarded -> Bool in
            guarded.isJoined = true
            return guarded.mailbox.isClosed
        }
        if isClosed { sourceObserver!.end(.cancelled) }
        drain()
    }

    /// Closes the mailbox: the user's observation has ended, and its closure is destroyed. No visit
    /// goes on, and none begins. The events in the batch are dropped with the rest. (P8)
    private func close() { Flush.resume(dropAll()) }

    /// Drops and destroys all events. Returns the flushes that waited for them.
    private func dropAll() -> [Flush] {
        var taken = RingBuffer<Event>()
        let (rest, settled, isJoined) = withGuarded { guarded -> (Mailbox<Event>.Rest, [Flush], Bool) in
            let rest = guarded.mailbox.close()
            takeBatch(&taken)
            return (rest, guarded.mailbox.flushes.take(through: .max), guarded.isJoined)
        }
        // If the source's observer is in no list yet, it cannot be taken out of one: `hasJoined()`
        // ends it later.
        if isJoined { sourceObserver!.end(.cancelled) }
        user?.companion = DeliveryState(counter)
        withExtendedLifetime((rest, taken)) {}
        return settled
    }

    /// Takes the batch, which the caller must destroy under no lock. The caller must hold `lock`.
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

    /// Ends the user's observation, since its owner is gone.
    final func ownerIsGone() { user?.end(.ownerDeleted) }
}
