// SPDX-License-Identifier: Apache-2.0

import CURCU
import Synchronization

/// Reclaimed items without references, kept for reuse: observers.
///
/// A thread that observes makes an observer, and one of the library's threads releases it: the
/// `malloc` of the first and the `free` of the second would contend for every one. So the thread
/// that drops the last reference puts the item on a stack, and a thread that needs one takes the
/// whole stack for itself. (As the magazines of Bonwick and Adams, "Magazines and Vmem", 2001, but
/// of one size, and without a depot.)
internal enum ObserverPool {
    /// The address of the first item on the stack, linked through the items, and how many there
    /// are.
    ///
    /// A thread always takes the stack as a whole. So a push is safe even if its expected top was
    /// taken meanwhile and has become the top again: the link that the push has stored is right.
    private static let stack = Atomic<WordPair>(WordPair(first: 0, second: 0))

    /// The stack has as many items at most, and so has each thread: 32 KiB of observers.
    private static var limit: UInt { 512 }

    /// Makes the stack. See `Fork.prepare()`.
    static func prepare() { _ = stack.load(ordering: .relaxed) }

    /// Keeps an item that has no other reference, and that every thread is done with.
    ///
    /// - Returns: False if enough are kept.
    static func keep(_ item: RetiredItem) -> Bool {
        // Relaxed: the exchange below checks it.
        var top = stack.load(ordering: .relaxed)
        while top.second < limit {
            item.link = top.first
            // Release: pairs with the acquire in take().
            let (exchanged, original) = stack.weakCompareExchange(
                expected: top,
                desired: WordPair(first: item.address, second: top.second + 1),
                ordering: .releasing
            )
            if exchanged { return true }
            top = original
        }
        return false
    }

    /// An item that was kept, if there is one, with the reference to it.
    static func take() -> RetiredItem? {
        // The explorer distinguishes observers by their addresses: it recycles none.
        if LibraryClock.isExplored { return nil }
        // Safe: records are never freed; what a thread keeps is its own.
        let record = unsafe ThreadRecord.current
        var address = unsafe record.pointee.pooled
        if address == 0 {
            // Relaxed: a hint.
            guard stack.load(ordering: .relaxed).first != 0 else { return nil }
            // Acquire: pairs with the release in keep(_:); the threads that had the items are done
            // with them.
            address = stack.exchange(WordPair(first: 0, second: 0), ordering: .acquiring).first
            if address == 0 { return nil }
        }
        let item = RetiredItem(at: address)
        let next = item.link
        unsafe record.pointee.pooled = next
        fetch(itemAt: next)
        return item
    }

    /// Has the processor fetch an item that is used soon, and was written on another processor.
    @inline(__always)
    static func fetch(itemAt address: UInt) {
        // Safe: the address is not followed.
        unsafe curcu_prefetch(UnsafeRawPointer(bitPattern: address))
    }

    /// Makes as many items as a thread may keep, side by side, for the calling thread, which has
    /// none.
    ///
    /// - Returns: One of them; nil where none are recycled.
    static func fill(_ make: () -> RetiredItem) -> RetiredItem? {
        if LibraryClock.isExplored { return nil }
        let item = make()
        var last = item
        for _ in 1..<Int(limit) {
            let next = make()
            last.link = next.address
            last = next
        }
        last.link = 0
        // Safe: records are never freed; what a thread keeps is its own.
        unsafe ThreadRecord.current.pointee.pooled = item.link
        return item
    }
}

extension UnsafeMutablePointer<ThreadRecord> {
    /// Releases what the thread has kept for itself. The owner, when it exits.
    func releasePooled() {
        // Safe: records are never freed.
        var address = unsafe pointee.pooled
        unsafe pointee.pooled = 0
        while address != 0 {
            let item = RetiredItem(at: address)
            address = item.link
            item.release()
        }
    }
}
