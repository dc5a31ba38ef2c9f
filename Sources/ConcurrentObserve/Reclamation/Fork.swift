// SPDX-License-Identifier: Apache-2.0

import CURCU
import Glibc

/// Keeps the process-wide state whole across `fork`. (P18)
///
/// Installed before the first thread record exists. First the reclaimer's pass is waited for, which enters sources' locks;
/// then the gate keeps everybody out of those; then the other locks are taken, in the order in which the library nests them. liburcu's
/// come last, as a pass takes them under its own.
internal enum Fork {
    static func prepareForFork() { _ = handlers }

    /// Holds a lock of an upper room across forks too, and calls `inChild` in the child. The lock is taken behind the gate, and
    /// no other under it.
    static func hold(_ lock: ForkAwareLock, inChild: @escaping @Sendable () -> Void) {
        registration.withLock { unsafe upper.append((lock, inChild)) }
    }

    private static let registration = ForkAwareLock()
    /// Guarded by `registration`, which the handlers hold.
    nonisolated(unsafe) private static var upper: [(lock: ForkAwareLock, inChild: @Sendable () -> Void)] = []

    private static let handlers: Void = {
        let error = pthread_atfork(
            {
                Reclaimer.shared.lockForFork()
                ForkGate.close()
                registration.lockForFork()
                for (lock, _) in unsafe upper { lock.lockForFork() }
                CallbackAges.shared.lockForFork()
                Destroyers.shared.lockForFork()
                Reclaimer.shared.batches.lockForFork()
                ThreadRecords.shared.lockForFork()
                curcu_before_fork()
            },
            {
                curcu_after_fork_parent()
                ThreadRecords.shared.unlockAfterFork()
                Reclaimer.shared.batches.unlockAfterFork()
                Destroyers.shared.unlockAfterFork()
                CallbackAges.shared.unlockAfterFork()
                for (lock, _) in unsafe upper { lock.unlockAfterFork() }
                registration.unlockAfterFork()
                ForkGate.open()
                Reclaimer.shared.unlockAfterFork()
            },
            {
                curcu_after_fork_child()
                ThreadRecords.shared.adoptInChild()
                Reclaimer.shared.batches.unlockAfterFork()
                Destroyers.shared.restartInChild()
                CallbackAges.shared.unlockAfterFork()
                for (lock, inChild) in unsafe upper {
                    lock.unlockAfterFork()
                    inChild()
                }
                registration.unlockAfterFork()
                ForkGate.open()
                Reclaimer.shared.restartInChild()
            }
        )
        guard error == 0 else {
            fatalError("ConcurrentObserve: the system has no memory for its fork handlers (error \(error)).")
        }
    }()
}
