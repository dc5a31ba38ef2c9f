// SPDX-License-Identifier: Apache-2.0

import CURCU
import Glibc

/// A thread that the library starts: named and detached.
///
/// It blocks the program's signals, except those of its own faults. If these were blocked, they
/// would kill the process before the program's crash reporter is called.
///
/// It does not inherit the scheduling class, the priority and the processors of the thread that
/// starts it. It has those of an ordinary thread of the process. So a real-time thread that ends an
/// observation does not make users' deinitialisers real-time, and an idle thread does not make the
/// reclamation of the whole process idle.
internal enum LibraryThread {
    /// Starts a thread that runs `body`.
    ///
    /// - Returns: False if the system cannot start a thread.
    static func start(named name: StaticString, _ body: @escaping @Sendable () -> Void) -> Bool {
        // The new thread inherits the signal mask. So this function blocks all signals, starts the
        // thread, and restores the mask.
        var all = sigset_t()
        var previous = sigset_t()
        unsafe sigfillset(&all)
        // Without a loop: on the first use of an array as a sequence, the runtime looks up the
        // conformance under a lock. (P18)
        unsafe sigdelset(&all, SIGILL)
        unsafe sigdelset(&all, SIGTRAP)
        unsafe sigdelset(&all, SIGABRT)
        unsafe sigdelset(&all, SIGBUS)
        unsafe sigdelset(&all, SIGFPE)
        unsafe sigdelset(&all, SIGSEGV)
        unsafe sigdelset(&all, SIGSYS)
        unsafe pthread_sigmask(SIG_SETMASK, &all, &previous)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &previous, nil) }

        let start = unsafe Unmanaged.passRetained(Start(name: name, body: body))
        let error = unsafe curcu_create_thread(
            { context in
                // Safe: the reference that was passed to this thread.
                let start = unsafe Unmanaged<Start>.fromOpaque(context!).takeRetainedValue()
                unsafe start.name.utf8Start.withMemoryRebound(to: CChar.self, capacity: 16) {
                    // Safe: a literal ends with a zero byte. No string is made, because memory may
                    // be short.
                    unsafe curcu_begin_thread($0)
                }
                start.body()
                return nil
            },
            start.toOpaque()
        )
        if error != 0 { unsafe start.release() }
        return error == 0
    }

    private final class Start: Sendable {
        let name: StaticString
        let body: @Sendable () -> Void

        init(name: StaticString, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
}
