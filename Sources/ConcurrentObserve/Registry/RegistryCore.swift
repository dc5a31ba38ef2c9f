// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The state that a source shares with its observations: the lock for registrations and ends, the
/// current tables, and the counts of observers.
///
/// The observations may outlive the source. The source and its observations share one reference to
/// the core: see `BiasedReferenceCount`. The core does not keep the source alive. (P11)
@usableFromInline
@safe internal final class RegistryCore: Retirable, @unchecked Sendable {
    // Unchecked: everything mutable is guarded by `lock`, or atomic.

    let lock = SourceLock()
    let label: String

    /// The word in which the source keeps the address of the callbacks' table; nil once the source
    /// is gone. `lock` guards it.
    var head: UnsafePointer<Atomic<UInt>>?
    /// The address of the mailboxes' table, or 0. It is written under the lock, and read without
    /// it.
    let mailboxHead = Atomic<UInt>(0)
    /// The address of the links' table, or 0. It is written under the lock, and read without it.
    let linkHead = Atomic<UInt>(0)
    /// The current table of each list; nil if the list has none. A table is loaded or stored in one
    /// step, so the compiler adds no check for exclusive access.
    var (callbackTable, mailboxTable, linkTable) = (ObserverTable?.none, ObserverTable?.none, ObserverTable?.none)
    var ownerBound = 0
    /// The number of registered observers that `references` does not count: their mark is
    /// `isCountedAhead`. `lock` guards it.
    private var countedAhead = 0
    /// The number of live observers whose mark is `flagged`.
    var flagged = 0
    var registrationsSinceSweep = 0
    /// The number of registrations between two sweeps: see `sweepOwners()`. It is the number of
    /// observers that were live after the last sweep, or `smallestSweepInterval` if that is larger.
    /// A sweep therefore costs each registration only O(1).
    var sweepInterval = smallestSweepInterval
    /// The first in the list of removals that are not complete; nil if there is none. See
    /// `EndedFeeders`. `lock` guards it.
    var endings: EndedFeeders?

    /// Whether the core is handed to the reclamation thread, because the observations of many
    /// entries have ended. `lock` guards it.
    var isUntidy = false

    /// Counts the owners of the core. It is the last stored property, so that its second count,
    /// which the library's threads write, shares no cache line with the properties above.
    let references = BiasedReferenceCount()

    static let smallestCapacity = 8
    /// The largest capacity that a table gets because of *dead* entries: entries whose observations
    /// have ended. A walk skips this number of dead entries in a fraction of a microsecond.
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
    /// - Parameter value: The type of the source's values or events; nil if the source is a list
    ///   that only the library uses.
    /// - Complexity: O(1) amortised.
    @usableFromInline
    func append(_ observer: Observer, of value: (any Sendable.Type)? = nil) {
        ObservationScope.recordIfNeeded(observer, of: value)
        settle(attach(observer))
    }

    /// The work that remains after a registration. It must be done under no lock.
    @usableFromInline
    struct DeferredActions {
        fileprivate let replaced: ObserverTable?
        fileprivate let shouldSweep: Bool
    }

    /// Does the part of `append` that may run under another lock of the source: adds the observer
    /// under `lock`, and returns the rest of the work. Before it takes the other lock, the caller
    /// must call `ObservationScope.recordIfNeeded(_:of:)`.
    @usableFromInline
    func attach(_ observer: Observer) -> DeferredActions {
        lock.withLock {
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

    /// Replaces a list's table by a table with room for more observers. Returns the replaced table;
    /// nil if the list had none. The caller must hold the lock.
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

    /// Makes `successor`, which is complete, the current table of a list; nil leaves the list
    /// without a table. Returns the replaced table, which the caller must retire. The caller must
    /// hold the lock.
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

    /// Returns a capacity that is enough for `count` observers, and later for the same number of
    /// further observers.
    func capacity(for count: Int) -> Int {
        max(Self.smallestCapacity, count * 2)
    }

    /// Returns the capacity of the table that replaces a full table, so that there is room for
    /// another observer.
    ///
    /// If a table is full of dead entries, the new table is larger than its live observers need, up
    /// to `mostRoomForChurn`. It is then replaced less often. Each replacement counts a reference
    /// to every live observer, on cache lines that the reclamation thread wrote when it freed the
    /// last table.
    private func capacityAfter(_ table: ObserverTable?) -> Int {
        guard let table else { return Self.smallestCapacity }
        let capacity = capacity(for: table.live + 1)
        return max(capacity, min(table.capacity * 2, Self.mostRoomForChurn))
    }

    /// Counts the end of the source, whose memory is about to be freed. No other thread has the
    /// source.
    ///
    /// - Returns: True if the caller must release the reference that the source shares with its
    ///   observers.
    func countEndOfSource() -> Bool { references.endSource(others: lock.withLock { countedAhead }) }

    // MARK: Retirable

    /// The reclamation thread may call `reclaim()` at once: that call replaces tables, and does not
    /// free the core.
    override var hold: Hold { .nothing }

    /// The address that identifies this source among the sources of all retired items.
    override var sourceAddress: UInt { UInt(bitPattern: ObjectIdentifier(self)) }

    /// Replaces each table in which at least half of the entries are dead: by a smaller table, or
    /// by none. The reclamation thread calls it.
    ///
    /// The thread that ends an observation does not replace the table, for two reasons. An end must
    /// need no memory. And a program that begins and ends many observations should not replace a
    /// table each time.
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

    /// Replaces a list's table by a table that has only its live observers, or by none if there are
    /// none. Returns the replaced table. The caller must hold the lock.
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
