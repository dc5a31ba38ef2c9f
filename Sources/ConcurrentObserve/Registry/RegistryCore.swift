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
    var head: UnsafePointer<Atomic<UInt>>?
    var table: ObserverTable?
    var live = 0
    var ownerBound = 0
    /// Observers that are told of a change before it is made. Written under the lock, read without.
    let hearingPrior = Atomic<Int>(0)
    /// Observers that wire paths which go on from here. Written under the lock, read without.
    let links = Atomic<Int>(0)
    /// Observers that post changes to mailboxes. Written under the lock, read without.
    let ordered = Atomic<Int>(0)
    var registrationsSinceSweep = 0
    /// So many registrations after a sweep comes the next: as many as it left alive, so that its cost is shared evenly.
    var sweepInterval = smallestSweepInterval

    /// Whether the core is on its way to the reclaimer, because many entries are dead. Guarded.
    var isUntidy = false

    /// The process in which the source was last known to exist: made, or registered with. Guarded.
    var generation = Fork.generation

    /// Who keeps the core alive. The last in memory: its second count is for other threads than everything above.
    let life = CoreLife()

    static let smallestCapacity = 8
    /// A walk passes over so many dead entries in a fraction of a microsecond.
    static let mostRoomForChurn = 512
    static let smallestSweepInterval = 32

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
    func makeRoom() -> ObserverTable? {
        if let table, !table.isFull { return nil }
        guard live < Int(UInt32.max) / 2 else {
            fatalError(
                "ConcurrentObserve: a registry holds at most \(UInt32.max / 2) observers. Cancel those that are no longer needed."
            )
        }
        return replaceTable(by: ObserverTable(capacity: capacityAfter(table), survivors: table))
    }

    /// Publishes a complete table, or none. Returns the one it replaces, for the caller to retire. Under the lock.
    func replaceTable(by successor: ObserverTable?) -> ObserverTable? {
        defer {
            table?.markReplaced()
            table = successor
        }
        #if INSTRUMENTED
        if mutant(.aTableIsRemovedBeforeTheNextIsPublished) { takeTableAway() }
        #endif
        inject("grow.copied")
        // Release: pairs with the walker's acquire of the head.
        unsafe head?.pointee.store(successor?.address ?? 0, ordering: .releasing)
        inject("grow.published")
        return table
    }

    /// Room for `count` observers and as many again.
    func capacity(for count: Int) -> Int {
        max(Self.smallestCapacity, count * 2)
    }

    /// How large the successor of a full table is, with one observer more.
    ///
    /// A table that churn has filled with the dead gets a larger one, up to a limit, until the reclaimer tidies up: each replacement counts a
    /// reference to every survivor, on lines that the reclaimer's thread has written when it freed the last one.
    func capacityAfter(_ table: ObserverTable?) -> Int {
        let capacity = capacity(for: live + 1)
        guard let table else { return capacity }
        return max(capacity, min(table.capacity * 2, Self.mostRoomForChurn))
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
    var isSourceHere: Bool {
        #if INSTRUMENTED
        if mutant(.aChildTouchesASourceOnALostStack) { return true }
        #endif
        return generation == Fork.generation
    }
}
