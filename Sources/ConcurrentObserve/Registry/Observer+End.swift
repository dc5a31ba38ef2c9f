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
            if ends.hasEnded { reportEnd() }
            return ends.hasEnded
        }
    }

    /// Marks that what the observer receives is cut off.
    func markCutOff() {
        // Relaxed: the lock of the last property comes between this and a commit that finds the path cut. If the end comes at the same
        // moment, and the bit is lost, the end does as well.
        mark.bitwiseOr(ObserverMark.isCutOff.rawValue, ordering: .relaxed)
    }

    /// Counts, for the diagnostics, that the observation has ended with its token, if that was soon after it began.
    func countDroppedToken() {
        if knownMark.isYoung { ThreadRecord.countDroppedToken() }
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
        let owner = core.lock.withLock { extras?.owner.take() }
        withExtendedLifetime(owner) {}
    }

    /// Calls the listeners for the end, which has come, and those that are given meanwhile, in their
    /// order. One thread at a time does.
    func notifyListeners() {
        // Constant: the caller comes after the end.
        let end = knownMark.end
        let unused = core.lock.withLock { extras?.atSourceEnd.take() }
        // Destroyed under no lock. (P5)
        withExtendedLifetime(unused) {}
        while true {
            let listeners = takeListeners()
            if listeners.isEmpty { return }
            for listener in listeners { listener(end) }
        }
    }

    /// The listeners that wait to be called. If there are none, no thread calls listeners any more.
    private func takeListeners() -> [OnEnd] {
        core.lock.withLock {
            guard let extras else { return [] }
            let listeners = extras.onEnd
            extras.onEnd = []
            extras.isNotifying = !listeners.isEmpty
            extras.listeningGeneration = Fork.generation
            return listeners
        }
    }

    typealias OnEnd = @Sendable (ObservationEnd) -> Void

    /// Calls `body` once the closure is destroyed: later, or, if it is, never, returning the
    /// reason.
    func whenFinished(_ body: @escaping OnEnd) -> ObservationEnd? {
        core.lock.withLock {
            let mark = markListening()
            if mark.contains(.finished) { return mark.end }
            addListener(body)
            return nil
        }
    }

    /// Marks that bodies wait for the end. Returns the mark before. Under the core's lock.
    private func markListening() -> ObserverMark {
        // Acquire: pairs with the release in finish(), which takes the lock for the listeners if it comes later.
        let before = mark.bitwiseOr(ObserverMark.hasListeners.rawValue, ordering: .acquiring).oldValue
        return ObserverMark(rawValue: before)
    }

    /// Calls `body` once the closure is destroyed, after all that were given before: later, or now,
    /// if it is destroyed and none of them waits or runs.
    func notifyInOrder(_ body: @escaping OnEnd) {
        let isNext = core.lock.withLock { () -> Bool in
            let isNext = markListening().contains(.finished) && !hasEarlierListeners
            addListener(body)
            // The thread that comes next finds this one at it.
            if isNext { withExtras { $0.isNotifying = true } }
            return isNext
        }
        if isNext { ThreadRecord.withUserCode { notifyListeners() } }
    }

    /// Whether a thread of this process calls listeners, or is about to. The end has come. Under the
    /// core's lock.
    private var hasEarlierListeners: Bool {
        guard let extras, extras.listeningGeneration == Fork.generation else { return false }
        return extras.isNotifying || !extras.onEnd.isEmpty
    }

    /// Under the core's lock.
    private func addListener(_ body: @escaping OnEnd) {
        withExtras { extras in
            extras.onEnd.append(body)
            extras.listeningGeneration = Fork.generation
        }
    }
}
