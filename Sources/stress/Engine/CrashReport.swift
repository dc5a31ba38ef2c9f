// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Says what was running when the process crashes, and ends it with the code for a crash.
enum CrashReport {
    nonisolated(unsafe) private static var message: [UInt8] = []

    /// Installs handlers for the signals of a crash; under a sanitizer none, it reports better.
    static func install(seed: UInt64) {
        guard Sanitizer.current == nil else { return }
        // Written once, before other threads run; the handler only reads it.
        unsafe message = Array("CRASH: seed \(seed); the scenario is the one after the last that was reported\n".utf8)
        for number in [SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT, SIGFPE] { signal(number, reportCrash) }
    }

    fileprivate static func write() {
        _ = unsafe message.withUnsafeBytes { unsafe Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}

/// The signal handler.
private func reportCrash(_: Int32) {
    CrashReport.write()
    _exit(StressExit.crash.rawValue)
}
