// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A semaphore of the system. A thread waits for it until another thread signals it.
@safe package final class Semaphore: @unchecked Sendable {
    // Unchecked: the pointer is constant, and a semaphore is made to be shared.
    private let semaphore: UnsafeMutablePointer<sem_t>

    package init() {
        // Safe: initialised here, freed with the object, which the waiting thread retains.
        unsafe semaphore = .allocate(capacity: 1)
        unsafe sem_init(semaphore, 0, 0)
    }

    deinit {
        unsafe sem_destroy(semaphore)
        unsafe semaphore.deallocate()
    }

    package func signal() { unsafe sem_post(semaphore) }
    package func wait() { while unsafe sem_wait(semaphore) != 0 {} }
}
