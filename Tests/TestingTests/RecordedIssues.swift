// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import Testing

/// Runs `body`, and returns the issues that it records. They do not fail the test.
func recordedIssues(_ body: @Sendable () async throws -> Void) async -> [Issue] {
    let issues = Mutex<[Issue]>([])
    await withKnownIssue(isIntermittent: true) {
        try await body()
    } matching: { issue in
        issues.withLock { $0.append(issue) }
        return true
    }
    return issues.withLock { $0 }
}

extension Issue {
    /// The text of its comments.
    var text: String { comments.map(\.rawValue).joined(separator: "\n") }
}

/// An object that counts its deinitialisation.
final class Mortal: Sendable {
    private let deaths: Counter

    init(_ deaths: Counter) { self.deaths = deaths }

    deinit { deaths.increment() }

    /// A use, so that a closure captures the object.
    func touch() {}
}

/// A number that threads increment.
final class Counter: Sendable {
    private let number = Atomic<Int>(0)

    var value: Int { number.load(ordering: .acquiring) }
    func increment() { number.add(1, ordering: .releasing) }
}

/// Runs `body` on eight threads at the same time, and suspends until all have returned.
func onEightThreads(_ body: @escaping @Sendable (Int) -> Void) async {
    await withCheckedContinuation { continuation in
        DispatchQueue(label: "eight-threads").async {
            DispatchQueue.concurrentPerform(iterations: 8, execute: body)
            continuation.resume()
        }
    }
}

/// Something that happens once, and that a callback waits for.
final class Signal: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    func happen() { semaphore.signal() }

    /// Blocks the thread, for 20 seconds at most.
    func hold() {
        _ = semaphore.wait(timeout: .now() + .seconds(20))
        semaphore.signal()
    }
}
