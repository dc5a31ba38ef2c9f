// SPDX-License-Identifier: Apache-2.0

import CURCU
import Glibc

/// Keeps the process-wide state whole across `fork`. (P18)
///
/// Installed before the first thread record exists. The locks are taken in the order in which the library itself nests
/// them; liburcu's come last, as a pass of the reclaimer takes them under its own.
internal enum Fork {
    static func prepareForFork() { _ = handlers }

    private static let handlers: Void = {
        let error = pthread_atfork(
            {
                Reclaimer.shared.lockForFork()
                CallbackAges.shared.lockForFork()
                Destroyers.shared.lockForFork()
                ThreadRecords.shared.lockForFork()
                curcu_before_fork()
            },
            {
                curcu_after_fork_parent()
                ThreadRecords.shared.unlockInParent()
                Destroyers.shared.unlockInParent()
                CallbackAges.shared.unlockInParent()
                Reclaimer.shared.unlockInParent()
            },
            {
                curcu_after_fork_child()
                ThreadRecords.shared.adoptInChild()
                CallbackAges.shared.restartInChild()
                Reclaimer.shared.restartInChild()
                Destroyers.shared.restartInChild()
            }
        )
        precondition(error == 0, "ConcurrentObserve: the system has no memory for its fork handlers (error \(error)).")
    }()
}
