// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Code sections in which a thread must not allocate, wait or call the system. RealtimeSanitizer,
/// if it is linked, reports a thread that does.
@safe enum Realtime {
    /// The invariant of these sections. Only the sanitizer finds a violation; its report ends the
    /// process.
    static let invariant = "P15.nothing-forbidden"

    /// Runs `body` in such a section. The first use of an object may allocate: use it once before.
    @inline(__always)
    static func bracket(_ body: () -> Void) {
        let runtime = runtime
        runtime?.enter()
        body()
        runtime?.exit()
    }

    /// Runs `body`, which belongs to the harness. It is not watched, also inside such a section.
    @inline(__always)
    static func unwatched(_ body: () -> Void) {
        let runtime = runtime
        runtime?.disable()
        body()
        runtime?.enable()
    }

    /// The sanitizer's functions, if its runtime is linked. It is one variable, because a first use
    /// inside a section would be reported.
    private static let runtime = Runtime()

    private struct Runtime {
        typealias Function = @convention(c) () -> Void

        let enter, exit, disable, enable: Function

        init?() {
            guard let enter = Self.function("__rtsan_realtime_enter"),
                let exit = Self.function("__rtsan_realtime_exit"),
                let disable = Self.function("__rtsan_disable"), let enable = Self.function("__rtsan_enable")
            else { return nil }
            (self.enter, self.exit, self.disable, self.enable) = (enter, exit, disable, enable)
        }

        private static func function(_ name: String) -> Function? {
            // Safe: the runtime declares all four as functions without parameters and results.
            unsafe dlsym(nil, name).map { unsafe unsafeBitCast($0, to: Function.self) }
        }
    }
}
