// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A value that a lock guards.
///
/// The lock is the system's, which ThreadSanitizer understands. It does not see how the standard
/// library's lock orders accesses, and would report them as races.
@safe package final class Guarded<Value>: @unchecked Sendable {
    // Unchecked: `value` is guarded by the lock.
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private var value: Value

    package init(_ value: Value) {
        self.value = value
        // Safe: initialised here, freed with the object.
        unsafe lock = .allocate(capacity: 1)
        unsafe pthread_mutex_init(lock, nil)
    }

    deinit {
        unsafe pthread_mutex_destroy(lock)
        unsafe lock.deallocate()
    }

    package func withLock<Result, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result) throws(Failure)
        -> Result
    {
        unsafe pthread_mutex_lock(lock)
        defer { unsafe pthread_mutex_unlock(lock) }
        return try body(&value)
    }
}
