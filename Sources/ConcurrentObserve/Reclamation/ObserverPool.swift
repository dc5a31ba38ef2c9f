// SPDX-License-Identifier: Apache-2.0

import ConcurrentObservePlatform
import Synchronization

/// Reclaimed observers without references, kept for reuse.
///
/// One thread registers an observer, and a thread of the library later releases it. The `malloc` of
/// the first and the `free` of the second would contend for every observer. Therefore the thread
/// that drops the last reference keeps the item. When it has a full chunk, it puts the chunk into
/// the depot. A thread that needs an item takes a whole chunk from there. (Bonwick and Adams,
/// "Magazines and Vmem", 2001: a chunk is a magazine of one size.)
///
/// Chunks are put into the depot's places and taken out as a whole, so no thread follows the links
/// of items that another thread may be taking.
internal enum ObserverPool {
    /// Each place has the address of the first item of a chunk, or 0. The items of a chunk are
    /// linked.
    ///
    /// Safe: the places are atomic, and never freed.
    nonisolated(unsafe) private static let depot = unsafe makeDepot()

    /// The approximate number of chunks in the depot.
    private static let chunks = Atomic<Int>(0)

    /// The number of chunks that the depot can have. They hold about as many items as can wait to
    /// be reclaimed: 256 KiB of observers. (P16)
    private static var places: Int { 64 }
    private static var chunkSize: UInt { 64 }

    private static func makeDepot() -> UnsafeMutablePointer<Atomic<UInt>> {
        let depot = UnsafeMutablePointer<Atomic<UInt>>.allocate(capacity: places)
        for place in 0..<places { unsafe (depot + place).initialize(to: Atomic(0)) }
        return unsafe depot
    }

    /// Keeps an item that has no other reference, and that no other thread uses any more.
    ///
    /// - Returns: False if enough items are kept already. Then nothing was done.
    static func keep(_ item: RetiredItem) -> Bool {
        // Safe: records are never freed. The items that a thread keeps are its own.
        let record = unsafe ThreadRecord.current
        if unsafe record.pointee.keptCount == chunkSize, unsafe !handOver(record) { return false }
        unsafe item.link = record.pointee.kept
        unsafe record.pointee.kept = item.address
        unsafe record.pointee.keptCount += 1
        if unsafe record.pointee.keptCount == chunkSize { _ = unsafe handOver(record) }
        return true
    }

    /// Puts a thread's chunk into the depot.
    ///
    /// - Returns: False if there is no room.
    @inline(never)
    private static func handOver(_ record: UnsafeMutablePointer<ThreadRecord>) -> Bool {
        // Relaxed: a hint.
        if chunks.load(ordering: .relaxed) >= places { return false }
        for place in 0..<places {
            // Relaxed: the exchange decides.
            guard unsafe depot[place].load(ordering: .relaxed) == 0 else { continue }
            // Release: pairs with the acquire in takeChunk().
            let isPut = unsafe depot[place].compareExchange(
                expected: 0,
                desired: record.pointee.kept,
                ordering: .releasing
            ).exchanged
            guard isPut else { continue }
            chunks.add(1, ordering: .relaxed)  // Relaxed: a hint.
            unsafe (record.pointee.kept, record.pointee.keptCount) = (0, 0)
            return true
        }
        return false
    }

    /// Takes a chunk from the depot. Returns the address of its first item, or 0. The items now
    /// belong to the caller.
    @inline(never)
    private static func takeChunk() -> UInt {
        // Relaxed: a hint.
        if chunks.load(ordering: .relaxed) <= 0 { return 0 }
        for place in 0..<places {
            // Relaxed: the exchange decides.
            guard unsafe depot[place].load(ordering: .relaxed) != 0 else { continue }
            // Acquire: pairs with the release in handOver(_:); the threads that had the items no
            // longer use them.
            let address = unsafe depot[place].exchange(0, ordering: .acquiring)
            guard address != 0 else { continue }
            chunks.subtract(1, ordering: .relaxed)  // Relaxed: a hint.
            return address
        }
        return 0
    }

    /// Returns a kept item, with the reference to it. Returns nil if neither the calling thread nor
    /// the depot has one.
    @inline(__always)
    static func take() -> RetiredItem? {
        // Safe: records are never freed. The items that a thread keeps are its own.
        let record = unsafe ThreadRecord.current
        var address = unsafe record.pointee.pooled
        if address == 0 {
            address = takeChunk()
            if address == 0 { return nil }
        }
        let item = RetiredItem(at: address)
        let next = item.link
        unsafe record.pointee.pooled = next
        // The next call reads this item, and another processor may have written it last.
        SwiftRuntime.prefetch(next)
        return item
    }

    /// Makes 512 items for the calling thread, which has none. If `malloc` places them one after
    /// the other, they are adjacent in memory.
    ///
    /// - Returns: One of them; never nil. The thread keeps the others for `take()`.
    static func fill(_ make: () -> RetiredItem) -> RetiredItem? {
        let item = make()
        var last = item
        for _ in 1..<512 {
            let next = make()
            last.link = next.address
            last = next
        }
        last.link = 0
        // Safe: records are never freed. The items that a thread keeps are its own.
        unsafe ThreadRecord.current.pointee.pooled = item.link
        return item
    }
}

extension UnsafeMutablePointer<ThreadRecord> {
    /// Empties the thread's pool. Only the owner calls it, when the thread exits.
    ///
    /// Releasing an item adds it to the kept items once more: see `ObserverPool.keep(_:)`. If kept
    /// items fill a chunk, the chunk goes to the depot if there is room. The remaining items are
    /// freed.
    func releasePooled() {
        // Safe: records are never freed.
        var address = unsafe pointee.pooled
        unsafe pointee.pooled = 0
        while address != 0 {
            let item = RetiredItem(at: address)
            address = item.link
            item.release()
        }
        address = unsafe pointee.kept
        unsafe (pointee.pooled, pointee.kept, pointee.keptCount) = (0, 0, 0)
        while address != 0 {
            let item = RetiredItem(at: address)
            address = item.link
            _ = item.take()
        }
    }
}
