// SPDX-License-Identifier: Apache-2.0

import ConcurrentObservePlatform

/// The lock of one source's observations (`RegistryCore`), or of other shared state: a mailbox, a
/// sequence, an actor's deliveries, a combination, a derived value, its links or its keeper, an
/// agreement, or a `VersionOrder`. Code that is compiled into other modules can use it, unlike
/// `Lock`.
@usableFromInline
internal struct SourceLock: ~Copyable, Sendable {
    private let lock = Lock()

    @usableFromInline
    init() {}

    /// Runs `body` while no other thread is inside a `withLock` of this lock.
    ///
    /// No other `SourceLock` may be taken inside, with two exceptions: inside the lock of a derived
    /// value or of a combination, the locks of its observations and of their mailboxes; inside the
    /// lock of a `VersionOrder`, the locks of mailboxes. This lock may be taken inside the lock of
    /// a property's changes.
    @inlinable @inline(__always)
    borrowing func withLock<Result: ~Copyable>(_ body: () -> Result) -> Result {
        acquire()
        defer { release() }
        return body()
    }

    @usableFromInline
    borrowing func acquire() { lock.lock() }

    @usableFromInline
    borrowing func release() { lock.unlock() }
}
