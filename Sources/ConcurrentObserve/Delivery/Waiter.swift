// SPDX-License-Identifier: Apache-2.0

/// A suspended task that is to be resumed once.
@safe @usableFromInline
internal struct Waiter<Event: Sendable>: Sendable {
    @usableFromInline let continuation: UnsafeContinuation<Event?, Never>

    @inlinable
    init(_ continuation: UnsafeContinuation<Event?, Never>) { unsafe self.continuation = continuation }

    /// Suspends the calling task until its waiter is resumed.
    ///
    /// - Parameter body: Receives the waiter; sees to it that it is resumed, once.
    @inlinable
    static func suspend(isolation: isolated (any Actor)? = #isolation, _ body: (Waiter) -> Void) async -> Event? {
        // Safe: the thread that holds the waiter resumes it once: it is taken from where it stands, under a lock, first.
        await unsafe withUnsafeContinuation { continuation in body(unsafe Waiter(continuation)) }
    }

    /// Resumes the task. Under no lock: the executor that is to run it may be anybody's code.
    @inlinable
    func resume(returning event: Event?) { unsafe continuation.resume(returning: event) }
}
