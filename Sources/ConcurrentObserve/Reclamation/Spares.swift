// SPDX-License-Identifier: Apache-2.0

import CURCU
import Synchronization

/// Reclaimed items that nobody has any more, kept to be used again: observers.
///
/// One is made on a thread that observes, and let go of on one of the library's, whose `free` and the other's `malloc` would contend for every one.
/// So whoever lets go of the last reference puts it on a stack, and a thread that needs one takes the whole stack, for itself. (As the magazines of
/// Bonwick and Adams, "Magazines and Vmem", 2001, but of one size, and without a depot.)
internal enum Spares {
    /// The address of the first on the stack, linked through the items, and how many they are. Always taken as a whole: what a thread pushes onto may
    /// have been away meanwhile, and is the top again.
    private static let stack = Atomic<WordPair>(WordPair(first: 0, second: 0))

    /// The stack has as many at most, and so has each thread: 32 KiB of observers.
    private static var limit: UInt { 512 }

    /// Makes the stack. See `Fork.prepare()`.
    static func prepare() { _ = stack.load(ordering: .relaxed) }

    /// Keeps an item to which nobody else has a reference, and which is done with everything.
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

    /// One that was kept, if there is one, with the reference to it.
    static func take() -> RetiredItem? {
        #if INSTRUMENTED
        // An exploration tells observers by their addresses.
        if exploredNow() != nil { return nil }
        #endif
        // Safe: records are never freed; what a thread keeps is its own.
        let record = unsafe ThreadRecord.current
        var address = unsafe record.pointee.spares
        if address == 0 {
            // Relaxed: a hint.
            guard stack.load(ordering: .relaxed).first != 0 else { return nil }
            // Acquire: pairs with the release in keep(_:); whoever had the items is done with them.
            address = stack.exchange(WordPair(first: 0, second: 0), ordering: .acquiring).first
            if address == 0 { return nil }
        }
        let item = RetiredItem(at: address)
        let next = item.link
        unsafe record.pointee.spares = next
        // It was written on another processor.
        unsafe curcu_prefetch(UnsafeRawPointer(bitPattern: next))
        return item
    }
}

extension UnsafeMutablePointer<ThreadRecord> {
    /// Gives up what the thread has kept. The owner, or when there is none.
    func giveUpSpares() {
        // Safe: records are never freed.
        var address = unsafe pointee.spares
        unsafe pointee.spares = 0
        while address != 0 {
            let item = RetiredItem(at: address)
            address = item.link
            item.release()
        }
    }
}
