// SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// Starts the library's own threads. Each is named and detached.
///
/// Such a thread blocks the program's signals, except the signals that report a fault of the thread
/// itself. If these were blocked, a fault would kill the process without a call of the program's
/// crash reporter.
///
/// If the system permits it, such a thread does not inherit the scheduling class, the priority and
/// the processors of the thread that starts it: it has those of an ordinary thread of the process.
/// Therefore users' deinitialisers do not become real-time if a real-time thread ends an
/// observation. And the reclamation of the whole process does not get the lowest class if a thread
/// of that class starts it.
package enum LibraryThread {
    /// Starts a thread that runs `body`.
    ///
    /// - Returns: False if the system cannot start a thread.
    package static func start(named name: StaticString, _ body: @escaping @Sendable () -> Void) -> Bool {
        let start = unsafe Unmanaged.passRetained(Start(body: body))
        // Safe: a literal ends with a zero byte. A `String` could need memory, which may be short
        // here.
        let error = unsafe name.utf8Start.withMemoryRebound(to: CChar.self, capacity: name.utf8CodeUnitCount + 1) {
            unsafe cplatform_create_thread(
                $0,
                { context in
                    // Safe: the reference that was passed to this thread.
                    unsafe Unmanaged<Start>.fromOpaque(context!).takeRetainedValue().body()
                },
                start.toOpaque()
            )
        }
        if error != 0 { unsafe start.release() }
        return error == 0
    }

    /// Runs `body` on a new thread, which ends afterwards, and waits for the result. If the system
    /// cannot start a thread, runs `body` on the calling thread.
    package static func run<Result: Sendable>(
        named name: StaticString,
        _ body: @escaping @Sendable () -> Result
    ) -> Result {
        let answer = Answer<Result>()
        guard start(named: name, { answer.give(body()) }) else { return body() }
        answers.wait(for: name) { answer.isGiven }
        return answer.result!
    }

    private static let answers = EventCount()

    private final class Answer<Result: Sendable>: @unchecked Sendable {
        // Unchecked: `result` is written once, before the release in give(_:).
        private(set) var result: Result?
        private let given = Atomic<Bool>(false)

        func give(_ result: Result) {
            self.result = result
            // Release: pairs with the acquire in isGiven.
            given.store(true, ordering: .releasing)
            answers.signal()
        }

        var isGiven: Bool {
            // Acquire: pairs with the release in give(_:).
            given.load(ordering: .acquiring)
        }
    }

    private final class Start: Sendable {
        let body: @Sendable () -> Void

        init(body: @escaping @Sendable () -> Void) { self.body = body }
    }
}
