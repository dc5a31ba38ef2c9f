// SPDX-License-Identifier: Apache-2.0

/// A lock of the process-wide state. The library holds it across `fork`, so that parent and child find the state whole. (P18)
internal final class ForkAwareLock: Sendable {
    private let storage = Lock()

    func withLock<Result>(_ body: () -> Result) -> Result { storage.withLock(body) }

    /// The same, not counted among the locks that the instrumented build tracks: the thread has no record yet.
    func withUntrackedLock<Result>(_ body: () -> Result) -> Result {
        storage.lock()
        defer { storage.unlock() }
        return body()
    }

    func lockForFork() { storage.lock() }

    /// In the parent, and in the child, where nobody else is left to wait.
    func unlockAfterFork() { storage.unlock() }
}
