// SPDX-License-Identifier: Apache-2.0

/// A lock of the process-wide state, which the library holds across `fork` and renews in the child. (P18)
///
/// A lock that a thread of the parent holds would stay locked in the child for ever, and the system's owner check forbids the
/// child to unlock what the parent locked: so the child starts with a fresh one.
@safe internal final class ForkAwareLock: @unchecked Sendable {
    // Unchecked: the pointer is constant; `Lock` is a lock.
    private let storage: UnsafeMutablePointer<Lock>

    init() {
        // Safe: never freed; these locks live as long as the process.
        unsafe storage = UnsafeMutablePointer.allocate(capacity: 1)
        unsafe storage.initialize(to: Lock())
    }

    func withLock<Result>(_ body: () -> Result) -> Result {
        unsafe storage.pointee.withLock(body)
    }

    /// The same, not counted among the locks that the instrumented build tracks: the thread has no record yet.
    func withUninstrumentedLock<Result>(_ body: () -> Result) -> Result {
        unsafe storage.pointee.lock(tracked: false)
        defer { unsafe storage.pointee.unlock(tracked: false) }
        return body()
    }

    func lockForFork() { unsafe storage.pointee.lock(tracked: false) }
    func unlockInParent() { unsafe storage.pointee.unlock(tracked: false) }

    func resetInChild() {
        // Safe: the child has one thread, this one.
        unsafe storage.initialize(to: Lock())
    }
}
