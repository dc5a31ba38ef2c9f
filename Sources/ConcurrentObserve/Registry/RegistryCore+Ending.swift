// SPDX-License-Identifier: Apache-2.0

import ConcurrentObservePlatform
import Synchronization

// Every end of an observation (by its canceller, a removal, its source or its owner) takes place
// here. The mark and the entry change under the lock. The caller does the remaining work outside
// the lock.
extension RegistryCore {
    /// Ends one observation. (P8)
    ///
    /// - Returns: The work that the caller must do under no lock. In addition, the caller must
    ///   retire the observer, or destroy its closure.
    /// - Complexity: O(1). Needs no memory.
    func end(_ observer: Observer, _ reason: ObservationEnd) -> DeferredEnds {
        lock.withLock {
            var ends = DeferredEnds()
            guard observer.isMarkedActive else { return ends }
            ends.addOwn(isUntidy: endLocked(observer, reason))
            return ends
        }
    }

    /// Ends the observations for which `reason` returns a reason.
    ///
    /// - Parameter reason: Returns the reason for the end of an observation, or nil if it must not
    ///   end. Called under the lock.
    /// - Returns: The work that the caller must do under no lock.
    /// - Complexity: O(*n*).
    func end(_ reason: (Observer) -> ObservationEnd?) -> DeferredEnds {
        lock.withLock {
            var ends = DeferredEnds()
            forEachLive { observer in
                guard let reason = reason(observer) else { return }
                ends.noteFeeder(observer)
                ends.add(observer, isUntidy: endLocked(observer, reason))
            }
            ends.share(in: self)
            return ends
        }
    }

    /// Ends these observations, if they have not ended yet.
    ///
    /// - Returns: The work that the caller must do under no lock.
    func end(_ observers: [Observer], _ reason: ObservationEnd) -> DeferredEnds {
        lock.withLock {
            var ends = DeferredEnds()
            for observer in observers where observer.isMarkedActive {
                ends.noteFeeder(observer)
                ends.add(observer, isUntidy: endLocked(observer, reason))
            }
            ends.share(in: self)
            return ends
        }
    }

    /// Ends every observation, because the source is gone. No observation begins after that, and
    /// the core no longer uses the source's memory.
    ///
    /// - Returns: The work that the caller must do under no lock.
    func endSource(_ reason: ObservationEnd) -> DeferredEnds {
        lock.withLock {
            var ends = DeferredEnds()
            forEachTable { list, table in
                _ = replaceTableLocked(of: list, by: nil)
                table.forEachLive { observer in
                    observer.markEndedLocked(reason)
                    ends.add(observer)
                }
                ends.addTable(ofGoneSource: table)
            }
            if ownerBound > 0 { OwnerWatch.shared.remove(self) }
            resetCountsLocked()
            unsafe head = nil
            return ends
        }
    }

    /// Marks an observer and its entry in the current table as ended. The caller must hold the
    /// lock.
    ///
    /// The entry is marked first. A thread whose `cancel()` finds the observer marked returns
    /// without the lock, and its next notification must find the entry marked. (P8)
    ///
    /// - Returns: True if the observations of so many entries have ended that the reclamation
    ///   thread should replace the table.
    private func endLocked(_ observer: Observer, _ reason: ObservationEnd) -> Bool {
        let mark = observer.knownMark
        if mark.contains(.isCombined) {
            // A commit that finds the entry ended does not give this source's change to the
            // combination. The combination must then not publish the commit's other changes as the
            // whole commit. (P21)
            observer.markCutOff()
            // Release: pairs with the fence in Combination.isWhole.
            atomicMemoryFence(ordering: .releasing)
        }
        // Safe: the core keeps the table.
        return unsafe Unmanaged.passUnretained(table(of: mark.list)!)._withUnsafeGuaranteedRef { table in
            table.tombstoneLocked(observer)
            observer.markEndedLocked(reason)
            return countEndLocked(mark, in: table)
        }
    }
}

// MARK: - Who ends

extension RegistryCore {
    /// Ends observations, and the observations that they feed. The caller must hold no lock.
    ///
    /// - Parameter reason: Returns the reason for the end of an observation, or nil. Called under
    ///   the lock.
    func removeAll(_ reason: (Observer) -> ObservationEnd?) {
        var ends = end(reason)
        ends.perform(in: self)
    }

    /// Ends the observations that were registered with `owner`, including observations of groups
    /// that contain the source. The caller must hold `owner`. (P8, P13)
    func removeAll(boundTo owner: AnyObject, where isChosen: (Observer) -> Bool = { _ in true }) {
        // This comes first: if another removal ends an observer at the same time, that observer is
        // not live any more, and the second step takes over the observations that it feeds.
        removeAllFed(boundTo: owner, where: isChosen)
        removeAll { observer in isChosen(observer) ? observer.endIfBoundLocked(to: owner) : nil }
    }

    /// Ends the observations of `owner` that are fed by an observer of this source. These are
    /// observations of groups. (P8)
    private func removeAllFed(boundTo owner: AnyObject, where isChosen: (Observer) -> Bool) {
        for observer in liveObservers(where: { isChosen($0) && $0.extras?.dependents != nil }) {
            observer.dependents?.removeAll(boundTo: owner)
        }
    }

    /// Ends the observations that an ended observer feeds.
    func endDependents(of observer: Observer) {
        observer.endFed(observer.knownMark.end)
    }

    /// Ends the observations whose owners are dead. (P13)
    ///
    /// - Complexity: O(1) without owner-bound observers, otherwise O(*n*).
    func sweepOwners() {
        let bound = ownerBoundObservers()
        guard !bound.isEmpty else { return }
        // Under no lock: checking an owner may release its last reference.
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
}

/// The cores that have owner-bound observers (their observations end with an owner). The library's
/// `drain` finds dead owners in all of them, with `sweep()`. (P13)
internal final class OwnerWatch: @unchecked Sendable {
    // Unchecked: `cores` is guarded by `lock`.
    static let shared = OwnerWatch()

    private struct WeakCore { weak let core: RegistryCore? }

    private let lock = Lock()
    private var cores: [ObjectIdentifier: WeakCore] = [:]

    private init() {}

    /// Adds a core, whose lock the caller holds. The lock of this object is taken inside the core's
    /// lock, never the other way round.
    func add(_ core: RegistryCore) { lock.withLock { cores[ObjectIdentifier(core)] = WeakCore(core: core) } }
    func remove(_ core: RegistryCore) { _ = lock.withLock { cores.removeValue(forKey: ObjectIdentifier(core)) } }

    /// Ends every observation that is bound to `owner`, whatever it observes.
    ///
    /// - Complexity: O(owner-bound registries and their observers).
    static func removeAll(boundTo owner: AnyObject) {
        let watched = shared.lock.withLock { shared.cores.values.compactMap(\.core) }
        for core in watched { core.removeAll(boundTo: owner) }
    }

    /// Ends every observation whose owner is dead.
    ///
    /// - Complexity: O(owner-bound registries and their observers).
    static func sweep() {
        let watched = shared.lock.withLock { shared.cores.values.compactMap(\.core) }
        for core in watched { core.sweepOwners() }
    }
}
