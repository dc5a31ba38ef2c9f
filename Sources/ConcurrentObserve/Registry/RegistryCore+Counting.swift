// SPDX-License-Identifier: Apache-2.0

import Synchronization

// Under the lock, all of these.
extension RegistryCore {
    /// Counts an observer that is flagged, and says so to walkers.
    func countFlagged(_ step: Int) {
        flagged += step
        if flagged <= 1, isSourceHere { publishHead() }
    }

    /// Counts the end of an observation in its table. True if so many entries are dead now that the
    /// reclamation thread should tidy up.
    func forget(_ mark: ObserverMark, in table: ObserverTable) -> Bool {
        table.countEnd()
        if mark.contains(.flagged) { countFlagged(-1) }
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

    /// Counts the end of all.
    func forgetAll() {
        (ownerBound, flagged) = (0, 0)
    }
}

// Under no lock, all of these.
extension RegistryCore {
    /// How many observations of a registry go on. Notices dead owners. (P13)
    ///
    /// - Complexity: O(1), and O(*n*) in the mailboxes; O(*n*) with owner-bound observers.
    var count: Int {
        sweepOwners()
        var count = 0
        // No types here that the runtime would have to make: the caller may be in a forked child.
        let mailboxes = lock.withLock { () -> [Observer] in
            // An inline observer of a registry feeds nothing.
            count = firstTable?.live ?? 0
            var mailboxes: [Observer] = []
            secondTable?.forEachLive { mailboxes.append($0) }
            return mailboxes
        }
        for mailbox in mailboxes where mailbox.isCounted { count += 1 }
        return count
    }

    /// How many observations go on of those that are chosen. What an observer feeds counts in its
    /// place.
    ///
    /// - Parameter isChosen: Called under the lock.
    func observationCount(where isChosen: (Observer) -> Bool = { _ in true }) -> Int {
        let chosen = lock.withLock { () -> [Observer] in
            var chosen: [Observer] = []
            forEachLive { observer in if isChosen(observer) { chosen.append(observer) } }
            return chosen
        }
        return chosen.count { $0.isCounted }
    }

    /// Whether the observer at an address is among those of the current tables, its observation
    /// ended or not, or among those that a live one feeds.
    func has(observerAt address: UInt) -> Bool {
        let (isFound, others) = lock.withLock { () -> (Bool, [Observer]) in
            var isFound = false
            var others: [Observer] = []
            forEachEntry { entry in
                if entry.isOf(observerAt: address) { isFound = true }
                if let observer = entry.liveObserver { others.append(observer) }
            }
            return (isFound, others)
        }
        return isFound || others.contains { $0.dependents?.has(observerAt: address) == true }
    }
}

extension Observer {
    /// Whether the observation goes on that a live observer belongs to: its own, or the one that it
    /// feeds. Under no lock.
    ///
    /// The fed observation may have ended: the library ends the observer that feeds it afterwards,
    /// when it has destroyed the user's closure. In a forked child it never does if a thread of the
    /// parent was destroying the closure. (P8, P18)
    var isCounted: Bool {
        #if INSTRUMENTED
        if mutant(.anEndedObservationIsStillCounted) { return true }
        #endif
        guard let dependents else { return true }
        return dependents.observationCount() > 0
    }

    var isOwnerBound: Bool { knownMark.contains(.ownerBound) }
}
