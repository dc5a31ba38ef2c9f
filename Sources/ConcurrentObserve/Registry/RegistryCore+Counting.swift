// SPDX-License-Identifier: Apache-2.0

import Synchronization

// The caller of each of these must hold the lock.
extension RegistryCore {
    /// Adds `step` (1 or -1) to the number of live observers that are `flagged`. Publishes the hint
    /// for walkers when that number becomes 0 or 1.
    func countFlaggedLocked(_ step: Int) {
        flagged += step
        if flagged <= 1 { publishHeadLocked() }
    }

    /// Counts that an observation in `table` has ended. `mark` is the mark of its observer. Returns
    /// true if the observations of so many entries have ended that the reclamation thread should
    /// replace the table.
    @inline(__always)
    func countEndLocked(_ mark: ObserverMark, in table: ObserverTable) -> Bool {
        table.countEndLocked()
        if mark.contains(.flagged) { countFlaggedLocked(-1) }
        if mark.contains(.ownerBound) {
            ownerBound -= 1
            if ownerBound == 0 { OwnerWatch.shared.remove(self) }
        }
        guard !isUntidy, table.isHalfDead,
            table.live == 0 || table.count - table.live >= Self.smallestCapacity
        else { return false }
        isUntidy = true
        return true
    }

    /// Resets the counts after the end of all observations.
    func resetCountsLocked() {
        (ownerBound, flagged) = (0, 0)
    }
}

// The caller of each of these must hold no lock.
extension RegistryCore {
    /// The number of observations of a registry that have not ended. Ends observations whose owners
    /// are dead. (P13)
    ///
    /// - Complexity: O(*n*) in the mailboxes. With owner-bound observers, O(*n*) in all observers.
    var count: Int {
        sweepOwners()
        var count = 0
        let mailboxes = lock.withLock { () -> [Observer] in
            // An inline observer of a registry feeds nothing.
            count = callbackTable?.live ?? 0
            var mailboxes: [Observer] = []
            mailboxTable?.forEachLive { mailboxes.append($0) }
            return mailboxes
        }
        for mailbox in mailboxes where mailbox.counted != nil { count += 1 }
        return count
    }

    /// Returns the number of chosen observations that have not ended. If an observer feeds another
    /// observation, that observation is counted instead, and only once if several observers feed
    /// it. Ends fed observations whose owners are dead. (P8, P13)
    ///
    /// - Parameter isChosen: Called under the lock.
    /// - Complexity: O(*n*) on average.
    func observationCount(where isChosen: (Observer) -> Bool) -> Int {
        let chosen = liveObservers(where: isChosen)
        var counted: [Observer] = []
        var isFed = false
        for observer in chosen {
            guard let end = observer.counted else { continue }
            if end !== observer { isFed = true }
            counted.append(end)
        }
        return isFed ? Set(counted.map(\.address)).count : counted.count
    }

    /// The observation that another source counts in place of its observer, which feeds the
    /// observations of this core. It is a live observation of this core; if that observation feeds
    /// a further observation, it is the further observation. Nil if there is none. Ends
    /// observations whose owners are dead. (P13)
    var countedAsFed: Observer? {
        sweepOwners()
        for observer in liveObservers() {
            if let counted = observer.counted { return counted }
        }
        return nil
    }

    /// Returns the chosen observers among those whose observations have not ended.
    ///
    /// - Parameter isChosen: Called under the lock.
    func liveObservers(where isChosen: (Observer) -> Bool = { _ in true }) -> [Observer] {
        lock.withLock {
            var chosen: [Observer] = []
            forEachLive { observer in if isChosen(observer) { chosen.append(observer) } }
            return chosen
        }
    }

    /// Whether a current table contains the observer at `address`, even if its observation has
    /// ended. Also searches the cores whose observations are fed by a live observer in these tables
    /// (see `Observer.feed`). In this way it finds the user's observer of a path.
    func has(observerAt address: UInt) -> Bool {
        let (isFound, others) = lock.withLock { () -> (Bool, [Observer]) in
            var isFound = false
            var others: [Observer] = []
            forEachEntryLocked { entry in
                if entry.isOf(observerAt: address) { isFound = true }
                if let observer = entry.liveObserver { others.append(observer) }
            }
            return (isFound, others)
        }
        return isFound || others.contains { $0.dependents?.has(observerAt: address) == true }
    }
}

extension Observer {
    var isOwnerBound: Bool { knownMark.contains(.ownerBound) }
}
