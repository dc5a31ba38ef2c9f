// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A child of this process: a fork, or the command in a process of its own.
enum ChildProcess {
    /// How a child has ended.
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

    /// After so many seconds a child hangs.
    private static var patience: UInt32 { UInt32(10 * min(Sanitizer.slowdown, 6)) }

    // The importer marks the function unavailable. Safe: that is its type.
    private static let fork = unsafe unsafeBitCast(dlsym(nil, "fork"), to: (@convention(c) () -> pid_t).self)

    /// Forks where the calling thread stands, and waits for the child, which runs `body` and exits.
    /// (P18)
    ///
    /// - Parameter body: Takes no lock of the harness's and prints nothing: other threads may have
    ///   held those locks. Returns whether the child succeeds.
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

    /// Runs the command with arguments of its own, and waits for it. The process must call
    /// ``limitTime()``.
    static func spawn(_ arguments: [String]) -> End {
        var words: [UnsafeMutablePointer<CChar>?] = unsafe (["stress"] + arguments).map { unsafe strdup($0) }
        unsafe words.append(nil)
        defer { for index in unsafe words.indices { unsafe free(words[index]) } }
        // Safe: the C library's own variable, of this type; the importer does not let it be read.
        let environment = unsafe dlsym(nil, "environ")!
            .load(as: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?.self)
        var number: pid_t = 0
        let error = unsafe posix_spawn(&number, "/proc/self/exe", nil, nil, words, environment)
        guard error == 0 else { harnessFailure("the command cannot be started (error \(error))") }
        return end(of: number)
    }

    /// In a child: a signal ends it if it hangs.
    static func limitTime() { alarm(patience) }

    /// In a copy of this process: a crash and a hang end it as they do by default.
    static func beginCopy() {
        for number in [SIGALRM, SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT, SIGFPE] { signal(number, SIG_DFL) }
        // The library's threads block all signals.
        var signals = sigset_t()
        unsafe sigfillset(&signals)
        unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        limitTime()
    }

    /// In a child: a trap's message is no failure of the run.
    static func silence() {
        // Safe: a literal.
        dup2(unsafe open("/dev/null", O_WRONLY), STDERR_FILENO)
    }

    /// Waits for a child.
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
