// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The usual way to notify: an array of closures behind a mutex. A notification copies the array,
/// and calls the closures outside the lock.
final class MutexList: Sendable {
    private let closures = Mutex<[@Sendable (Int) -> Void]>([])

    func observe(_ body: @escaping @Sendable (Int) -> Void) { closures.withLock { $0.append(body) } }

    @inline(never)
    func notify(_ event: Int) {
        for body in closures.withLock({ $0 }) { body(event) }
    }
}
