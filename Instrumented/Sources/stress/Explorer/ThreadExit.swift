// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Tries what happens when the calling thread exits where it stands. (P17)
enum ThreadExit {
    /// Whether the library traps. The thread exits in a copy of the process.
    ///
    /// The copy is made without fork handlers, so the library does not take it for a child. All
    /// other threads of the process wait for the scheduler, and hold no lock that the copy needs.
    static var traps: Bool {
        guard let symbol = unsafe dlsym(nil, "_Fork") else { harnessFailure("the C library has no _Fork") }
        // Safe: that is its type.
        let number = unsafe unsafeBitCast(symbol, to: (@convention(c) () -> pid_t).self)()
        if number == 0 {
            ChildProcess.beginCopy()
            ChildProcess.silence()
            unsafe Instrumentation.exploration = nil
            pthread_exit(nil)
        }
        return ChildProcess.end(of: number) == .trapped
    }
}
