// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Brackets in which a thread must not allocate, wait or call the system: RealtimeSanitizer, where
/// it is linked in, reports a thread that does.
@safe enum Realtime {
    /// The invariant of a bracket. Only the sanitizer sees a violation; its report ends the
    /// process.
    static let invariant = "P15.nothing-forbidden"

    /// Runs `body` in a bracket. What is used for the first time in it allocates: use it before.
    @inline(__always)
    static func bracket(_ body: () -> Void) {
        let runtime = runtime
        runtime?.enter()
        body()
        runtime?.exit()
    }

    /// Runs `body`, which is the harness's own, unwatched in the bracket that it may be in.
    @inline(__always)
    static func unwatched(_ body: () -> Void) {
        let runtime = runtime
        runtime?.disable()
        body()
        runtime?.enable()
    }

    /// The sanitizer's functions, if its runtime is there. One variable: a first use inside a
    /// bracket would be reported.
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
