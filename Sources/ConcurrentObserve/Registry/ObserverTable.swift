// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The observers of one list of a source, in the order of registration. A notification walks over
/// its entries. The source's `RegistryCore`, called the core below, has the current tables.
///
/// A table only grows at its end. An entry has the observer's address and its closure. When an
/// observation ends, its entry keeps the address, and a bit of the entry is set. The table owns a
/// reference to every observer that it ever contained, and releases all of them when it is freed.
/// Entries are not reused: a full table is replaced.
@safe internal final class ObserverTable: Retirable, @unchecked Sendable {
    // Unchecked: the count and the entries' words are atomic; they are written under the core's
    // lock. The rest is constant once published.

    /// The memory that a walk over the table reads: the number of entries, and the entries.
    let contents: UnsafeMutablePointer<TableContents>
    let capacity: Int

    /// The number of entries. The core's lock guards it.
    private(set) var count = 0
    /// The number of entries that are *live*: their observations have not ended while this table
    /// was the current one. The core's lock guards it.
    private(set) var live = 0

    /// Makes a table with room for `capacity` entries.
    ///
    /// - Parameter survivors: A table whose live observers the new table takes over. The caller
    ///   must hold the core's lock.
    init(capacity: Int, survivors: ObserverTable?) {
        self.capacity = capacity
        unsafe contents = TableContents.allocate(capacity: capacity)
        super.init()
        survivors?.forEachLive(fetchingAhead: true) { takeOver($0) }
        // Relaxed: the release that publishes the table publishes its count.
        unsafe contents.pointee.count.store(count, ordering: .relaxed)
    }

    var isFull: Bool { count == capacity }

    /// The table's address, which heads and pins store.
    var address: UInt { unsafe UInt(bitPattern: contents) }

    /// Adds an observer at the end. The caller must hold the core's lock, and the table must not be
    /// full.
    func append(_ observer: Observer) {
        // Safe: the table owns a reference to the observer until the table is freed.
        if !observer.knownMark.contains(.isCountedAhead) { _ = unsafe Unmanaged.passRetained(observer) }
        place(observer)
        publishCount()
    }

    private func publishCount() {
        // Release: pairs with the acquire in loadCount(); the entry and the observer are complete
        // before it.
        unsafe contents.pointee.count.store(count, ordering: .releasing)
    }

    private func takeOver(_ observer: Observer) {
        // Safe: as in append(_:).
        _ = unsafe Unmanaged.passRetained(observer)
        place(observer)
    }

    /// Writes the next entry. The table must own a reference to the observer already.
    @inline(__always)
    private func place(_ observer: Observer) {
        let entry = unsafe contents.pointee.entry(count)
        unsafe entry.initialize(to: TableEntry())
        unsafe entry.pointee.content = observer.borrowedContent
        // Relaxed: published by the release of the count, or of the table.
        unsafe entry.pointee.word.store(observer.address, ordering: .relaxed)
        noteStart(of: observer)
        observer.index = UInt32(count)
        count += 1
        live += 1
    }

    /// Records the version of the source at which an observation began, if it is the latest so far.
    private func noteStart(of observer: Observer) {
        guard observer.knownMark.contains(.versioned) else { return }
        let start = VersionedObserver.since(at: observer.address)
        // Relaxed, both: under the core's lock; published with the entry, by the release of the
        // count or of the table.
        if unsafe start > contents.pointee.latestStart.load(ordering: .relaxed) {
            unsafe contents.pointee.latestStart.store(start, ordering: .relaxed)
        }
    }

    /// Counts that an observation has ended while this table was the current one. The caller must
    /// hold the core's lock.
    func countEndLocked() {
        live -= 1
    }

    /// Whether the observations of at least half of the entries have ended. The caller must hold
    /// the core's lock.
    var isHalfDead: Bool { count - live >= live }

    /// Marks an observer's entry as ended. The caller must hold the core's lock.
    func tombstoneLocked(_ observer: Observer) {
        // Relaxed: walkers need only the heavy barrier, which is executed after this store, and
        // before the scan of the frames that allows to destroy the closure. A thread that finds the
        // observer's mark finds this store, too, by the release in markEndedLocked(_:).
        unsafe contents.pointee.entry(Int(observer.index)).pointee.word
            .store(observer.address | TableEntry.Mark.ended, ordering: .relaxed)
    }

    /// Makes the walkers that still use the table read the observers' own marks, because
    /// observations that end later are not marked in this table. The caller must hold the core's
    /// lock, which every end takes.
    func markReplacedLocked() {
        forEachEntryLocked { $0.markReplacedLocked() }
    }

    /// Calls `body` with every entry. The caller must hold the core's lock, or no other thread may
    /// have the table.
    func forEachEntryLocked(_ body: (borrowing TableEntry) -> Void) {
        for index in 0..<count { unsafe body(contents.pointee.entry(index).pointee) }
    }

    /// Calls `body` with the observers of the live entries. The caller must hold the core's lock.
    ///
    /// - Parameter fetchingAhead: Whether to prefetch observers while `body` runs for earlier ones,
    ///   because `body` writes to them.
    @inline(__always)
    func forEachLive(fetchingAhead: Bool = false, _ body: (Observer) -> Void) {
        for index in 0..<count {
            if fetchingAhead, index + 8 < count { unsafe contents.pointee.entry(index + 8).pointee.fetchLiveObserver() }
            if let observer = unsafe contents.pointee.entry(index).pointee.liveObserver { body(observer) }
        }
    }

    // MARK: Retirable

    override var hold: Hold { .pin(address) }

    override func reclaim() {
        free()
    }

    func free() {
        for index in 0..<count {
            // The observers were written on other processors. Each is therefore prefetched while
            // earlier ones are released.
            if index + 8 < count { unsafe contents.pointee.entry(index + 8).pointee.fetchObserver() }
            unsafe contents.pointee.entry(index).pointee.release()
        }
        unsafe contents.deallocate()
    }
}
