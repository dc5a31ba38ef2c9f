// SPDX-License-Identifier: Apache-2.0

import CURCU
import Synchronization

/// Observers that nobody has any more, kept to be used again.
///
/// An observer is made on a thread that observes, and let go of on one of the library's, whose `free` and the other's `malloc` would contend for every one.
/// So whoever lets go of the last reference puts it on a stack, and a thread that needs one takes the whole stack, for itself. (As the magazines of
/// Bonwick and Adams, "Magazines and Vmem", 2001, but of one size, and without a depot.)
internal enum SpareObservers {
    /// The address of the first on the stack, linked through the observers, and how many they are. Always taken as a whole: so no address can come back
    /// while another thread pushes onto it.
    private static let stack = Atomic<WordPair>(WordPair(first: 0, second: 0))

    /// A thread keeps as many at most, and so does the stack: 32 KiB.
    private static var limit: UInt { 512 }

    /// Keeps an observer to which nobody else has a reference, and which is done with everything: see `Observer.giveUp`.
    ///
    /// - Returns: False if enough are kept.
    static func keep(_ observer: Unmanaged<Retirable>) -> Bool {
        // Safe: an address only; the stack takes over the caller's reference.
        let address = unsafe UInt(bitPattern: observer.toOpaque())
        // Relaxed: the exchange below checks it.
        var top = stack.load(ordering: .relaxed)
        while top.second < limit {
            unsafe observer._withUnsafeGuaranteedRef { $0.link = top.first }
            // Release: pairs with the acquire in take().
            let (exchanged, original) = stack.weakCompareExchange(
                expected: top,
                desired: WordPair(first: address, second: top.second + 1),
                ordering: .releasing
            )
            if exchanged { return true }
            top = original
        }
        return false
    }

    /// One that was kept, if there is one, with the reference to it.
    static func take() -> Observer? {
        // An exploration tells observers by their addresses.
        if exploredNow() != nil { return nil }
        // Safe: records are never freed; the thread's spares are its own.
        let record = unsafe ThreadRecord.current
        var address = unsafe record.pointee.spares
        if address == 0 {
            // Relaxed: a hint.
            guard stack.load(ordering: .relaxed).first != 0 else { return nil }
            // Acquire: pairs with the release in keep(_:); whoever had the observers is done with them.
            address = stack.exchange(WordPair(first: 0, second: 0), ordering: .acquiring).first
            if address == 0 { return nil }
        }
        // Safe: whoever takes an observer off the stack, or off the thread's list, has its reference.
        let observer = unsafe Unmanaged<Observer>.fromOpaque(UnsafeRawPointer(bitPattern: address).unsafelyUnwrapped)
            .takeRetainedValue()
        unsafe record.pointee.spares = observer.link
        // The next one was written on another processor.
        unsafe curcu_prefetch(UnsafeRawPointer(bitPattern: observer.link))
        return observer
    }
}
