// SPDX-License-Identifier: Apache-2.0

import CURCU
import Glibc

/// A thread of the library's own: named and detached.
///
/// It blocks the program's signals, except those of its own faults: if these were blocked, they
/// would kill the process before the program's crash reporter is called.
///
/// It does not inherit what belongs to the thread that happens to start it: its scheduling class,
/// priority and processors are those of an ordinary thread of the process. A real-time thread that
/// ends an observation does not make users' deinitialisers real-time, and an idle thread does not
/// make the reclamation of the whole process idle.
internal enum LibraryThread {
    /// Has the runtime make what a start needs of it. See `Rehearsal`.
    static func prepare() {
        // Safe: the reference that was made.
        _ = unsafe Unmanaged.passRetained(Start(name: "") {}).takeRetainedValue()
    }

    /// Starts a thread that runs `body`.
    ///
    /// - Returns: False when the system has no thread to give.
    static func start(named name: StaticString, _ body: @escaping @Sendable () -> Void) -> Bool {
        // The new thread inherits the mask: block everything, start it, restore.
        var all = sigset_t()
        var previous = sigset_t()
        unsafe sigfillset(&all)
        // One by one: the runtime would look up how an array is a sequence, on the first use under
        // a lock. (P18)
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
                    // Safe: a literal ends with a zero byte. No string is made: memory may be
                    // short.
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
