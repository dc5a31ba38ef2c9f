// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What a source of notifications shares with its observations: the lock for registration and ends,
/// and the current tables.
///
/// The source and the observations, which may outlive it, share one reference: see
/// `BiasedReferenceCount`. The core does not keep the source alive. (P11)
@usableFromInline
@safe internal final class RegistryCore: Retirable, @unchecked Sendable {
    // Unchecked: everything mutable is guarded by `lock`, or atomic.

    let lock = SourceLock()
    let label: String

    /// Where the source keeps the address of the first list's table; nil once the source is gone.
    /// Guarded. See `isSourceHere`.
    var head: UnsafePointer<Atomic<UInt>>?
    /// The addresses of the other lists' tables, or 0. Written under the lock, read without.
    let secondHead = Atomic<UInt>(0)
    let thirdHead = Atomic<UInt>(0)
    /// The lists' tables. Loaded and stored in one step each: the compiler does not check those for
    /// exclusive access.
    var (firstTable, secondTable, thirdTable) = (ObserverTable?.none, ObserverTable?.none, ObserverTable?.none)
    var ownerBound = 0
    /// Observers that were registered and are counted ahead: `references` does not count them. Guarded.
    private var countedAhead = 0
    /// Observers whose mark is `flagged`.
    var flagged = 0
    var registrationsSinceSweep = 0
    /// So many registrations after a sweep comes the next: as many as it left alive, so that its
    /// cost is shared evenly.
    var sweepInterval = smallestSweepInterval
    /// Observers that removals have ended, while what they feed is ended. Guarded.
    var endings: EndedFeeders?

    /// Whether the core is on its way to the reclamation thread, because many entries are dead.
    /// Guarded.
    var isUntidy = false

    /// The process in which the source was last known to exist: made, or registered with. Guarded.
    var generation = Fork.generation

    /// How long the core lives. The last in memory: its second count is for other threads than
    /// everything above.
    let references = BiasedReferenceCount()

    static let smallestCapacity = 8
    /// A walk passes over so many dead entries in a fraction of a microsecond.
    static let mostRoomForChurn = 512
    static let smallestSweepInterval = 32
    /// With the closures' contexts, a table of so many entries takes some megabytes.
    static let leastLargeCapacity = 1 << 15

    init(head: UnsafePointer<Atomic<UInt>>, label: String) {
        unsafe self.head = unsafe head
        self.label = label
        super.init()
    }

    // MARK: Registration

    /// Adds an observer: it receives every notification that begins after the return. (P1)
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

    /// The part of `append` that may be done under a lock of the source's: decides under this lock
    /// …
    @usableFromInline
    func publish(_ observer: Observer) -> DeferredActions {
        if ObservationScope.isRecording { ObservationScope.record(observer) }
        return lock.withLock {
            // The caller has the source.
            generation = Fork.generation
            // In here: no fork comes between the count and the registration. (P18)
            ThreadRecord.countLiveObserver(1)
            let mark = observer.knownMark
            if mark.contains(.isCountedAhead) { countedAhead &+= 1 }
            let replaced = hasRoom(mark.list) ? nil : makeRoom(mark.list)
            // Safe: the core keeps the table.
            unsafe Unmanaged.passUnretained(table(of: mark.list)!)._withUnsafeGuaranteedRef { $0.append(observer) }
            registrationsSinceSweep += 1
            if mark.contains(.flagged) { countFlagged(1) }
            if mark.contains(.ownerBound) {
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

    /// Whether a list has a table, and that has room. Under the lock.
    @inline(__always)
    private func hasRoom(_ list: ObserverListIndex) -> Bool {
        // Safe: the core keeps the table.
        table(of: list).map { unsafe Unmanaged.passUnretained($0)._withUnsafeGuaranteedRef { !$0.isFull } } ?? false
    }

    /// Gives a list a table with room. Returns the table that was replaced for that. Under the
    /// lock.
    @inline(never)
    private func makeRoom(_ list: ObserverListIndex) -> ObserverTable? {
        let present = table(of: list)
        guard present?.live ?? 0 < Int(UInt32.max) / 2 else {
            fatalError(
                "ConcurrentObserve: a registry holds at most \(UInt32.max / 2) observers. Cancel those that are no longer needed."
            )
        }
        return replaceTable(of: list, by: ObserverTable(capacity: capacityAfter(present), survivors: present))
    }

    /// Publishes a complete table of a list, or none. Returns the one it replaces, for the caller
    /// to retire. Under the lock.
    func replaceTable(of list: ObserverListIndex, by successor: ObserverTable?) -> ObserverTable? {
        let replaced = table(of: list)
        setTable(of: list, to: successor)
        if list != .first {
            // Release: pairs with the walker's acquire of the list's head.
            unsafe furtherHead(of: list).pointee.store(successor?.address ?? 0, ordering: .releasing)
        }
        publishHead()
        replaced?.markReplaced()
        return replaced
    }

    /// Publishes the first list's table, and what there is beside it. The source must be there.
    /// Under the lock.
    func publishHead() {
        let table = firstTable?.address ?? 0
        // Release: pairs with the walker's acquire of the head.
        unsafe head?.pointee.store(table | hints, ordering: .releasing)
    }

    private var hints: UInt {
        var hints: UInt = 0
        if secondTable != nil { hints |= ListHints.second }
        if thirdTable != nil { hints |= ListHints.third }
        if flagged > 0 { hints |= ListHints.flagged }
        if let firstTable, firstTable.capacity >= Self.leastLargeCapacity { hints |= ListHints.large }
        return hints
    }

    /// Where walkers find the address of the table of a list that is not the first. Constant.
    func furtherHead(of list: ObserverListIndex) -> UnsafePointer<Atomic<UInt>> {
        // Safe: atomics are lent in place; the caller holds the core.
        if list == .second { return unsafe withUnsafePointer(to: secondHead) { unsafe $0 } }
        return unsafe withUnsafePointer(to: thirdHead) { unsafe $0 }
    }

    /// Room for `count` observers and as many again.
    func capacity(for count: Int) -> Int {
        max(Self.smallestCapacity, count * 2)
    }

    /// How large the successor of a full table is, with one observer more.
    ///
    /// A table that churn has filled with the dead gets a larger one, up to a limit, until the
    /// reclamation thread tidies up: each replacement counts a reference to every survivor, on
    /// cache lines that the reclamation thread has written when it freed the last table.
    private func capacityAfter(_ table: ObserverTable?) -> Int {
        guard let table else { return Self.smallestCapacity }
        let capacity = capacity(for: table.live + 1)
        return max(capacity, min(table.capacity * 2, Self.mostRoomForChurn))
    }

    /// Counts the end of the source, whose memory is going: no thread has it.
    ///
    /// - Returns: True if the caller releases the reference that the source shares with its observers.
    func countEndOfSource() -> Bool { references.endSource(others: lock.withLock { countedAhead }) }

    // MARK: Retirable

    /// A core is handed to the reclamation thread to be tidied, not to be freed.
    override var hold: Hold { .nothing }

    /// What its observers are known by among all that waits to be destroyed.
    override var source: UInt { UInt(bitPattern: ObjectIdentifier(self)) }

    /// Replaces each table of which half is dead by a smaller one, or by none. On the reclamation
    /// thread.
    ///
    /// Not where observations end: that needs no memory, and churn should not replace a table each
    /// time.
    override func reclaim() {
        var replaced = lock.withLock { () -> RetiredTables in
            isUntidy = false
            var replaced = RetiredTables()
            guard isSourceHere else { return replaced }
            forEachTable { list, table in
                if table.isHalfDead { replaced.add(tidy(table, of: list)) }
            }
            return replaced
        }
        replaced.retire()
    }

    /// Replaces a list's table by one of its live observers. Returns what it has replaced. Under
    /// the lock.
    private func tidy(_ table: ObserverTable, of list: ObserverListIndex) -> ObserverTable? {
        guard table.live > 0 else { return replaceTable(of: list, by: nil) }
        return replaceTable(of: list, by: ObserverTable(capacity: capacity(for: table.live), survivors: table))
    }

    /// Whether the source's memory belongs to the source: the reclamation thread does not retain
    /// it. Under the lock. (P18)
    ///
    /// A source that never leaves its function lies on the stack of the thread that runs the
    /// function, if the optimiser finds that out. In the child of a fork that thread does not
    /// exist, the source has no end, and its memory becomes the stack of a new thread. So the child
    /// touches the source of its parent only when a thread of the child has registered with it.
    var isSourceHere: Bool {
        return generation == Fork.generation
    }
}
