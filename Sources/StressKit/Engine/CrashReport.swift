// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// Reports what was running when the process crashes, and ends the process with the exit code for a
/// crash.
package enum CrashReport {
    nonisolated(unsafe) private static var seed: UnsafeMutablePointer<CChar>?
    private static let scenario = Atomic<UInt>(0)

    /// The signals of a crash.
    package static let signals: [(number: Int32, name: StaticString)] = [
        (SIGSEGV, "SIGSEGV"), (SIGBUS, "SIGBUS"), (SIGILL, "SIGILL"), (SIGTRAP, "SIGTRAP"), (SIGABRT, "SIGABRT"),
        (SIGFPE, "SIGFPE"),
    ]

    /// Installs handlers for the signals of a crash. Installs none under a sanitizer, whose own
    /// report is better.
    package static func install(seed number: UInt64) {
        guard Sanitizer.current == nil else { return }
        // Written once, before other threads run; the handler only reads it.
        unsafe seed = strdup("\(number)")
        for (number, _) in signals { signal(number, reportCrash) }
    }

    /// Runs `body` with handlers that report a crash. They then pass the signal on to the previous
    /// handlers. One of these is the runtime's, which prints a backtrace.
    static func during<Result>(_ name: String, seed number: UInt64, _ body: () throws -> Result) rethrows -> Result {
        guard Sanitizer.current == nil else { return try body() }
        enter(name)
        // Safe: a process makes one run at a time, and a handler only reads them.
        unsafe seed = strdup("\(number)")
        for (index, (number, _)) in signals.enumerated() {
            var action = sigaction()
            unsafe action.__sigaction_handler.sa_handler = reportAndPassOn
            // The runtime's handler needs the alternate stack that the threads may have.
            action.sa_flags = Int32(SA_ONSTACK)
            unsafe sigaction(number, &action, &previous[index])
        }
        defer { restore() }
        return try body()
    }

    nonisolated(unsafe) private static var previous = Array(repeating: sigaction(), count: signals.count)

    /// Installs the previous handlers again.
    fileprivate static func restore() {
        for (index, (number, _)) in signals.enumerated() { unsafe sigaction(number, &previous[index], nil) }
    }

    /// Names the scenario that runs from now on. The copy of the name is never freed, because a
    /// handler may be reading it.
    package static func enter(_ name: String) {
        // Release: pairs with the acquire in `report(_:)`.
        scenario.store(UInt(bitPattern: unsafe strdup(name)), ordering: .releasing)
    }

    fileprivate static func report(_ number: Int32) {
        write("CRASH: signal ")
        for (each, name) in signals where each == number { write(name) }
        write(", scenario ")
        // Safe: a copy that is never freed. Acquire: pairs with the release in `enter(_:)`.
        unsafe write(cString: UnsafePointer(bitPattern: scenario.load(ordering: .acquiring)))
        write(", seed ")
        unsafe write(cString: seed)
        write("\n")
        guard let worker = Worker.current else { return }
        write("  the crashed thread's last events:\n")
        unsafe worker.events.forLast(12) { _, name, _ in
            write("    ")
            unsafe write(cString: name)
            write("\n")
        }
    }

    private static func write(_ text: StaticString) {
        _ = unsafe Glibc.write(STDERR_FILENO, text.utf8Start, text.utf8CodeUnitCount)
    }

    private static func write(cString text: UnsafePointer<CChar>?) {
        // Safe: ends with a zero byte.
        if let text = unsafe text { _ = unsafe Glibc.write(STDERR_FILENO, text, strlen(text)) }
    }
}

/// The signal handler of a run in a test. When it returns, the previous handler gets the signal:
/// the instruction traps again, or `abort` raises the signal again.
private func reportAndPassOn(_ number: Int32) {
    CrashReport.restore()
    CrashReport.report(number)
}

/// The signal handler: it allocates nothing, and takes no lock.
private func reportCrash(_ number: Int32) {
    CrashReport.report(number)
    _exit(StressExit.crash.rawValue)
}
