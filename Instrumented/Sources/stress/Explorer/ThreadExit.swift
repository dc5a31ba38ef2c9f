// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Makes the calling thread exit at this place, in a copy of the process, and observes the result.
/// (P17)
enum ThreadExit {
    /// Whether the library traps. The thread exits in a copy of the process.
    ///
    /// The copy is made without fork handlers, so the library does not take it for a child. All
    /// other threads of the process wait for the scheduler, and hold no lock that the copy needs.
    static var traps: Bool {
        guard let symbol = unsafe dlsym(nil, "_Fork") else { harnessFailure("the C library has no _Fork") }
        // Safe: the function has this type.
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
