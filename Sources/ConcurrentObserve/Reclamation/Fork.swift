// SPDX-License-Identifier: Apache-2.0

import CURCU
import Glibc

/// Keeps the process-wide state whole across `fork`. (P18)
///
/// The handlers are installed before `main`. Before the first use of the library they do nothing.
/// While a thread prepares the library they wait for it.
///
/// Before a fork, the handler first waits for a reclamation pass to end, because a pass enters
/// sources' locks. Then the gate keeps every thread out of those locks. Then the handler takes the
/// other locks, in the order in which the library nests them. liburcu's locks come last, as a pass
/// takes them under its own.
internal enum Fork {
    /// Makes everything that the library makes once, on its first use in the process, while no fork
    /// happens. (P18)
    ///
    /// A lock of the runtime guards what is made once. A fork may find that lock taken by a thread
    /// that does not exist in the child. A room above makes such things behind the gate.
    static func prepare() {
        // Safe: C copies the hooks.
        unsafe withUnsafePointer(to: hooks) { hooks in
            unsafe curcu_prepare(hooks) {
                Fork.check(
                    curcu_exit_key_error(),
                    "no thread-specific key is left. Release some: a process has \(PTHREAD_KEYS_MAX)"
                )
                Fork.check(curcu_fork_handlers_error(), "the system has no memory for its fork handlers")
                ForkGate.prepare()
                ObserverPool.prepare()
                BoxPool.prepare()
                KnownTypes.prepare()
                RetiredCounts.prepare()
                _ = (ReclamationThread.shared, DeinitThreads.shared, CallbackAges.shared, ThreadRecords.shared)
                LibraryThread.prepare()
                Rehearsal.perform()
            }
        }
    }

    /// How many forks lie between the first process and this one.
    static var generation: UInt32 { curcu_get_generation() }

    private static func check(_ error: Int32, _ message: @autoclosure () -> String) {
        guard error != 0 else { return }
        fatalError("ConcurrentObserve: \(message()) (error \(error)).")
    }

    /// Holds a lock of an upper room across forks, too, and calls `inChild` in the child. The lock
    /// is taken behind the gate, and no other lock is taken under it.
    static func hold(_ lock: ForkAwareLock, inChild: @escaping @Sendable () -> Void) {
        registration.withLock { unsafe upper.append((lock, inChild)) }
    }

    private static let registration = ForkAwareLock()
    /// Guarded by `registration`, which the handlers hold.
    nonisolated(unsafe) private static var upper: [(lock: ForkAwareLock, inChild: @Sendable () -> Void)] = []

    // Computed: nothing of it is made once.
    private static var hooks: curcu_hooks {
        unsafe curcu_hooks(
            before_fork: {
                // A thread gets its record behind the gate, which is closed from here to the last
                // handler. Safe: nothing is done with it.
                _ = unsafe ThreadRecord.current
                Fork.lock()
                curcu_before_fork()
            },
            after_fork_in_parent: {
                curcu_after_fork_parent()
                Fork.unlock()
            },
            after_fork_in_child: {
                curcu_after_fork_child()
                Fork.restartInChild()
            },
            thread_exit: { record in
                // Safe: only `attach` names a record, and records are never freed.
                unsafe ThreadRecords.shared.release(record.assumingMemoryBound(to: ThreadRecord.self))
            }
        )
    }

    // MARK: What the handlers do

    /// - Parameter isRehearsal: See `Rehearsal`: no other thread uses the library.
    static func lock(isRehearsal: Bool = false) {
        ReclamationThread.shared.lockForFork()
        ForkGate.close(isRehearsal: isRehearsal)
        registration.lockForFork()
        for (lock, _) in unsafe upper { lock.lockForFork() }
        CallbackAges.shared.lockForFork()
        DeinitThreads.shared.lockForFork()
        ReclamationThread.shared.batches.lockForFork()
        ThreadRecords.shared.lockForFork()
    }

    static func unlock() {
        ThreadRecords.shared.unlockAfterFork()
        ReclamationThread.shared.batches.unlockAfterFork()
        DeinitThreads.shared.unlockAfterFork()
        CallbackAges.shared.unlockAfterFork()
        for (lock, _) in unsafe upper { lock.unlockAfterFork() }
        registration.unlockAfterFork()
        ForkGate.open()
        ReclamationThread.shared.unlockAfterFork()
    }

    static func restartInChild() {
        ThreadRecords.shared.restartInChild()
        ObserverPool.restartInChild()
        RetiredCounts.restart()
        ReclamationThread.shared.batches.unlockAfterFork()
        DeinitThreads.shared.restartInChild()
        CallbackAges.shared.unlockAfterFork()
        for (lock, inChild) in unsafe upper {
            lock.unlockAfterFork()
            inChild()
        }
        registration.unlockAfterFork()
        ForkGate.open()
        ReclamationThread.shared.restartInChild()
    }
}
