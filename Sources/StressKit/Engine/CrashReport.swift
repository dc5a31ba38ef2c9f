// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// Says what was running when the process crashes, and ends it with the code for a crash.
package enum CrashReport {
    nonisolated(unsafe) private static var seed: UnsafeMutablePointer<CChar>?
    private static let scenario = Atomic<UInt>(0)

    /// The signals of a crash.
    package static let signals: [(number: Int32, name: StaticString)] = [
        (SIGSEGV, "SIGSEGV"), (SIGBUS, "SIGBUS"), (SIGILL, "SIGILL"), (SIGTRAP, "SIGTRAP"), (SIGABRT, "SIGABRT"),
        (SIGFPE, "SIGFPE"),
    ]

    /// Installs handlers for the signals of a crash; under a sanitizer none, it reports better.
    package static func install(seed number: UInt64) {
        guard Sanitizer.current == nil else { return }
        // Written once, before other threads run; the handler only reads it.
        unsafe seed = strdup("\(number)")
        for (number, _) in signals { signal(number, reportCrash) }
    }

    /// Names the scenario that runs from now on. The copy stays: a handler may be reading it.
    package static func enter(_ name: String) {
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

/// The signal handler: it allocates nothing, and takes no lock.
private func reportCrash(_ number: Int32) {
    CrashReport.report(number)
    _exit(StressExit.crash.rawValue)
}
