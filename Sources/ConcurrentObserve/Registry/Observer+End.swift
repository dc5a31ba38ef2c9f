// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Observer {
    /// Whether the observer's mark says that the observation has not ended. Does not check whether
    /// the owner is dead.
    var isMarkedActive: Bool {
        // Acquire: pairs with the release in markEndedLocked(_:).
        ObserverMark(rawValue: mark.load(ordering: .acquiring)).contains(.active)
    }

    /// Whether the observation has not ended. Ends it if its owner is dead. (P13)
    var isActive: Bool {
        // Acquire: pairs with the release in markEndedLocked(_:).
        let mark = ObserverMark(rawValue: mark.load(ordering: .acquiring))
        guard mark.contains(.active) else { return false }
        guard mark.contains(.ownerBound), hasLostOwner else { return true }
        end(.ownerDeleted)
        return false
    }

    /// Whether the observation has ended and its closure is destroyed.
    var isFinished: Bool {
        // Acquire: pairs with the release in markFinished(); the destruction comes before it.
        ObserverMark(rawValue: mark.load(ordering: .acquiring)).contains(.finished)
    }

    /// Ends the observation and hands its closure over for destruction. Returns true if this call
    /// ended it. (P8)
    @discardableResult @usableFromInline
    func end(_ reason: ObservationEnd) -> Bool {
        guard endWithoutRetiring(reason) else { return false }
        // The closure is destroyed on another thread: the caller may hold a lock that a capture's
        // deinit takes. (P5)
        ThreadRecord.retire(retirement)
        return true
    }

    /// The item by which the observer is retired (handed over for reclamation). It owns one
    /// reference to the observer. Must be read once, by the thread that has ended the observation.
    var retirement: RetiredItem {
        knownMark.contains(.isCountedAhead) ? RetiredItem(at: address) : RetiredItem(self)
    }

    /// Releases the reference that was counted in advance for the retirement, if there is one. The
    /// thread that has ended the observation must call this once, if it does not retire the
    /// observer.
    func forgoRetirement() {
        if knownMark.contains(.isCountedAhead) { _ = retirement.take() }
    }

    /// Ends the observation. Returns true if this call ended it. Then the caller must destroy the
    /// closure, or retire the observer.
    func endWithoutRetiring(_ reason: ObservationEnd) -> Bool {
        // The release of a token after its cancellation needs no lock.
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

    /// Marks the observer as one that receives no more events: see `ObserverMark.isCutOff`.
    func markCutOff() {
        // Relaxed: the two callers order it. A path that has lost its root next calls
        // `Observed.cut(at:)`, which holds off publication: a commit that finds the cut also finds
        // this bit. `RegistryCore.endLocked(_:_:)` next executes a release fence. If the
        // observation ends at the same moment, its end may overwrite this bit; the end has the same
        // effect.
        mark.bitwiseOr(ObserverMark.isCutOff.rawValue, ordering: .relaxed)
    }

    /// Counts, for the diagnostics, that the release of the token has ended the observation, if the
    /// observation began only about a second ago.
    func countDroppedToken() {
        if knownMark.isYoung, !knownMark.contains(.hasLibraryToken) { ThreadRecord.countDroppedToken() }
    }

    /// Records that the token belongs to the library: `countDroppedToken()` then counts nothing.
    @usableFromInline
    func leaveTokenUncounted() {
        // Relaxed: only a statistic needs it.
        mark.bitwiseOr(ObserverMark.hasLibraryToken.rawValue, ordering: .relaxed)
    }

    /// Whether the observer still receives events: its observation has not ended, and the observer
    /// is not cut off. If a commit skipped the observer for one of these reasons, the result on the
    /// commit's thread is false: see `markCutOff()`.
    var isReceiving: Bool { isMarkedActive && !knownMark.contains(.isCutOff) }

    /// Records in the mark that the observation has ended, and why. The caller must hold the core's
    /// lock.
    func markEndedLocked(_ reason: ObservationEnd) {
        // Release: pairs with the acquires in isActive and isMarkedActive. Walkers need none: a
        // heavy barrier is executed after this store, and before the scan of the frames that allows
        // to destroy the closure.
        mark.store(knownMark.ended(reason).rawValue, ordering: .releasing)
        ThreadRecord.countLiveObserver(-1)
    }

    /// Destroys the content, then calls the listeners for the end. Must be called once, when no
    /// frame names the observer in `current`. The caller must be marked as inside a callback,
    /// because both run user code.
    func finish() {
        destroyContent()
        // Most observers have none, and take no lock.
        if let extras, let body = core.lock.withLock({ extras.beforeFinished.take() }) { body() }
        markFinished()
    }

    func markFinished() {
        if knownMark.contains(.ownerBound) { forgetOwner() }
        // Release: pairs with the acquires in isFinished and markListeningLocked(). Of this
        // operation and the operation in markListeningLocked(), the later one sees the bit that the
        // earlier one has set. The source's lock is taken only if there are listeners: otherwise
        // the library's threads would contend for it with the source's threads.
        let before = mark.bitwiseOr(ObserverMark.finished.rawValue, ordering: .releasing).oldValue
        if ObserverMark(rawValue: before).contains(.hasListeners) { notifyListeners() }
    }

    /// Releases the weak reference to the owner. That reference keeps the owner's memory allocated,
    /// and a token may keep the observer for a long time. (P13)
    private func forgetOwner() {
        let owner = core.lock.withLock { extras?.owner.take() }
        withExtendedLifetime(owner) {}
    }

    /// Calls the listeners for the end, in their order, including listeners that are added during
    /// the calls. The observation must have finished. Only one thread at a time calls listeners.
    func notifyListeners() {
        // Constant: the observation has ended before the call.
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

    /// Removes the listeners that wait to be called, and returns them. If there are none, it
    /// records that no thread calls listeners any more.
    private func takeListeners() -> [OnEnd] {
        core.lock.withLock {
            guard let extras else { return [] }
            let listeners = extras.onEnd
            extras.onEnd = []
            extras.isNotifying = !listeners.isEmpty
            return listeners
        }
    }

    typealias OnEnd = @Sendable (ObservationEnd) -> Void

    /// Registers `body`, which is called with the reason of the end when the closure has been
    /// destroyed.
    ///
    /// - Returns: Nil if `body` is registered. If the closure is destroyed already, `body` is not
    ///   registered, and the result is the reason of the end.
    func whenFinished(_ body: @escaping OnEnd) -> ObservationEnd? {
        core.lock.withLock {
            let mark = markListeningLocked()
            if mark.contains(.finished) { return mark.end }
            addListenerLocked(body)
            return nil
        }
    }

    /// Marks that listeners wait for the end. Returns the mark as it was before. The caller must
    /// hold the core's lock.
    private func markListeningLocked() -> ObserverMark {
        // Acquire: pairs with the release in markFinished(). If that comes later, it takes the lock
        // to find the listeners.
        let before = mark.bitwiseOr(ObserverMark.hasListeners.rawValue, ordering: .acquiring).oldValue
        return ObserverMark(rawValue: before)
    }

    /// Registers `body`, which is called when the closure has been destroyed, after all bodies that
    /// were registered earlier. If the closure is destroyed already, and no earlier body waits or
    /// runs, calls `body` before the return.
    func notifyInOrder(_ body: @escaping OnEnd) {
        let isNext = core.lock.withLock { () -> Bool in
            let isNext = markListeningLocked().contains(.finished) && !hasEarlierListeners
            addListenerLocked(body)
            // The next thread then sees that this thread calls the listeners.
            if isNext { withExtrasLocked { $0.isNotifying = true } }
            return isNext
        }
        if isNext { ThreadRecord.withUserCode { notifyListeners() } }
    }

    /// Whether a thread calls listeners, or listeners wait to be called. The observation must have
    /// ended. The caller must hold the core's lock.
    private var hasEarlierListeners: Bool {
        guard let extras else { return false }
        return extras.isNotifying || !extras.onEnd.isEmpty
    }

    /// Adds a listener. The caller must hold the core's lock.
    private func addListenerLocked(_ body: @escaping OnEnd) {
        withExtrasLocked { $0.onEnd.append(body) }
    }
}
