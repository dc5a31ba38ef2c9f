// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What a source of notifications shares with its observations: the lock for mutation, and the current table.
///
/// The source and the observations, which may outlive it, share one reference: see `CoreLife`. It keeps the source alive for nobody. (P11)
@usableFromInline
@safe internal final class RegistryCore: Retirable, @unchecked Sendable {
    // Unchecked: everything mutable is guarded by `lock`, or atomic.

    let lock = SourceLock()
    let label: String

    /// Where the source keeps the address of the current table; nil once the source is gone. Guarded. See `isSourceHere`.
    private var head: UnsafePointer<Atomic<UInt>>?
    private var table: ObserverTable?
    private var live = 0
    private var ownerBound = 0
    /// Observers that are told of a change before it is made. Written under the lock, read without.
    let hearingPrior = Atomic<Int>(0)
    /// Observers that wire paths which go on from here. Written under the lock, read without.
    let links = Atomic<Int>(0)
    /// Observers that post changes to mailboxes. Written under the lock, read without.
    let ordered = Atomic<Int>(0)
    private var registrationsSinceSweep = 0
    /// So many registrations after a sweep comes the next: as many as it left alive, so that its cost is shared evenly.
    private var sweepInterval = smallestSweepInterval

    /// Whether the core is on its way to the reclaimer, because many entries are dead. Guarded.
    private var isUntidy = false

    /// The process in which the source was last known to exist: made, or registered with. Guarded.
    private var generation = Fork.generation

    /// Who keeps the core alive. The last in memory: its second count is for other threads than everything above.
    let life = CoreLife()

    private static let smallestCapacity = 8
    /// A walk passes over so many dead entries in a fraction of a microsecond.
    private static let mostRoomForChurn = 512
    private static let smallestSweepInterval = 32

    init(head: UnsafePointer<Atomic<UInt>>, label: String) {
        unsafe self.head = unsafe head
        self.label = label
        super.init()
    }

    // MARK: Registration

    /// Adds an observer: it hears every notification that begins after the return. (P1)
    ///
    /// - Complexity: O(1) amortised.
    @usableFromInline
    func append(_ observer: Observer) { settle(publish(observer)) }

    /// What a registration leaves to do when no lock is held.
    @usableFromInline
    struct DeferredActions {
        fileprivate let replaced: ObserverTable?
        fileprivate let shouldSweep: Bool
    }

    /// The part of `append` that may be done under a lock of the source's: decides under this lock …
    @usableFromInline
    func publish(_ observer: Observer) -> DeferredActions {
        return lock.withLock {
            // The caller has the source.
            generation = Fork.generation
            // In here: no fork comes between the count and the registration. (P18)
            ThreadRecord.countLiveObserver(1)
            let replaced = makeRoom()
            // Safe: the core keeps the table.
            unsafe Unmanaged.passUnretained(table!)._withUnsafeGuaranteedRef { $0.append(observer) }
            live += 1
            registrationsSinceSweep += 1
            count(observer, 1)
            if observer.isOwnerBound {
                ownerBound += 1
                if ownerBound == 1 { OwnerWatch.shared.add(self) }
            }
            return DeferredActions(
                replaced: replaced,
                shouldSweep: ownerBound > 0 && registrationsSinceSweep >= sweepInterval
            )
        }
    }

    /// … and the part that may not: acts outside it.
    @usableFromInline
    func settle(_ deferred: consuming DeferredActions) {
        if let replaced = deferred.replaced { ThreadRecord.retire(replaced) }
        if deferred.shouldSweep { sweepOwners() }
    }

    /// Makes sure that the table has room. Returns the table that was replaced. Under the lock.
    private func makeRoom() -> ObserverTable? {
        if let table, !table.isFull { return nil }
        guard live < Int(UInt32.max) / 2 else {
            fatalError(
                "ConcurrentObserve: a registry holds at most \(UInt32.max / 2) observers. Cancel those that are no longer needed."
            )
        }
        return replaceTable(by: ObserverTable(capacity: capacityAfter(table), survivors: table))
    }

    /// Publishes a complete table, or none. Returns the one it replaces, for the caller to retire. Under the lock.
    private func replaceTable(by successor: ObserverTable?) -> ObserverTable? {
        defer {
            table?.markReplaced()
            table = successor
        }
        if mutant(.aTableIsTakenAwayBeforeTheNextIsThere) {
            unsafe head?.pointee.store(0, ordering: .releasing)
        }
        inject("grow.copied")
        // Release: pairs with the walker's acquire of the head.
        unsafe head?.pointee.store(successor?.address ?? 0, ordering: .releasing)
        inject("grow.published")
        return table
    }

    /// Room for `count` observers and as many again.
    private func capacity(for count: Int) -> Int {
        max(Self.smallestCapacity, count * 2)
    }

    /// How large the successor of a full table is, with one observer more.
    ///
    /// A table that churn has filled with the dead gets a larger one, up to a limit, until the reclaimer tidies up: each replacement counts a
    /// reference to every survivor, on lines that the reclaimer's thread has written when it freed the last one.
    private func capacityAfter(_ table: ObserverTable?) -> Int {
        let capacity = capacity(for: live + 1)
        guard let table else { return capacity }
        return max(capacity, min(table.capacity * 2, Self.mostRoomForChurn))
    }

    // MARK: The end of one

    /// Takes an observer out of the table and marks it as ended. False if it had ended. (P8)
    ///
    /// - Complexity: O(1). Needs no memory.
    func unlink(_ observer: Observer, _ reason: ObservationEnd) -> Bool {
        let (ended, isUntidy) = lock.withLock { () -> (Bool, Bool) in
            inject("end.locked")
            guard observer.isMarkedActive else { return (false, false) }
            observer.markEnded(reason)
            table!.bury(observer)
            inject("end.unlinked")
            return (true, forget(observer))
        }
        if isUntidy { ThreadRecord.retire(self) }
        return ended
    }

    /// Counts those that a change looks for before it is made, and before it is told.
    private func count(_ observer: Observer, _ step: Int) {
        // Relaxed: hints, ordered by the source's own lock; the bits never change.
        let state = observer.state.load(ordering: .relaxed)
        if state & ObserverState.hearsPrior != 0 { hearingPrior.add(step, ordering: .relaxed) }
        if state & ObserverState.isLink != 0 { links.add(step, ordering: .relaxed) }
        if state & ObserverState.isOrdered != 0 { ordered.add(step, ordering: .relaxed) }
    }

    /// Keeps the counts. True if so many entries are dead now that the reclaimer should tidy up. Under the lock.
    private func forget(_ observer: Observer) -> Bool {
        if !mutant(.anEndIsNotCounted) { live -= 1 }
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

    // MARK: Retirable

    /// A core is handed to the reclaimer to be tidied, not to be freed.
    override var hold: Hold { .nothing }

    /// What its observers are known by among all that waits to be destroyed.
    override var source: UInt { UInt(bitPattern: ObjectIdentifier(self)) }

    /// Replaces a table of which half is dead by a smaller one, or by none. On the reclaimer's thread.
    ///
    /// Not where observations end: that needs no memory, and churn should not replace a table each time.
    override func reclaim() {
        let replaced = lock.withLock { () -> ObserverTable? in
            isUntidy = false
            guard isSourceHere, let table, table.count - live >= live else { return nil }
            return replaceTable(by: live == 0 ? nil : ObserverTable(capacity: capacity(for: live), survivors: table))
        }
        if let replaced { ThreadRecord.retire(replaced) }
    }

    /// Whether the source's memory belongs to the source: the reclaimer does not retain it. Under the lock. (P18)
    ///
    /// A source that never leaves its function lies on the stack of the thread that runs the function, if the optimiser finds that
    /// out. In the child of a fork that thread does not exist, the source has no end, and its memory becomes the stack of a new
    /// thread. So the child touches the source of its parent only when a thread of the child has registered with it.
    private var isSourceHere: Bool {
        generation == Fork.generation || mutant(.aChildTidiesWhatIsOnStacksThatItDoesNotHave)
    }

    // MARK: The end of all

    /// Ends every observation; with `isSourceGone` there will be no others.
    ///
    /// - Returns: The observations this call has ended, in the order of their registration. The caller retires them.
    func unlinkAll(_ reason: ObservationEnd, isSourceGone: Bool) -> [Observer] {
        var ended: [Observer] = []
        let replaced = lock.withLock { () -> ObserverTable? in
            let replaced = replaceTable(by: nil)
            replaced?.forEachEntry { entry in
                guard let observer = entry.liveObserver else { return }
                if mutant(.tokenStaysActiveAfterSourceDeath), isSourceGone { return }
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
    private func removeAll(_ end: (Observer) -> ObservationEnd?) {
        let (ended, isUntidy) = lock.withLock { () -> ([(observer: Observer, reason: ObservationEnd)], Bool) in
            var ended: [(observer: Observer, reason: ObservationEnd)] = []
            var isUntidy = false
            table?.forEachEntry { entry in
                guard let observer = entry.liveObserver else { return }
                guard let reason = end(observer) ?? (mutant(.aRemovalTakesOthersToo) ? .cancelled : nil)
                else { return }
                observer.markEnded(reason)
                ended.append((observer, reason))
            }
            for (observer, _) in ended {
                table!.bury(observer)
                if forget(observer) { isUntidy = true }
            }
            return (ended, isUntidy)
        }
        if isUntidy { ThreadRecord.retire(self) }
        for (observer, reason) in ended {
            if !mutant(.aRemovalForgetsThePaths) { observer.path?.removeAll(reason) { _ in true } }
            ThreadRecord.retire(observer, isOneOfMany: true)
        }
        if !ended.isEmpty { ThreadRecord.pause(for: source) }
    }

    /// How many observations are chosen. Under no lock; `isChosen` is called under this one.
    func count(where isChosen: (Observer) -> Bool) -> Int {
        lock.withLock {
            var count = 0
            table?.forEachEntry { entry in
                if let observer = entry.liveObserver, isChosen(observer) { count += 1 }
            }
            return count
        }
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

    // MARK: Owners

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
        if mutant(.ownersDeathGoesUnnoticed) { return }
        guard !bound.isEmpty else { return }
        for observer in bound where observer.hasLostOwner {
            observer.end(.ownerDeleted)
            observer.path?.removeAll(.ownerDeleted) { _ in true }
        }
        lock.withLock { sweepInterval = max(live, Self.smallestSweepInterval) }
    }
}

extension Observer {
    fileprivate var isOwnerBound: Bool {
        // Relaxed: the bit never changes.
        state.load(ordering: .relaxed) & ObserverState.ownerBound != 0
    }
}
