// SPDX-License-Identifier: Apache-2.0

import CURCU
import Synchronization

/// Mutual exclusion for the library's own state. No user code runs inside. (P5)
///
/// Three states in one word, and the kernel's help when threads collide ("Futexes Are Tricky",
/// Drepper 2011, the third mutex). Not the standard library's `Mutex`, for two measured reasons: it
/// records its owner by a thread number which it caches, and so traps under contention in the child
/// of a fork (P18); and ThreadSanitizer cannot see into its slow path.
@usableFromInline
package struct Lock: ~Copyable, Sendable {
    /// One of `free`, `held`, `contended`.
    private let word = Atomic<UInt32>(Self.free)

    private static var free: UInt32 { 0 }
    private static var held: UInt32 { 1 }
    /// Held, and other threads may sleep.
    private static var contended: UInt32 { 2 }

    @usableFromInline
    package init() {}

    /// Runs `body` while no other thread is inside a `withLock` of this lock. Not recursive.
    @inline(__always)
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // Before the lock is taken: in the instrumented build this attaches the thread, which waits
        // at the fork gate. A thread that held a lock of the process there would wait for the fork,
        // and the fork for the lock.
        lock()
        defer {
            unlock()
        }
        return try body()
    }

    borrowing func lock() {
        if tryLock() { return }
        lockSlowly()
    }

    /// Takes the lock if it is free.
    @inline(__always)
    borrowing func tryLock() -> Bool {
        // Acquire: pairs with the release in unlock().
        word.compareExchange(expected: Self.free, desired: Self.held, ordering: .acquiring).exchanged
    }

    /// Whether a thread holds it. If none does, what earlier holders did is visible.
    @inline(__always)
    var isHeld: Bool {
        // Acquire: pairs with the release in unlock().
        word.load(ordering: .acquiring) != Self.free
    }

    @inline(never)
    private borrowing func lockSlowly() {
        // Most often the holder is about to leave: it holds the lock for a few dozen instructions.
        for _ in 0..<64 {
            curcu_spin_hint()
            // Relaxed: the exchange decides.
            guard word.load(ordering: .relaxed) == Self.free else { continue }
            if tryLock() { return }
        }
        // Acquire: as above. From here on the lock is taken as contended: others may sleep beside
        // this thread.
        while word.exchange(Self.contended, ordering: .acquiring) != Self.free {
            // Safe: an atomic is lent in place, and the lock outlives the threads that wait for it.
            unsafe withUnsafePointer(to: word) { unsafe curcu_futex_wait($0, Self.contended, -1) }
        }
    }

    borrowing func unlock() {
        // Release: pairs with the acquires in lock().
        guard word.exchange(Self.free, ordering: .releasing) == Self.contended else { return }
        // Safe: the address is not read through; if the lock is gone by now, a thread may be woken
        // for nothing.
        unsafe withUnsafePointer(to: word) { unsafe curcu_futex_wake($0, 1) }
    }
}
