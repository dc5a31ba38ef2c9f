// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Observer {
    /// Whether the mark is set: no look at the owner.
    var isMarkedActive: Bool {
        // Acquire: pairs with the release in markEnded(_:).
        state.load(ordering: .acquiring) & ObserverState.active != 0
    }

    /// Whether the observation goes on. Notices a dead owner. (P13)
    var isActive: Bool {
        // Acquire: pairs with the release in markEnded(_:).
        let state = state.load(ordering: .acquiring)
        guard state & ObserverState.active != 0 else { return saysActiveAfterEnd }
        guard state & ObserverState.ownerBound != 0, hasLostOwner else { return true }
        end(.ownerDeleted)
        return false
    }

    private var saysActiveAfterEnd: Bool {
        #if INSTRUMENTED
        if mutant(.anEndedTokenSaysItIsActive) { return true }
        #endif
        return false
    }

    /// Whether it is a `VersionedObserver`.
    final var isVersioned: Bool {
        // Relaxed: the bit never changes.
        state.load(ordering: .relaxed) & ObserverState.isVersioned != 0
    }

    /// Whether the closure is destroyed.
    var isFinished: Bool {
        // Acquire: pairs with the release in finish(); the destruction happens before.
        state.load(ordering: .acquiring) & ObserverState.finished != 0
    }

    /// Ends the observation and hands its closure over for destruction. True if this call ended it. (P8)
    @discardableResult @usableFromInline
    func end(_ reason: ObservationEnd) -> Bool {
        // A token that is dropped after its cancellation needs no lock.
        guard isMarkedActive else { return false }
        // Decide under the lock …
        guard withCore({ $0.unlink(self, reason) }) else { return false }
        #if INSTRUMENTED
        if finishesAtOnce() { return true }
        #endif
        // … act outside it: the closure is destroyed elsewhere, the caller may hold a lock that a capture's deinit takes. (P5)
        ThreadRecord.retire(self)
        return true
    }

    /// Marks the end. Under the core's lock.
    func markEnded(_ reason: ObservationEnd) {
        // Release: pairs with the acquires in isActive and isMarkedActive. Walkers need none: the thread that destroys the closure executes
        // the heavy barrier between this and its look at the frames. The load is relaxed: under the lock.
        state.store(
            state.load(ordering: .relaxed) & ~ObserverState.active | reason.rawValue << ObserverState.endShift,
            ordering: .releasing
        )
        ThreadRecord.countLiveObserver(-1)
    }

    /// Destroys the closure, then notifies those that wait for the end. Once, when no frame has the observer as current, and
    /// marked as inside a callback, since both run user code.
    func finish() {
        #if INSTRUMENTED
        if finishesWrongly() { return }
        #endif
        destroyCallback()
        markFinished()
    }

    func markFinished() {
        // Release: pairs with the acquires in isFinished and whenFinished(_:). Of this step and that of whenFinished(_:), the later one
        // sees the other's bit. Listeners are found under the source's lock: only if there are any, since churn on the source's threads
        // would make it a hot one.
        let before = state.bitwiseOr(ObserverState.finished, ordering: .releasing).oldValue
        if before & ObserverState.hasListeners != 0 { notifyListeners() }
    }

    /// Calls the listeners for the end, which has come.
    func notifyListeners() {
        // Relaxed: the caller has ended the observation, or comes after the thread that did.
        let end = ObservationEnd(rawValue: state.load(ordering: .relaxed) >> ObserverState.endShift)!
        let (listeners, unused) = core.lock.withLock { () -> ([OnEnd], (@Sendable () -> Void)?) in
            let listeners = extras?.onEnd ?? []
            extras?.onEnd = []
            return (listeners, extras?.atSourceEnd.take())
        }
        // Destroyed under no lock. (P5)
        withExtendedLifetime(unused) {}
        #if INSTRUMENTED
        if notifiesWrongly(listeners, end) { return }
        #endif
        for listener in listeners { listener(end) }
    }

    typealias OnEnd = @Sendable (ObservationEnd) -> Void

    /// Calls `body` once the closure is destroyed: later, or, if it is, never, returning the reason.
    func whenFinished(_ body: @escaping OnEnd) -> ObservationEnd? {
        core.lock.withLock {
            // Acquire: pairs with the release in finish(), which takes the lock for the listeners if it comes later.
            let state = state.bitwiseOr(ObserverState.hasListeners, ordering: .acquiring).oldValue
            if state & ObserverState.finished != 0 { return ObservationEnd(rawValue: state >> ObserverState.endShift) }
            withExtras { $0.onEnd.append(body) }
            return nil
        }
    }
}
