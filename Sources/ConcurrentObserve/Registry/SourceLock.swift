// SPDX-License-Identifier: Apache-2.0

/// The lock of one source and its observations, or of a mailbox, which no thread holds while the
/// process forks. (P18)
///
/// There are as many as there are sources, so that `fork` cannot take them all: it waits at the
/// gate until every thread has left the one that it was in. Otherwise the child's reclamation
/// thread would meet locks whose holders do not exist.
@usableFromInline
internal struct SourceLock: ~Copyable, Sendable {
    private let lock = Lock()

    @usableFromInline
    init() {}

    /// Runs `body` while no other thread is inside a `withLock` of this lock. No source's lock may
    /// be taken inside, but inside that of a derived value or of a combination those of what observes it, and inside that of all
    /// agreements those of each. It may be taken inside the lock of a property's changes, whose holders the fork does not wait for.
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
