// SPDX-License-Identifier: Apache-2.0

import Synchronization

// However an observation ends (by its canceller, with a removal, its source or its owner), it is
// here: the mark and the entry change under the lock, and what follows is the caller's to perform.
extension RegistryCore {
    /// Ends one observation. (P8)
    ///
    /// - Returns: What is left to do under no lock; the closure is the caller's to retire or
    ///   destroy.
    /// - Complexity: O(1). Needs no memory.
    func end(_ observer: Observer, _ reason: ObservationEnd) -> DeferredEnds {
        lock.withLock {
            var ends = DeferredEnds()
            guard observer.isMarkedActive else { return ends }
            ends.addOwn(isUntidy: endUnderLock(observer, reason))
            return ends
        }
    }

    /// Ends the observations that are chosen.
    ///
    /// - Parameter reason: The reason for which an observation ends, or nil: it goes on. Called
    ///   under the lock.
    /// - Returns: What is left to do under no lock.
    /// - Complexity: O(*n*).
    func end(_ reason: (Observer) -> ObservationEnd?) -> DeferredEnds {
        lock.withLock {
            var ends = DeferredEnds()
            forEachLive { observer in
                guard let reason = reason(observer) ?? endOfOthers else { return }
                ends.noteFeeder(observer)
                ends.add(observer, isUntidy: endUnderLock(observer, reason))
            }
            ends.share(in: self)
            return ends
        }
    }

    /// Ends these observations, if they have not ended yet.
    ///
    /// - Returns: What is left to do under no lock.
    func end(_ observers: [Observer], _ reason: ObservationEnd) -> DeferredEnds {
        lock.withLock {
            var ends = DeferredEnds()
            for observer in observers where observer.isMarkedActive {
                ends.noteFeeder(observer)
                ends.add(observer, isUntidy: endUnderLock(observer, reason))
            }
            ends.share(in: self)
            return ends
        }
    }

    /// Ends every observation of a source that is gone: there will be no others, and the source's
    /// memory is not touched any more.
    ///
    /// - Returns: What is left to do under no lock.
    func endSource(_ reason: ObservationEnd) -> DeferredEnds {
        lock.withLock {
            var ends = DeferredEnds()
            forEachTable { list, table in
                _ = replaceTable(of: list, by: nil)
                table.forEachLive { observer in
                    guard endsWithSource else { return }
                    observer.markEnded(reason)
                    ends.add(observer)
                }
                ends.addTable(ofGoneSource: table)
            }
            if ownerBound > 0 { OwnerWatch.shared.remove(self) }
            forgetAll()
            unsafe head = nil
            return ends
        }
    }

    /// Marks the end of an observation, and its entry. Under the lock.
    ///
    /// - Returns: Whether so many entries are dead now that the reclamation thread should tidy up.
    private func endUnderLock(_ observer: Observer, _ reason: ObservationEnd) -> Bool {
        observer.markEnded(reason)
        let mark = observer.knownMark
        // Safe: the core keeps the table.
        return unsafe Unmanaged.passUnretained(table(of: mark.list)!)._withUnsafeGuaranteedRef { table in
            table.tombstone(observer)
            return forget(mark, in: table)
        }
    }
}

// MARK: - Who ends

extension RegistryCore {
    /// Ends observations, and what they feed. Under no lock.
    ///
    /// - Parameter reason: The reason for which an observation ends, or nil. Called under the lock.
    func removeAll(_ reason: (Observer) -> ObservationEnd?) {
        var ends = end(reason)
        ends.perform(in: self)
    }

    /// Ends the observations that were registered with `owner`, which the caller holds, those of
    /// groups included of which the source is a member. (P8, P13)
    func removeAll(boundTo owner: AnyObject, where isChosen: (Observer) -> Bool = { _ in true }) {
        // First: an observer that another removal ends meanwhile is not live any more, and the second step takes on what it feeds.
        removeAllFed(boundTo: owner, where: isChosen)
        removeAll { observer in isChosen(observer) ? observer.endIfBound(to: owner) : nil }
    }

    /// Ends the observations with this owner that other observers feed: those of groups. (P8)
    private func removeAllFed(boundTo owner: AnyObject, where isChosen: (Observer) -> Bool) {
        for observer in liveObservers(where: { isChosen($0) && $0.extras?.dependents != nil }) {
            observer.dependents?.removeAll(boundTo: owner)
        }
    }

    /// Ends what an observer feeds, which has ended.
    func endDependents(of observer: Observer) {
        observer.endFed(observer.knownMark.end)
    }

    func retireOneOfMany(_ observer: RetiredItem) {
        ThreadRecord.retire(observer, isOneOfMany: true)
    }

    /// Ends the observations whose owner has died. (P13)
    ///
    /// - Complexity: O(1) without owner-bound observers, else O(*n*).
    func sweepOwners() {
        let bound = ownerBoundObservers()
        guard !bound.isEmpty else { return }
        // Under no lock: to look at an owner may be to drop its last reference.
        var ends = end(bound.filter(\.hasLostOwner), .ownerDeleted)
        ends.perform(in: self)
        lock.withLock { sweepInterval = max(live, Self.smallestSweepInterval) }
    }

    private func ownerBoundObservers() -> [Observer] {
        lock.withLock {
            registrationsSinceSweep = 0
            guard ownerBound > 0 else { return [] }
            var bound: [Observer] = []
            bound.reserveCapacity(ownerBound)
            forEachLive { observer in
                if observer.isOwnerBound { bound.append(observer) }
            }
            return bound
        }
    }

    /// How an observation ends that is not chosen: not at all.
    private var endOfOthers: ObservationEnd? {
        return nil
    }

    /// Whether the end of the source is that of each observation.
    private var endsWithSource: Bool {
        return true
    }
}
