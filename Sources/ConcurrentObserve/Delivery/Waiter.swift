// SPDX-License-Identifier: Apache-2.0

/// A suspended task, which must be resumed once.
@safe @usableFromInline
internal struct Waiter<Event: Sendable>: Sendable {
    @usableFromInline let continuation: UnsafeContinuation<Event?, Never>

    @inlinable
    init(_ continuation: UnsafeContinuation<Event?, Never>) { unsafe self.continuation = continuation }

    /// Suspends the calling task until its waiter is resumed.
    ///
    /// - Parameter body: Receives the waiter, and ensures that it is resumed once.
    @inlinable
    static func suspend(isolation: isolated (any Actor)? = #isolation, _ body: (Waiter) -> Void) async -> Event? {
        // Safe: the waiter is resumed once, since a thread first takes it, under a lock, from the
        // place where it was stored.
        await unsafe withUnsafeContinuation { continuation in body(unsafe Waiter(continuation)) }
    }

    /// Resumes the task. Under no lock: the executor that will run it may be user code.
    @inlinable
    func resume(returning event: Event?) { unsafe continuation.resume(returning: event) }
}
