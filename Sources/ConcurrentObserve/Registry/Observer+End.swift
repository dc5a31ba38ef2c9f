// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Observer {
    /// Whether the mark is set: no look at the owner.
    var isMarkedActive: Bool {
        // Acquire: pairs with the release in markEnded(_:).
        ObserverMark(rawValue: mark.load(ordering: .acquiring)).contains(.active)
    }

    /// Whether the observation goes on. Notices a dead owner. (P13)
    var isActive: Bool {
        // Acquire: pairs with the release in markEnded(_:).
        let mark = ObserverMark(rawValue: mark.load(ordering: .acquiring))
        guard mark.contains(.active) else { return saysActiveAfterEnd }
        guard mark.contains(.ownerBound), hasLostOwner else { return true }
        end(.ownerDeleted)
        return false
    }

    private var saysActiveAfterEnd: Bool {
        #if INSTRUMENTED
        if mutant(.anEndedTokenSaysItIsActive) { return true }
        #endif
        return false
    }

    /// Whether the closure is destroyed.
    var isFinished: Bool {
        // Acquire: pairs with the release in finish(); the destruction happens before.
        ObserverMark(rawValue: mark.load(ordering: .acquiring)).contains(.finished)
    }

    /// Ends the observation and hands its closure over for destruction. True if this call ended it.
    /// (P8)
    @discardableResult @usableFromInline
    func end(_ reason: ObservationEnd) -> Bool {
        guard endWithoutRetiring(reason) else { return false }
        #if INSTRUMENTED
        if finishesAtOnce() { return true }
        #endif
        // The closure is destroyed elsewhere: the caller may hold a lock that a capture's deinit
        // takes. (P5)
        ThreadRecord.retire(retirement)
        return true
    }

    /// The observer as an item to retire. Once, by the thread that has ended the observation.
    var retirement: RetiredItem {
        knownMark.contains(.isCountedAhead) ? RetiredItem(at: address) : RetiredItem(self)
    }

    /// Releases the reference of a retirement that does not come. Once, by the thread that has ended the observation.
    func forgoRetirement() {
        if knownMark.contains(.isCountedAhead) { _ = retirement.take() }
    }

    /// Ends the observation. True if this call ended it: then the caller destroys the closure, or
    /// retires the observer.
    func endWithoutRetiring(_ reason: ObservationEnd) -> Bool {
        // A token that is dropped after its cancellation needs no lock.
        guard isMarkedActive else { return false }
        return withCore { core in
            // Decide under the lock …
            let ends = core.end(self, reason)
            // … act outside it.
            ends.tidy(core)
            return ends.hasEnded
        }
    }

    /// Marks that what the observer receives is cut off.
    func markCutOff() {
        #if INSTRUMENTED
        if mutant(.aGroupGoesOnWithoutAPathsRoot) { return }
        #endif
        // Relaxed: the lock of the last property comes between this and a commit that finds the path cut. If the end comes at the same
        // moment, and the bit is lost, the end does as well.
        mark.bitwiseOr(ObserverMark.isCutOff.rawValue, ordering: .relaxed)
    }

    /// Whether the observation goes on, and is not cut off. The lock of the last property comes between the mark and a commit that finds
    /// the path cut.
    var isReceiving: Bool { isMarkedActive && !knownMark.contains(.isCutOff) }

    /// Marks the end. Under the core's lock.
    func markEnded(_ reason: ObservationEnd) {
        // Release: pairs with the acquires in isActive and isMarkedActive. Walkers need none: the
        // thread that destroys the closure executes the heavy barrier between this and its look at
        // the frames.
        mark.store(knownMark.ended(reason).rawValue, ordering: .releasing)
        ThreadRecord.countLiveObserver(-1)
    }

    /// Destroys what the observer holds, then calls the listeners for the end. Once, when no frame
    /// has the observer as current, and marked as inside a callback, since both run user code.
    func finish() {
        #if INSTRUMENTED
        if finishesWrongly() { return }
        #endif
        destroyContent()
        markFinished()
    }

    func markFinished() {
        if knownMark.contains(.ownerBound) { forgetOwner() }
        // Release: pairs with the acquires in isFinished and whenFinished(_:). Of this step and
        // that of whenFinished(_:), the later one sees the other's bit. Listeners are found under
        // the source's lock: only if there are any, since churn on the source's threads would make
        // it a hot one.
        let before = mark.bitwiseOr(ObserverMark.finished.rawValue, ordering: .releasing).oldValue
        if ObserverMark(rawValue: before).contains(.hasListeners) { notifyListeners() }
    }

    /// A token may keep the observer for long, and with it the owner's memory. (P13)
    private func forgetOwner() {
        #if INSTRUMENTED
        if mutant(.anEndedObservationKeepsItsOwnersMemory) { return }
        #endif
        let owner = core.lock.withLock { extras?.owner.take() }
        withExtendedLifetime(owner) {}
    }

    /// Calls the listeners for the end, which has come.
    func notifyListeners() {
        // Constant: the caller comes after the end.
        let end = knownMark.end
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

    /// Calls `body` once the closure is destroyed: later, or, if it is, never, returning the
    /// reason.
    func whenFinished(_ body: @escaping OnEnd) -> ObservationEnd? {
        core.lock.withLock {
            // Acquire: pairs with the release in finish(), which takes the lock for the listeners
            // if it comes later.
            let before = mark.bitwiseOr(ObserverMark.hasListeners.rawValue, ordering: .acquiring).oldValue
            let mark = ObserverMark(rawValue: before)
            if mark.contains(.finished) { return mark.end }
            withExtras { $0.onEnd.append(body) }
            return nil
        }
    }
}
