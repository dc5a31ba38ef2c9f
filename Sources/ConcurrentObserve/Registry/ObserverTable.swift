// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The observers of a registry in the order of registration: what a notification walks.
///
/// A table only ever grows at its end. An entry has the observer's address and its closure; a
/// cancelled one keeps the address, with a bit set, because the table owns a reference to every
/// observer that it ever held and releases them all when it is freed. Entries are not reused: a
/// full table is replaced.
@safe internal final class ObserverTable: Retirable, @unchecked Sendable {
    // Unchecked: entries and count are atomic and written under the core's lock; the rest is
    // constant.

    /// How many entries there are, then the entries: what walkers see.
    let contents: UnsafeMutablePointer<TableContents>
    let capacity: Int

    /// The number of entries, and of those whose observations have not ended in this table. Guarded
    /// by the core's lock.
    private(set) var count = 0
    private(set) var live = 0

    /// - Parameter survivors: A table whose live observers are taken over. The caller holds the
    ///   core's lock.
    init(capacity: Int, survivors: ObserverTable?) {
        self.capacity = capacity
        unsafe contents = TableContents.allocate(capacity: capacity)
        super.init()
        survivors?.forEachLive(fetchingAhead: true) { takeOver($0) }
        // Relaxed: the release that publishes the table publishes its count.
        unsafe contents.pointee.count.store(count, ordering: .relaxed)
    }

    var isFull: Bool { count == capacity }

    /// The table's address, as the head of a registry and the pins hold it.
    var address: UInt { unsafe UInt(bitPattern: contents) }

    /// Adds an observer at the end. Under the core's lock, to a table that is not full.
    func append(_ observer: Observer) {
        // Safe: the table owns a reference to the observer until the table is freed.
        if !observer.knownMark.contains(.isCountedAhead) { _ = unsafe Unmanaged.passRetained(observer) }
        place(observer)
        publishCount()
    }

    private func publishCount() {
        // Release: pairs with the walker's acquire of the count; the entry and the observer are
        // complete before it.
        unsafe contents.pointee.count.store(count, ordering: .releasing)
    }

    private func takeOver(_ observer: Observer) {
        // Safe: as in append(_:).
        _ = unsafe Unmanaged.passRetained(observer)
        place(observer)
    }

    /// The table owns a reference already.
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

    /// Notes the version of the source at which an observation began, if it is later than those before.
    private func noteStart(of observer: Observer) {
        guard observer.knownMark.contains(.versioned) else { return }
        let start = VersionedObserver.since(at: observer.address)
        // Relaxed, both: under the core's lock; published with the entry, by the release of the count or of the table.
        if unsafe start > contents.pointee.latestStart.load(ordering: .relaxed) {
            unsafe contents.pointee.latestStart.store(start, ordering: .relaxed)
        }
    }

    /// Counts an observation that has ended in this table. Under the core's lock.
    func countEnd() {
        live -= 1
    }

    /// Whether at least half of the entries are dead. Under the core's lock.
    var isHalfDead: Bool { count - live >= live }

    /// Marks an observer's entry as cancelled. Under the core's lock.
    func tombstone(_ observer: Observer) {
        // Relaxed: walkers need only the heavy barrier, which the thread that destroys the closure
        // executes between this and its look at the frames.
        unsafe contents.pointee.entry(Int(observer.index)).pointee.word
            .store(observer.address | TableEntry.Mark.ended, ordering: .relaxed)
    }

    /// Sends the walkers that still have the table to the observers' own marks: observations that
    /// end from now on are not marked here. Under the core's lock, which every end takes.
    func markReplaced() {
        forEachEntry { $0.markReplaced() }
    }

    /// Visits the entries. Under the core's lock, or when no other thread has the table.
    func forEachEntry(_ body: (borrowing TableEntry) -> Void) {
        for index in 0..<count { unsafe body(contents.pointee.entry(index).pointee) }
    }

    /// Visits the observers whose observations have not ended in this table. Under the core's lock.
    ///
    /// - Parameter fetchingAhead: Has the processor fetch each observer while earlier ones are visited, which write to them.
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
            // The observers were written on other processors: one is fetched while others are
            // released.
            if index + 8 < count { unsafe contents.pointee.entry(index + 8).pointee.fetchObserver() }
            unsafe contents.pointee.entry(index).pointee.release()
        }
        unsafe contents.deallocate()
    }
}
