// SPDX-License-Identifier: Apache-2.0

import CURCU
import Synchronization

/// Mutual exclusion for the library's own state. No user code runs inside. (P5)
///
/// The standard library's `Mutex` with two additions: ThreadSanitizer is told of it (it cannot see into the standard
/// library), and the instrumented build knows which threads hold one.
@usableFromInline
internal struct Lock: ~Copyable, Sendable {
    private let mutex = Mutex<Void>(())

    @usableFromInline
    init() {}

    /// Runs `body` while no other thread is inside a `withLock` of this lock.
    @inline(__always)
    borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock(tracked: true)
        defer { unlock(tracked: true) }
        return try body()
    }

    borrowing func lock(tracked: Bool) {
        // Safe: released by `unlock` on the same thread; `withLock` pairs them.
        mutex._unsafeLock()
        // Safe: the address is a name for ThreadSanitizer; it is not read through.
        unsafe withUnsafePointer(to: mutex) { unsafe curcu_tsan_acquire($0) }
        if tracked { enterForbiddenForUserCode() }
    }

    borrowing func unlock(tracked: Bool) {
        if tracked { leaveForbiddenForUserCode() }
        // Safe: as in `lock`.
        unsafe withUnsafePointer(to: mutex) { unsafe curcu_tsan_release($0) }
        mutex._unsafeUnlock()
    }
}
