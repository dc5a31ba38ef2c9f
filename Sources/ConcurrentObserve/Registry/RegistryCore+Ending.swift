// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension RegistryCore {
    /// Takes an observer out of the table and marks it as ended. False if it had ended. (P8)
    ///
    /// - Complexity: O(1). Needs no memory.
    func unlink(_ observer: Observer, _ reason: ObservationEnd) -> Bool {
        let (ended, isUntidy) = lock.withLock { () -> (Bool, Bool) in
            inject("end.locked")
            guard observer.isMarkedActive else { return (false, false) }
            observer.markEnded(reason)
            table!.tombstone(observer)
            inject("end.unlinked")
            return (true, forget(observer))
        }
        if isUntidy { ThreadRecord.retire(self) }
        return ended
    }

    /// Counts those that a change looks for before it is made, and before it is told.
    func count(_ observer: Observer, _ step: Int) {
        // Relaxed: hints, ordered by the source's own lock; the bits never change.
        let state = observer.state.load(ordering: .relaxed)
        if state & ObserverState.hearsPrior != 0 { hearingPrior.add(step, ordering: .relaxed) }
        if state & ObserverState.isLink != 0 { links.add(step, ordering: .relaxed) }
        if state & ObserverState.isOrdered != 0 { ordered.add(step, ordering: .relaxed) }
    }

    func countEnd() {
        #if INSTRUMENTED
        if mutant(.anEndIsNotCounted) { return }
        #endif
        live -= 1
    }

    /// Keeps the counts. True if so many entries are dead now that the reclaimer should tidy up. Under the lock.
    func forget(_ observer: Observer) -> Bool {
        countEnd()
        count(observer, -1)
        if observer.isOwnerBound {
            ownerBound -= 1
            if ownerBound == 0 { OwnerWatch.shared.remove(self) }
        }
        let dead = table!.count - live
        guard !isUntidy, dead >= live, live == 0 || dead >= Self.smallestCapacity else { return false }
        isUntidy = true
        return true
    }

    /// Ends every observation; with `isSourceGone` there will be no others.
    ///
    /// - Returns: The observations this call has ended, in the order of their registration. The caller retires them.
    func unlinkAll(_ reason: ObservationEnd, isSourceGone: Bool) -> [Observer] {
        var ended: [Observer] = []
        let replaced = lock.withLock { () -> ObserverTable? in
            let replaced = replaceTable(by: nil)
            replaced?.forEachEntry { entry in
                guard let observer = entry.liveObserver, ends(isSourceGone) else { return }
                observer.markEnded(reason)
                ended.append(observer)
            }
            if ownerBound > 0 { OwnerWatch.shared.remove(self) }
            (live, ownerBound) = (0, 0)
            // Relaxed: hints.
            hearingPrior.store(0, ordering: .relaxed)
            links.store(0, ordering: .relaxed)
            ordered.store(0, ordering: .relaxed)
            if isSourceGone { unsafe head = nil }
            return replaced
        }
        if let replaced { ThreadRecord.retire(replaced) }
        return ended
    }

    /// Ends the observations that are chosen; with the first observer of a path, that path's.
    ///
    /// - Parameter isChosen: Called under the lock.
    func removeAll(_ reason: ObservationEnd = .cancelled, where isChosen: (Observer) -> Bool) {
        removeAll { observer in isChosen(observer) ? reason : nil }
    }

    /// Ends the observations that were registered with `owner`, which the caller holds; those of a dead owner that had
    /// its address end as what they are. (P8, P13)
    func removeAll(boundTo owner: AnyObject, where isChosen: (Observer) -> Bool = { _ in true }) {
        removeAll { observer in isChosen(observer) ? observer.endIfBound(to: owner) : nil }
    }

    /// Ends observations; with the first observer of a path, that path's.
    ///
    /// - Parameter end: The reason for which an observation ends, or nil. Called under the lock.
    func removeAll(_ end: (Observer) -> ObservationEnd?) {
        let (ended, isUntidy) = lock.withLock { () -> ([(observer: Observer, reason: ObservationEnd)], Bool) in
            var ended: [(observer: Observer, reason: ObservationEnd)] = []
            var isUntidy = false
            table?.forEachEntry { entry in
                guard let observer = entry.liveObserver else { return }
                guard let reason = end(observer) ?? endOfOthers else { return }
                observer.markEnded(reason)
                ended.append((observer, reason))
            }
            for (observer, _) in ended {
                table!.tombstone(observer)
                if forget(observer) { isUntidy = true }
            }
            return (ended, isUntidy)
        }
        if isUntidy { ThreadRecord.retire(self) }
        for (observer, reason) in ended {
            endPath(of: observer, reason)
            ThreadRecord.retire(observer, isOneOfMany: true)
        }
        if !ended.isEmpty { ThreadRecord.pause(for: source) }
    }

    func endPath(of observer: Observer, _ reason: ObservationEnd) {
        #if INSTRUMENTED
        if mutant(.aRemovalForgetsThePaths) { return }
        #endif
        observer.path?.removeAll(reason) { _ in true }
    }

    /// How an observation ends that is not chosen: not at all.
    var endOfOthers: ObservationEnd? {
        #if INSTRUMENTED
        if mutant(.aRemovalEndsOtherObservationsToo) { return .cancelled }
        #endif
        return nil
    }

    /// Whether the end of all is that of each.
    func ends(_ isSourceGone: Bool) -> Bool {
        #if INSTRUMENTED
        if mutant(.tokenStaysActiveAfterSourceDeath) { return !isSourceGone }
        #endif
        return true
    }

    /// How many observations go on of those that are chosen; with the first observer of a path or of a mailbox, whether that one's
    /// does. Under no lock; `isChosen` is called under this one.
    func observationCount(where isChosen: (Observer) -> Bool = { _ in true }) -> Int {
        let chosen = lock.withLock { () -> [Observer] in
            var chosen: [Observer] = []
            table?.forEachEntry { entry in
                if let observer = entry.liveObserver, isChosen(observer) { chosen.append(observer) }
            }
            return chosen
        }
        return chosen.count { observer in observer.path.map { $0.observationCount() > 0 } ?? true }
    }

    /// Whether the observer at an address is among those of the current table, its observation ended or not, or behind one that is live there. Under no
    /// lock.
    func has(observerAt address: UInt) -> Bool {
        let (isFound, live) = lock.withLock { () -> (Bool, [Observer]) in
            var isFound = false
            var live: [Observer] = []
            table?.forEachEntry { entry in
                if entry.isOf(observerAt: address) { isFound = true }
                if let observer = entry.liveObserver { live.append(observer) }
            }
            return (isFound, live)
        }
        return isFound || live.contains { $0.path?.has(observerAt: address) == true }
    }

    /// The number of live observations. Notices dead owners. (P13)
    var count: Int {
        sweepOwners()
        return lock.withLock { live }
    }

    /// Ends the observations whose owner has died. (P13)
    ///
    /// - Complexity: O(1) without owner-bound observers, else O(*n*).
    func sweepOwners() {
        let bound = lock.withLock { () -> [Observer] in
            registrationsSinceSweep = 0
            guard ownerBound > 0 else { return [] }
            var bound: [Observer] = []
            bound.reserveCapacity(ownerBound)
            table!.forEachEntry { entry in
                if let observer = entry.liveObserver, observer.isOwnerBound { bound.append(observer) }
            }
            return bound
        }
        #if INSTRUMENTED
        if mutant(.ownersDeathGoesUnnoticed) { return }
        #endif
        guard !bound.isEmpty else { return }
        for observer in bound where observer.hasLostOwner {
            observer.end(.ownerDeleted)
            observer.path?.removeAll(.ownerDeleted) { _ in true }
        }
        lock.withLock { sweepInterval = max(live, Self.smallestSweepInterval) }
    }
}

extension Observer {
    var isOwnerBound: Bool {
        // Relaxed: the bit never changes.
        state.load(ordering: .relaxed) & ObserverState.ownerBound != 0
    }
}
