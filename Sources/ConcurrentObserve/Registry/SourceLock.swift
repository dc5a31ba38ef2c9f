// SPDX-License-Identifier: Apache-2.0

/// The lock of one source and its observations, or of a mailbox. No thread holds it while the
/// process forks. (P18)
///
/// There are as many as there are sources, so `fork` cannot take them all. It waits at the gate
/// until every thread has left the lock that it holds. Otherwise the child's reclamation thread
/// would find locks whose holders do not exist.
@usableFromInline
internal struct SourceLock: ~Copyable, Sendable {
    private let lock = Lock()

    @usableFromInline
    init() {}

    /// Runs `body` while no other thread is inside a `withLock` of this lock.
    ///
    /// Lock order: a thread never takes a source's lock inside another, with two exceptions. Inside
    /// the lock of a derived value or of a combination it may take the locks of their observers.
    /// Inside the lock of all agreements it may take the lock of each. A thread may take a source's
    /// lock inside the lock of a property's changes, for whose holders the fork does not wait.
    @inlinable @inline(__always)
    borrowing func withLock<Result: ~Copyable>(_ body: () -> Result) -> Result {
        let isOutermost = acquire()
        defer { release(isOutermost) }
        return body()
    }

    /// Passes the gate and takes the lock.
    ///
    /// - Returns: Whether the thread was outside all sources' locks.
    @usableFromInline
    borrowing func acquire() -> Bool {
        let isOutermost = ForkGate.enter()
        lock.lock()
        return isOutermost
    }

    @usableFromInline
    borrowing func release(_ isOutermost: Bool) {
        lock.unlock()
        if isOutermost { ForkGate.leave() }
    }
}
