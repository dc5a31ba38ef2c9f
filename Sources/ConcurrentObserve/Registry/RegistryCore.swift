// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The state that a source of notifications shares with its observations: the lock for
/// registrations and ends, and the current tables.
///
/// The source and the observations, which may outlive it, share one reference: see
/// `BiasedReferenceCount`. The core does not keep the source alive. (P11)
@usableFromInline
@safe internal final class RegistryCore: Retirable, @unchecked Sendable {
    // Unchecked: everything mutable is guarded by `lock`, or atomic.

    let lock = SourceLock()
    let label: String

    /// The word in which the source keeps the address of the callbacks' table; nil once the
    /// source is gone. Guarded by `lock`.
    var head: UnsafePointer<Atomic<UInt>>?
    /// The addresses of the other lists' tables, or 0. Written under the lock, read without it.
    let mailboxHead = Atomic<UInt>(0)
    let linkHead = Atomic<UInt>(0)
    /// The lists' tables. They are loaded and stored in one step each, so the compiler adds no
    /// check for exclusive access.
    var (callbackTable, mailboxTable, linkTable) = (ObserverTable?.none, ObserverTable?.none, ObserverTable?.none)
    var ownerBound = 0
    /// The number of registered observers that `references` does not count: their mark is
    /// `isCountedAhead`. Guarded by `lock`.
    private var countedAhead = 0
    /// The number of observers whose mark is `flagged`.
    var flagged = 0
    var registrationsSinceSweep = 0
    /// The number of registrations between two sweeps. It is the number of observers that were
    /// alive after the last sweep, so the cost of a sweep is spread evenly.
    var sweepInterval = smallestSweepInterval
    /// Observers that removals have ended, and that may feed observations which have not ended yet.
    /// Guarded by `lock`.
    var endings: EndedFeeders?

    /// Whether the core is on its way to the reclamation thread, because many entries are dead.
    /// Guarded by `lock`.
    var isUntidy = false

    /// Counts the owners of the core. It is last in memory, because its second count is used by
    /// other threads than all properties above.
    let references = BiasedReferenceCount()

    static let smallestCapacity = 8
    /// The largest capacity that a table gets because of dead entries. A walk skips this number of
    /// dead entries in a fraction of a microsecond.
    static let mostRoomForChurn = 512
    static let smallestSweepInterval = 32
    /// The least capacity of a table that sets the hint `large`. A table with this number of
    /// entries takes some megabytes, with the closures' contexts.
    static let leastLargeCapacity = 1 << 15

    init(head: UnsafePointer<Atomic<UInt>>, label: String) {
        unsafe self.head = unsafe head
        self.label = label
        super.init()
    }

    // MARK: Registration

    /// Adds an observer. It receives every notification that begins after the return. (P1)
    ///
    /// - Complexity: O(1) amortised.
    @usableFromInline
    func append(_ observer: Observer, of value: (any Sendable.Type)? = nil) { settle(attach(observer, of: value)) }

    /// The work that remains after a registration, and that must be done under no lock.
    @usableFromInline
    struct DeferredActions {
        fileprivate let replaced: ObserverTable?
        fileprivate let shouldSweep: Bool
    }

    /// Does the part of `append` that may run under another lock of the source: adds the observer
    /// under `lock`, and returns the rest of the work.
    ///
    /// - Parameter value: The type of the source's values or events; nil if the source is a list of
    ///   the library's own.
    @usableFromInline
    func attach(_ observer: Observer, of value: (any Sendable.Type)? = nil) -> DeferredActions {
        if ObservationScope.isRecording { ObservationScope.record(observer, of: value) }
        return lock.withLock {
            ThreadRecord.countLiveObserver(1)
            let mark = observer.knownMark
            if mark.contains(.isCountedAhead) { countedAhead &+= 1 }
            let replaced = hasRoomLocked(mark.list) ? nil : makeRoomLocked(mark.list)
            // Safe: the core keeps the table.
            unsafe Unmanaged.passUnretained(table(of: mark.list)!)._withUnsafeGuaranteedRef { $0.append(observer) }
            registrationsSinceSweep += 1
            if mark.contains(.flagged) { countFlaggedLocked(1) }
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

    /// Does the part of `append` that must run under no lock.
    @usableFromInline
    func settle(_ deferred: consuming DeferredActions) {
        if let replaced = deferred.replaced { ThreadRecord.retire(replaced) }
        if deferred.shouldSweep { sweepOwners() }
    }

    /// Whether a list has a table with room. The caller must hold the lock.
    @inline(__always)
    private func hasRoomLocked(_ list: ObserverListIndex) -> Bool {
        // Safe: the core keeps the table.
        table(of: list).map { unsafe Unmanaged.passUnretained($0)._withUnsafeGuaranteedRef { !$0.isFull } } ?? false
    }

    /// Gives a list a table with room. Returns the replaced table. The caller must hold the lock.
    @inline(never)
    private func makeRoomLocked(_ list: ObserverListIndex) -> ObserverTable? {
        let present = table(of: list)
        guard present?.live ?? 0 < Int(UInt32.max) / 2 else {
            fatalError(
                "ConcurrentObserve: a registry holds at most \(UInt32.max / 2) observers. Cancel those that are no longer needed."
            )
        }
        return replaceTableLocked(of: list, by: ObserverTable(capacity: capacityAfter(present), survivors: present))
    }

    /// Publishes a complete table of a list, or none. Returns the replaced table, which the caller
    /// must retire. The caller must hold the lock.
    func replaceTableLocked(of list: ObserverListIndex, by successor: ObserverTable?) -> ObserverTable? {
        let replaced = table(of: list)
        setTable(of: list, to: successor)
        if list != .callbacks {
            // Release: pairs with the acquire in loadFurtherHead(of:).
            unsafe furtherHead(of: list).pointee.store(successor?.address ?? 0, ordering: .releasing)
        }
        publishHeadLocked()
        replaced?.markReplacedLocked()
        return replaced
    }

    /// Publishes the address of the callbacks' table, with the hints. The source must exist. The
    /// caller must hold the lock.
    func publishHeadLocked() {
        let table = callbackTable?.address ?? 0
        // Release: pairs with the acquire in loadHead(of:).
        unsafe head?.pointee.store(table | hints, ordering: .releasing)
    }

    private var hints: UInt {
        var hints: UInt = 0
        if mailboxTable != nil { hints |= ListHints.mailboxes }
        if linkTable != nil { hints |= ListHints.links }
        if flagged > 0 { hints |= ListHints.flagged }
        if let callbackTable, callbackTable.capacity >= Self.leastLargeCapacity { hints |= ListHints.large }
        return hints
    }

    /// Returns the word in which walkers find the address of the table of the mailboxes or of the
    /// links. The word is the same for the core's whole life.
    func furtherHead(of list: ObserverListIndex) -> UnsafePointer<Atomic<UInt>> {
        // Safe: atomics are lent in place; the caller holds the core.
        if list == .mailboxes { return unsafe withUnsafePointer(to: mailboxHead) { unsafe $0 } }
        return unsafe withUnsafePointer(to: linkHead) { unsafe $0 }
    }

    /// Returns a capacity for `count` observers and the same number of further ones.
    func capacity(for count: Int) -> Int {
        max(Self.smallestCapacity, count * 2)
    }

    /// Returns the capacity for the successor of a full table, with one more observer.
    ///
    /// If churn has filled a table with dead entries, its successor is larger, up to a limit, until
    /// the reclamation thread replaces it. Each replacement counts a reference to every survivor,
    /// on cache lines that the reclamation thread wrote when it freed the last table.
    private func capacityAfter(_ table: ObserverTable?) -> Int {
        guard let table else { return Self.smallestCapacity }
        let capacity = capacity(for: table.live + 1)
        return max(capacity, min(table.capacity * 2, Self.mostRoomForChurn))
    }

    /// Counts the end of the source. Its memory is about to be freed, and no other thread has it.
    ///
    /// - Returns: True if the caller must release the reference that the source shares with its
    ///   observers.
    func countEndOfSource() -> Bool { references.endSource(others: lock.withLock { countedAhead }) }

    // MARK: Retirable

    /// A core is handed to the reclamation thread to replace its tables, not to be freed.
    override var hold: Hold { .nothing }

    /// Identifies the core's observers among all items that wait to be destroyed.
    override var sourceAddress: UInt { UInt(bitPattern: ObjectIdentifier(self)) }

    /// Replaces each table in which at least half of the entries are dead by a smaller one, or by
    /// none. Called on the reclamation thread.
    ///
    /// Ending an observation does not replace tables: an end needs no memory, and churn should not
    /// replace a table each time.
    override func reclaim() {
        var replaced = lock.withLock { () -> RetiredTables in
            isUntidy = false
            var replaced = RetiredTables()
            forEachTable { list, table in
                if table.isHalfDead { replaced.add(tidy(table, of: list)) }
            }
            return replaced
        }
        replaced.retire()
    }

    /// Replaces a list's table by a compacted copy of its live observers, or by none. Returns the
    /// replaced table. The caller must hold the lock.
    private func tidy(_ table: ObserverTable, of list: ObserverListIndex) -> ObserverTable? {
        guard table.live > 0 else { return replaceTableLocked(of: list, by: nil) }
        return replaceTableLocked(of: list, by: ObserverTable(capacity: capacity(for: table.live), survivors: table))
    }
}

// The current tables of a source's lists. The caller of each of these must hold the lock.
extension RegistryCore {
    /// The current table of a list; nil if the list has none. It is made with the first observer.
    @inline(__always)
    func table(of list: ObserverListIndex) -> ObserverTable? {
        switch list {
        case .callbacks: callbackTable
        case .mailboxes: mailboxTable
        case .links: linkTable
        }
    }

    func setTable(of list: ObserverListIndex, to table: ObserverTable?) {
        switch list {
        case .callbacks: callbackTable = table
        case .mailboxes: mailboxTable = table
        case .links: linkTable = table
        }
    }

    /// Calls `body` with each table. `body` may replace the table.
    func forEachTable(_ body: (ObserverListIndex, ObserverTable) -> Void) {
        if let callbackTable { body(.callbacks, callbackTable) }
        if let mailboxTable { body(.mailboxes, mailboxTable) }
        if let linkTable { body(.links, linkTable) }
    }

    /// The number of live observations.
    var live: Int { (callbackTable?.live ?? 0) + (mailboxTable?.live ?? 0) + (linkTable?.live ?? 0) }

    /// Calls `body` with the observers whose observations have not ended.
    func forEachLive(_ body: (Observer) -> Void) { forEachTable { $1.forEachLive(body) } }

    /// Calls `body` with every entry.
    func forEachEntryLocked(_ body: (borrowing TableEntry) -> Void) { forEachTable { $1.forEachEntryLocked(body) } }
}
