// SPDX-License-Identifier: Apache-2.0

public import Synchronization

/// What walkers read of a table: the count and the latest start, then the entries, in one piece of memory.
@usableFromInline
internal struct TableContents: ~Copyable {
    @usableFromInline let count: Atomic<Int>
    /// No observation of the entries began at a later version of its source; 0 where they have no versions.
    @usableFromInline let latestStart: Atomic<UInt64>

    /// No entry is made before it is used.
    static func allocate(capacity: Int) -> UnsafeMutablePointer<TableContents> {
        // Safe: freed by the table, once no frame pins it.
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: MemoryLayout<TableContents>.stride + MemoryLayout<TableEntry>.stride * capacity,
            alignment: Int(ListHints.mask) + 1
        )
        let contents = unsafe memory.bindMemory(to: TableContents.self, capacity: 1)
        unsafe contents.initialize(to: TableContents(count: Atomic(0), latestStart: Atomic(0)))
        return unsafe contents
    }
}

extension TableContents {
    /// Where the entry at `index` is.
    @inlinable @inline(__always)
    borrowing func entry(_ index: Int) -> UnsafeMutablePointer<TableEntry> {
        // Safe: `allocate` has laid the entries out behind the count; contents never move.
        unsafe withUnsafePointer(to: self) { contents in
            unsafe UnsafeMutableRawPointer(mutating: contents + 1).assumingMemoryBound(to: TableEntry.self) + index
        }
    }
}

/// One entry of a table: whose it is, whether to call it, and what to call.
///
/// With the closure's two words beside the mark, a walk reads no memory of an observer that it
/// calls. The observer owns the closure: the words here are borrowed.
@usableFromInline
internal struct TableEntry: ~Copyable {
    /// The observer's address, and `Mark` bits. Written under the core's lock; loaded by walkers
    /// without.
    @usableFromInline let word = Atomic<UInt>(0)

    /// What the observer holds. Written before the entry is published.
    @usableFromInline var content = ContentStorage()

    @usableFromInline
    init() {}

    /// What an entry's word says beside the address, which is even.
    @usableFromInline
    enum Mark {
        /// The observation has ended while its table was the current one.
        @usableFromInline static var ended: UInt { 1 }
        /// The table has been replaced: from here on, only the observer's own mark says whether the
        /// observation has ended.
        @usableFromInline static var replaced: UInt { 2 }
        @usableFromInline static var all: UInt { 3 }
    }
}

extension TableEntry {
    /// The observer, unless its observation ended in this table. Under the core's lock, or when no
    /// other thread has the table.
    var liveObserver: Observer? {
        // Relaxed: under the lock.
        let word = word.load(ordering: .relaxed)
        if word == 0 || word & Mark.ended != 0 { return nil }
        // Safe: the table owns a reference.
        return unsafe Unmanaged<Observer>.fromOpaque(UnsafeRawPointer(bitPattern: word & ~Mark.all)!)
            .takeUnretainedValue()
    }

    /// Whether the entry is, or was, that of the observer at an address. Under the core's lock.
    func isOf(observerAt other: UInt) -> Bool {
        // Relaxed: under the lock.
        word.load(ordering: .relaxed) & ~Mark.all == other
    }

    /// Sends walkers to the observer's own mark. Under the core's lock.
    func markReplaced() {
        // Relaxed, both: the lock orders this before the end of any observation that will not be
        // marked here; then as `ended`.
        word.store(word.load(ordering: .relaxed) | Mark.replaced, ordering: .relaxed)
    }

    /// Has the processor fetch the observer, whose reference is released soon.
    func fetchObserver() {
        // Relaxed: an address only.
        ObserverPool.fetch(itemAt: word.load(ordering: .relaxed) & ~Mark.all)
    }

    /// Has the processor fetch the observer, unless its observation ended in this table.
    @inline(__always)
    func fetchLiveObserver() {
        // Relaxed: an address only.
        let word = word.load(ordering: .relaxed)
        if word & Mark.ended == 0 { ObserverPool.fetch(itemAt: word & ~Mark.all) }
    }

    /// Releases the table's reference. When no other thread has the table.
    func release() {
        // Relaxed: no other thread has the table.
        let address = word.load(ordering: .relaxed) & ~Mark.all
        guard address != 0 else { return }
        // Safe: the table owns the reference, and is being freed.
        unsafe Observer.recycleOrRelease(Unmanaged.fromOpaque(UnsafeRawPointer(bitPattern: address)!))
    }

    /// Where an entry has what the observer holds.
    @inlinable @inline(__always)
    static func content(of entry: UnsafePointer<TableEntry>) -> UnsafePointer<ContentStorage> {
        // Safe: it follows the word; the caller's table is pinned.
        unsafe (UnsafeRawPointer(entry) + MemoryLayout<UInt>.size).assumingMemoryBound(to: ContentStorage.self)
    }

    /// Whether to call the entry, whose observer a frame has as current.
    @inlinable @inline(__always)
    var isDue: Bool {
        return isActive
    }

    /// Whether the observation of an entry that a frame has as current goes on.
    @inlinable @inline(__always)
    var isActive: Bool {
        // Relaxed: the asymmetric barrier orders it after the store of `current`; publication made
        // the closure visible.
        let word = word.load(ordering: .relaxed)
        return _fastPath(word & Mark.all == 0) || (word & Mark.ended == 0 && Observer.isActive(at: word & ~Mark.all))
    }
}
