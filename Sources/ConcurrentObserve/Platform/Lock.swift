// SPDX-License-Identifier: Apache-2.0

// # Platform: what the system, the runtime and liburcu give
//
// This is the only room (folder) that imports C. No Swift code of the library asks which system it
// runs on: the C code of `CPlatform` does.
// - `Lock`: a mutex of one word. `EventCount`: lets threads sleep until an event. `Backoff`: waits
//   for a short event.
// - `AsymmetricBarrier`: a barrier with a cheap and an expensive side, by membarrier.
//   `compilerBarrier`: a barrier for the compiler only.
// - `UserspaceRCU`: liburcu's read-side critical sections and grace periods.
// - `CurrentThread`: the calling thread's pointer to its record, its exit, and its stack.
// - `LibraryThread`: starts the library's own threads. `LibraryClock`, `ProcessorClock`,
//   `Processors`.
// - `Fork`: traps in the child of a fork. (P18)
// - `SwiftRuntime`: calls the internal functions of the Swift runtime.
//
// P1 to P25 are the promises of the article Contract. Every part of the room obeys these rules:
// - It knows nothing of observers, values or records. It only passes on their addresses.
// - No function of this room holds a lock of its own while it runs user code. (P5)

public import CPlatform
public import Synchronization

/// A mutex for the library's own state. User code runs inside in one case only: a `MutationLock`
/// holds its `Lock` during the body of a `modify` or of a commit. (P5)
///
/// The lock is one word with three states. A thread that finds it held spins for a moment, and then
/// sleeps until the word changes ("Futexes Are Tricky", Drepper 2011, the third mutex). The library
/// does not use the standard library's `Mutex`, because ThreadSanitizer cannot see into its slow
/// path.
@usableFromInline
package struct Lock: ~Copyable, Sendable {
    /// The lock's state: `free`, `held` or `contended`.
    @usableFromInline internal let word: Atomic<UInt32>

    @inlinable @inline(__always)
    internal static var free: UInt32 { 0 }
    @inlinable @inline(__always)
    internal static var held: UInt32 { 1 }
    /// The lock is held, and other threads may be sleeping until it is free.
    @inlinable @inline(__always)
    internal static var contended: UInt32 { 2 }

    @inlinable @inline(__always)
    package init() { word = Atomic(Self.free) }

    /// Runs `body` while the calling thread holds the lock. The lock is not recursive.
    @inlinable @inline(__always)
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock()
        defer {
            unlock()
        }
        return try body()
    }

    @inlinable
    package borrowing func lock() {
        if tryLock() { return }
        lockSlowly()
    }

    /// Takes the lock if it is free. Returns false if it is not.
    @inlinable @inline(__always)
    package borrowing func tryLock() -> Bool {
        Fork.trapInChild()
        // Acquire: pairs with the release in unlock().
        return word.compareExchange(expected: Self.free, desired: Self.held, ordering: .acquiring).exchanged
    }

    /// Whether a thread holds the lock. If no thread does, the work of earlier holders is visible.
    @inlinable @inline(__always)
    package var isHeld: Bool {
        // Acquire: pairs with the release in unlock().
        word.load(ordering: .acquiring) != Self.free
    }

    @usableFromInline @inline(never)
    internal borrowing func lockSlowly() {
        // In most cases the holder is about to release the lock: it holds it for a few dozen
        // instructions.
        for _ in 0..<64 {
            cplatform_spin_hint()
            // Relaxed: the exchange decides.
            guard word.load(ordering: .relaxed) == Self.free else { continue }
            if tryLock() { return }
        }
        // Acquire: pairs with the release in unlock(). From here on the lock is taken as contended,
        // because other threads may be sleeping as well.
        while word.exchange(Self.contended, ordering: .acquiring) != Self.free {
            // Safe: an atomic is lent in place, and the lock outlives the threads that wait for it.
            unsafe withUnsafePointer(to: word) { unsafe cplatform_wait($0, Self.contended, -1) }
        }
    }

    @inlinable
    package borrowing func unlock() {
        // Release: pairs with the acquires in tryLock(), lockSlowly() and isHeld.
        guard word.exchange(Self.free, ordering: .releasing) == Self.contended else { return }
        // Safe: the address is not followed. If the lock no longer exists, a thread may be woken
        // unnecessarily.
        unsafe withUnsafePointer(to: word) { unsafe cplatform_wake($0, false) }
    }
}
