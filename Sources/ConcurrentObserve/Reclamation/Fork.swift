// SPDX-License-Identifier: Apache-2.0

import CURCU
import Glibc

/// Keeps the process-wide state whole across `fork`. (P18)
///
/// Installed before the first thread record exists. The locks are taken in the order in which the library itself nests
/// them; liburcu's come last, as a pass of the reclaimer takes them under its own.
internal enum Fork {
    static func prepareForFork() { _ = handlers }

    /// Holds a lock of an upper room across forks too, and calls `inChild` in the child. The lock may be taken under any lock of
    /// that room; under it, none is.
    static func hold(_ lock: ForkAwareLock, inChild: @escaping @Sendable () -> Void) {
        registration.withLock { unsafe upper.append((lock, inChild)) }
    }

    private static let registration = ForkAwareLock()
    /// Guarded by `registration`, which the handlers hold.
    nonisolated(unsafe) private static var upper: [(lock: ForkAwareLock, inChild: @Sendable () -> Void)] = []

    private static let handlers: Void = {
        let error = pthread_atfork(
            {
                registration.lockForFork()
                for (lock, _) in unsafe upper { lock.lockForFork() }
                Reclaimer.shared.lockForFork()
                CallbackAges.shared.lockForFork()
                Destroyers.shared.lockForFork()
                Reclaimer.shared.batches.lockForFork()
                ThreadRecords.shared.lockForFork()
                curcu_before_fork()
            },
            {
                curcu_after_fork_parent()
                ThreadRecords.shared.unlockInParent()
                Reclaimer.shared.batches.unlockInParent()
                Destroyers.shared.unlockInParent()
                CallbackAges.shared.unlockInParent()
                Reclaimer.shared.unlockInParent()
                for (lock, _) in unsafe upper { lock.unlockAfterFork() }
                registration.unlockAfterFork()
            },
            {
                curcu_after_fork_child()
                ThreadRecords.shared.adoptInChild()
                Destroyers.shared.restartInChild()
                CallbackAges.shared.resetInChild()
                Reclaimer.shared.restartInChild()
                for (lock, inChild) in unsafe upper {
                    lock.unlockAfterFork()
                    inChild()
                }
                registration.unlockAfterFork()
            }
        )
        guard error == 0 else {
            fatalError("ConcurrentObserve: the system has no memory for its fork handlers (error \(error)).")
        }
    }()
}
