// SPDX-License-Identifier: Apache-2.0

import ConcurrentObservePlatform

/// A lock for the observations of one source (`RegistryCore`), or for other shared state: a
/// mailbox, a sequence, an actor's deliveries, a combination, a derived value, its links or its
/// keeper, an agreement, or a `VersionOrder`. Code that is compiled into other modules can use it,
/// unlike `Lock`.
@usableFromInline
internal struct SourceLock: ~Copyable, Sendable {
    private let lock = Lock()

    @usableFromInline
    init() {}

    /// Runs `body` while no other thread is inside a `withLock` of this lock.
    ///
    /// A thread that holds one `SourceLock` takes no other, with two exceptions:
    /// - Inside the lock of a derived value or of a combination, it may take the locks of its
    ///   observations and of their mailboxes.
    /// - Inside the lock of a `VersionOrder`, it may take the locks of mailboxes.
    ///
    /// A `SourceLock` may be taken inside a property's `MutationLock`.
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
