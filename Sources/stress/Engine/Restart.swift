// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Restarts the command with the same arguments, for settings that a process reads before `main`.
enum Restart {
    static func now() -> Never {
        var arguments: [UnsafeMutablePointer<CChar>?] = unsafe CommandLine.arguments.map { unsafe strdup($0) }
        unsafe arguments.append(nil)
        _ = unsafe execv("/proc/self/exe", &arguments)
        harnessFailure("the command cannot be restarted (error \(errno))")
    }
}
