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
    @inline(__always)
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
        for mailbox in mailboxes where mailbox.counted != nil { count += 1 }
        return count
    }

    /// How many observations go on of those that are chosen. What an observer feeds counts in its
    /// place, and once if several observers feed it. Notices dead owners of what is fed. (P8, P13)
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
        return isFed ? Self.distinctCount(counted) : counted.count
    }

    /// The observation that counts of those that an observer feeds: there is one at most. Notices a
    /// dead owner. (P13)
    var countedAsFed: Observer? {
        noticeOwnersOfFed()
        for observer in liveObservers() {
            if let counted = observer.counted { return counted }
        }
        return nil
    }

    private func noticeOwnersOfFed() {
        sweepOwners()
    }

    /// Whether an observation goes on, of whatever kind. Notices no dead owner.
    ///
    /// - Complexity: O(1).
    var hasLiveObservers: Bool { lock.withLock { live > 0 } }

    /// The observers that are chosen, of those whose observations have not ended.
    ///
    /// - Parameter isChosen: Called under the lock.
    func liveObservers(where isChosen: (Observer) -> Bool = { _ in true }) -> [Observer] {
        lock.withLock {
            var chosen: [Observer] = []
            forEachLive { observer in if isChosen(observer) { chosen.append(observer) } }
            return chosen
        }
    }

    /// How many different observers these are.
    ///
    /// A hash table with linear probing. A `Set` is a type that the runtime would have to make: the
    /// caller may be in a forked child. (P18)
    ///
    /// - Complexity: O(*n*) on average.
    static func distinctCount(_ observers: [Observer]) -> Int {
        var bits = 1
        while 1 << bits < 2 * observers.count { bits += 1 }
        var table = [UInt](repeating: 0, count: 1 << bits)
        var count = 0
        for observer in observers {
            let address = observer.address
            // The upper bits of the product. ("Fibonacci hashing", Knuth.)
            var slot = Int((address &* 0x9E37_79B9_7F4A_7C15) >> UInt(UInt.bitWidth - bits))
            while table[slot] != 0, table[slot] != address { slot = (slot + 1) & (table.count - 1) }
            if table[slot] == 0 { count += 1 }
            table[slot] = address
        }
        return count
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
    var isOwnerBound: Bool { knownMark.contains(.ownerBound) }
}
