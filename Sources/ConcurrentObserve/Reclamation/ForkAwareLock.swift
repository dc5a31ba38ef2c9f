// SPDX-License-Identifier: Apache-2.0

/// A lock of the process-wide state. The library holds it across `fork`, so that parent and child
/// find the state whole. (P18)
internal final class ForkAwareLock: Sendable {
    private let storage = Lock()

    func withLock<Result>(_ body: () -> Result) -> Result { storage.withLock(body) }

    /// Runs `body` under the lock, on a thread that may have no record yet: the instrumented build
    /// does not count the lock.
    func withUntrackedLock<Result>(_ body: () -> Result) -> Result {
        storage.lock()
        defer { storage.unlock() }
        return body()
    }

    func lockForFork() { storage.lock() }

    /// In the parent, and in the child, where no other thread is left to wait.
    func unlockAfterFork() { storage.unlock() }
}
