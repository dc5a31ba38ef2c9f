// SPDX-License-Identifier: Apache-2.0

import ConcurrentObservePlatform
public import Synchronization

/// The part of a table that walks read, in one block of memory: the number of entries,
/// `latestStart`, and the entries.
@usableFromInline
internal struct TableContents: ~Copyable {
    @usableFromInline let count: Atomic<Int>
    /// The highest version of the source at which an observation in this table began; 0 if the
    /// source has no versions.
    @usableFromInline let latestStart: Atomic<UInt64>

    /// Allocates the contents. An entry is initialized when it is first used.
    static func allocate(capacity: Int) -> UnsafeMutablePointer<TableContents> {
        // Safe: the table frees it, once no frame pins it.
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
    /// Returns the address of the entry at `index`.
    @inlinable @inline(__always)
    borrowing func entry(_ index: Int) -> UnsafeMutablePointer<TableEntry> {
        // Safe: `allocate` has laid the entries out behind the count; contents never move.
        unsafe withUnsafePointer(to: self) { contents in
            unsafe UnsafeMutableRawPointer(mutating: contents + 1).assumingMemoryBound(to: TableEntry.self) + index
        }
    }
}

/// One entry of a table: the observer, whether it has ended, and its content.
///
/// The two words of the closure are here, so a walk reads no memory of an observer that it calls.
/// The observer owns the closure: the words here are borrowed.
@usableFromInline
internal struct TableEntry: ~Copyable {
    /// The observer's address, and `Mark` bits. It is written under the lock of the source's core
    /// (`RegistryCore`); a walk loads it without the lock.
    @usableFromInline let word = Atomic<UInt>(0)

    /// The words of the observer's content. They are written before the entry is published.
    @usableFromInline var content = ContentStorage()

    @usableFromInline
    init() {}

    /// The bits of an entry's word that are not part of the address, which is a multiple of four.
    @usableFromInline
    enum Mark {
        /// The observation ended while this table was the current one.
        @usableFromInline static var ended: UInt { 1 }
        /// The table was replaced. From then on, only the observer's own mark says whether the
        /// observation has ended.
        @usableFromInline static var replaced: UInt { 2 }
        @usableFromInline static var all: UInt { 3 }
    }
}

extension TableEntry {
    /// The observer, unless its observation ended in this table. The caller must hold the core's
    /// lock, or no other thread may have the table.
    var liveObserver: Observer? {
        // Relaxed: under the lock.
        let word = word.load(ordering: .relaxed)
        if word == 0 || word & Mark.ended != 0 { return nil }
        // Safe: the table owns a reference.
        return unsafe Unmanaged<Observer>.fromOpaque(UnsafeRawPointer(bitPattern: word & ~Mark.all)!)
            .takeUnretainedValue()
    }

    /// Whether the entry has, or had, the observer whose address is `other`. The caller must hold
    /// the core's lock.
    func isOf(observerAt other: UInt) -> Bool {
        // Relaxed: under the lock.
        word.load(ordering: .relaxed) & ~Mark.all == other
    }

    /// Sets the bit `Mark.replaced`, so that walks read the observer's own mark. The caller must
    /// hold the core's lock.
    func markReplacedLocked() {
        // Relaxed, both: the lock orders this before the end of any observation that will not be
        // marked in this table. The heavy barrier orders it for walkers, as in
        // `tombstoneLocked(_:)`.
        word.store(word.load(ordering: .relaxed) | Mark.replaced, ordering: .relaxed)
    }

    /// Prefetches the observer's memory, because the reference to the observer is released soon.
    func fetchObserver() {
        // Relaxed: an address only.
        SwiftRuntime.prefetch(word.load(ordering: .relaxed) & ~Mark.all)
    }

    /// Prefetches the observer's memory, unless its observation ended in this table.
    @inline(__always)
    func fetchLiveObserver() {
        // Relaxed: an address only.
        let word = word.load(ordering: .relaxed)
        if word & Mark.ended == 0 { SwiftRuntime.prefetch(word & ~Mark.all) }
    }

    /// Releases the table's reference to the observer, if the entry was used. No other thread may
    /// use the table.
    func release() {
        // Relaxed: no other thread has the table.
        let address = word.load(ordering: .relaxed) & ~Mark.all
        guard address != 0 else { return }
        // Safe: the table owns the reference, and is being freed.
        unsafe Observer.recycleOrRelease(Unmanaged.fromOpaque(UnsafeRawPointer(bitPattern: address)!))
    }

    /// Returns the address of an entry's content.
    @inlinable @inline(__always)
    static func content(of entry: UnsafePointer<TableEntry>) -> UnsafePointer<ContentStorage> {
        // Safe: the content follows the word; the caller's table is pinned.
        unsafe (UnsafeRawPointer(entry) + MemoryLayout<UInt>.size).assumingMemoryBound(to: ContentStorage.self)
    }

    /// Whether the observation has not ended. The calling thread's frame must name the observer in
    /// its hazard pointer `current`.
    @inlinable @inline(__always)
    var isActive: Bool {
        // Relaxed: the asymmetric barrier orders it after the store of `current`; publication made
        // the closure visible.
        let word = word.load(ordering: .relaxed)
        return _fastPath(word & Mark.all == 0) || (word & Mark.ended == 0 && Observer.isActive(at: word & ~Mark.all))
    }
}
