// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The observers of a registry in the order of registration: what a notification walks.
///
/// A table only ever grows at its end. An entry is the observer's address; a cancelled one keeps it, with the lowest bit set,
/// because the table owns a reference to every observer that it ever held and releases them all when it is freed. Slots
/// are not reused: a full table is replaced.
@safe internal final class ObserverTable: Retirable, @unchecked Sendable {
    // Unchecked: entries and count are atomic and written under the core's lock; the rest is constant.

    /// How many entries there are, then the entries: what walkers see.
    let contents: UnsafeMutablePointer<TableContents>
    let capacity: Int

    /// The number of entries, as the lock's holder knows it.
    private(set) var count = 0

    /// - Parameter survivors: A table whose live observers are taken over. The caller holds the core's lock.
    init(capacity: Int, survivors: ObserverTable?) {
        self.capacity = capacity
        unsafe contents = TableContents.allocate(capacity: capacity)
        super.init()
        survivors?.forEachEntry { entry in
            guard let observer = entry.liveObserver else { return }
            place(observer)
            if mutant("compaction loses an entry"), count == 3 { bury(observer) }
        }
        // Relaxed: the release that publishes the table publishes its count.
        unsafe contents.pointee.count.store(count, ordering: .relaxed)
    }

    var isFull: Bool { count == capacity }

    /// The table's address, as the head of a registry and the pins hold it.
    var address: UInt { unsafe UInt(bitPattern: contents) }

    /// Adds an observer at the end. Under the core's lock, to a table that is not full.
    func append(_ observer: Observer) {
        if mutant("append publishes the count first") {
            unsafe contents.pointee.count.store(count + 1, ordering: .releasing)
        }
        inject("append.entry")
        place(observer)
        inject("append.publish")
        // Release: pairs with the walker's acquire of the count; the entry and the observer are complete before it.
        if mutant("relaxed publish") { return unsafe contents.pointee.count.store(count, ordering: .relaxed) }
        unsafe contents.pointee.count.store(count, ordering: .releasing)
    }

    private func place(_ observer: Observer) {
        // Safe: the table owns a reference to the observer until the table is freed.
        _ = unsafe Unmanaged.passRetained(observer)
        // Relaxed: published by the release of the count, or of the table.
        unsafe contents.pointee.entry(count).pointee.store(observer.address, ordering: .relaxed)
        observer.index = UInt32(count)
        count += 1
    }

    /// Marks an observer's entry as cancelled. Under the core's lock.
    func bury(_ observer: Observer) {
        // Relaxed: a walker that misses it is stopped by the observer's mark.
        unsafe contents.pointee.entry(Int(observer.index)).pointee.store(observer.address | 1, ordering: .relaxed)
    }

    /// Visits the entries. Under the core's lock, or when nobody else has the table.
    func forEachEntry(_ body: (TableEntry) -> Void) {
        for index in 0..<count {
            // Relaxed: under the lock.
            unsafe body(TableEntry(address: contents.pointee.entry(index).pointee.load(ordering: .relaxed)))
        }
    }

    // MARK: Retirable

    override var hold: Hold { .pin(address) }

    override func reclaim() {
        #if INSTRUMENTED
        if unsafe Instrumentation.quarantineLength > 0 {
            Quarantine.shared.exchange(self)?.free()
            return
        }
        #endif
        free()
    }

    func free() {
        forEachEntry { $0.release() }
        unsafe contents.deallocate()
    }
}

/// One entry of a table.
internal struct TableEntry {
    fileprivate let address: UInt

    /// The observer, unless it is cancelled.
    var liveObserver: Observer? {
        if address == 0 || address & 1 != 0 { return nil }
        // Safe: the table owns a reference.
        return unsafe Unmanaged<Observer>.fromOpaque(UnsafeRawPointer(bitPattern: address)!).takeUnretainedValue()
    }

    /// Whether the entry is, or was, that of the observer at an address.
    func isOf(observerAt other: UInt) -> Bool { address & ~1 == other }

    /// Gives up the table's reference.
    fileprivate func release() {
        guard address != 0 else { return }
        // Safe: the table owns a reference, and is being freed.
        unsafe Unmanaged<Observer>.fromOpaque(UnsafeRawPointer(bitPattern: address & ~1)!).release()
    }
}

/// What walkers read of a table: the count, then the entries, in one piece of memory.
@usableFromInline
internal struct TableContents: ~Copyable {
    @usableFromInline let count: Atomic<Int>

    static func allocate(capacity: Int) -> UnsafeMutablePointer<TableContents> {
        // Safe: freed by the table, once nobody pins it.
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: MemoryLayout<UInt>.stride * (1 + capacity),
            alignment: MemoryLayout<UInt>.alignment
        )
        let contents = unsafe memory.bindMemory(to: TableContents.self, capacity: 1)
        unsafe contents.initialize(to: TableContents(count: Atomic(0)))
        for index in 0..<capacity { unsafe contents.pointee.entry(index).initialize(to: Atomic(0)) }
        return unsafe contents
    }
}

extension TableContents {
    /// Where the entry at `index` is.
    @inlinable @inline(__always)
    borrowing func entry(_ index: Int) -> UnsafeMutablePointer<Atomic<UInt>> {
        // Safe: `allocate` has laid the entries out behind the count; contents never move.
        unsafe withUnsafePointer(to: self) { contents in
            unsafe UnsafeMutableRawPointer(mutating: contents).assumingMemoryBound(to: Atomic<UInt>.self) + 1 + index
        }
    }
}
