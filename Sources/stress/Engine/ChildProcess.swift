// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A child of this process: a fork, or the command in a process of its own.
enum ChildProcess {
    /// The way in which a child has ended.
    enum End: Equatable, CustomStringConvertible {
        case succeeded, failed, trapped, hung
        case signal(Int32)

        var description: String {
            switch self {
            case .succeeded: "succeeded"
            case .failed: "failed"
            case .trapped: "trapped"
            case .hung: "hung"
            case .signal(let number): "ended with signal \(number)"
            }
        }
    }

    /// A child hangs if it runs for longer than this number of seconds.
    private static var patience: UInt32 { UInt32(10 * min(Sanitizer.slowdown, 6)) }

    // The importer marks the function as unavailable. Safe: the function has this type.
    private static let fork = unsafe unsafeBitCast(dlsym(nil, "fork"), to: (@convention(c) () -> pid_t).self)

    /// Forks the process on the calling thread, and waits for the child. The child runs `body` and
    /// exits. (P18)
    ///
    /// - Parameter body: Returns whether the child succeeds. It must take no lock of the harness
    ///   and print nothing, because other threads may have held those locks.
    static func fork(_ body: () -> Bool) -> End {
        let number = fork()
        if number == 0 {
            beginCopy()
            #if INSTRUMENTED
            unsafe Instrumentation.perturbation = nil
            #endif
            _exit(body() ? 0 : 1)
        }
        return end(of: number)
    }

    /// Runs the command in a process with these arguments, and waits for its end. That process must
    /// call ``limitTime()``.
    static func spawn(_ arguments: [String]) -> End {
        var words: [UnsafeMutablePointer<CChar>?] = unsafe (["stress"] + arguments).map { unsafe strdup($0) }
        unsafe words.append(nil)
        defer { for index in unsafe words.indices { unsafe free(words[index]) } }
        // Safe: the C library's own variable, of this type. The importer does not give access to
        // it.
        let environment = unsafe dlsym(nil, "environ")!
            .load(as: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?.self)
        var number: pid_t = 0
        let error = unsafe posix_spawn(&number, "/proc/self/exe", nil, nil, words, environment)
        guard error == 0 else { harnessFailure("the command cannot be started (error \(error))") }
        return end(of: number)
    }

    /// Makes a signal end the calling child process if it hangs.
    static func limitTime() { alarm(patience) }

    /// Restores the default actions for signals in a copy of this process, so that a crash or a
    /// hang ends it.
    static func beginCopy() {
        for number in [SIGALRM, SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT, SIGFPE] { signal(number, SIG_DFL) }
        // The library's threads block all signals.
        var signals = sigset_t()
        unsafe sigfillset(&signals)
        unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        limitTime()
    }

    /// Redirects standard error in a child: the message of a trap there is no failure of the run.
    static func silence() {
        // Safe: a literal.
        dup2(unsafe open("/dev/null", O_WRONLY), STDERR_FILENO)
    }

    /// Waits for a child, and returns how it ended.
    static func end(of child: pid_t) -> End {
        guard child > 0 else { harnessFailure("the process cannot be forked (error \(errno))") }
        var status: Int32 = 0
        while unsafe waitpid(child, &status, 0) == -1, errno == EINTR {}
        switch status & 0x7F {
        case 0: return status == 0 ? .succeeded : .failed
        case SIGILL, SIGTRAP: return .trapped
        case SIGALRM:
            WaitInVain.note(UInt64(patience) * 1_000_000_000)
            return .hung
        case let signal: return .signal(signal)
        }
    }
}
