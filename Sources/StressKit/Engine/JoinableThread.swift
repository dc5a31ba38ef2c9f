// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A joinable thread of the harness.
package struct JoinableThread: @unchecked Sendable {
    // Unchecked: an identifier is a number, or a pointer that is never followed.
    private let identifier: pthread_t

    /// Starts a thread that runs `body`.
    package init(_ body: @escaping @Sendable () -> Void) {
        var thread = pthread_t()
        let start = unsafe Unmanaged.passRetained(Start(body))
        let error = unsafe pthread_create(
            &thread,
            nil,
            { context in
                // Safe: the reference that was passed to this thread.
                unsafe Unmanaged<Start>.fromOpaque(context!).takeRetainedValue().body()
                return nil
            },
            start.toOpaque()
        )
        guard error == 0 else { harnessFailure("the system gives no thread (error \(error))") }
        identifier = thread
    }

    package func join() { pthread_join(identifier, nil) }

    /// Binds the calling thread to one core.
    package static func bind(toCore core: Int) {
        // Glibc's module leaves the function out; its mask is an array of words.
        typealias SetAffinity = @convention(c) (pid_t, Int, UnsafePointer<UInt64>) -> Int32
        guard let symbol = unsafe dlsym(nil, "sched_setaffinity") else { return }
        // Safe: the signature matches sched_setaffinity(2).
        let setAffinity = unsafe unsafeBitCast(symbol, to: SetAffinity.self)
        var mask: UInt64 = 1 << UInt64(core)
        _ = unsafe setAffinity(0, MemoryLayout<UInt64>.size, &mask)
    }

    private final class Start: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
}

/// Runs `body` on `count` threads at once, and waits until all have ended.
package func concurrently(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let threads = (0..<count).map { index in JoinableThread { body(index) } }
    for thread in threads { thread.join() }
}

/// The number of threads of a run by default: three for each processor, but at least four. More
/// threads than processors are interrupted at all places.
package var usualThreads: Int { max(4, 3 * processorCount) }

/// The number of processors that the system has online.
package var processorCount: Int { Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

/// Returns a number that no other living thread has.
func threadNumber() -> UInt { UInt(pthread_self()) }
