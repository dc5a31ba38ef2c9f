// SPDX-License-Identifier: Apache-2.0

/// A mailbox, as the source knows it that puts events there: what an observer of the mailboxes'
/// kind holds. (P2, P5)
///
/// Closures, made where the event's type is known: compiled for it.
@usableFromInline
internal final class EventReceiver<Event: Sendable>: Sendable {
    /// Takes an event, under the lock that orders the source's events, or none. Runs no user code.
    @usableFromInline let enqueue: @Sendable (Event) -> Void
    /// After each, under no lock: wakes what empties the mailbox elsewhere. Runs no user code but
    /// an executor's. A serial delivery has nothing to wake.
    @usableFromInline let wake: @Sendable () -> Void
    /// After that, and after the inline callbacks, under no lock: delivers on this thread if the
    /// delivery is a serial one, and destroys what was dropped. It may take its time.
    @usableFromInline let drain: @Sendable () -> Void
    /// Receives the observer on the source, before it is published. Returns the token of the user's
    /// observation; nil if it is that observer's.
    @usableFromInline let join: @Sendable (Observer) -> ObservationToken?
    /// Called when the observer on the source is published.
    @usableFromInline let hasJoined: @Sendable () -> Void

    @inlinable
    init(
        enqueue: @escaping @Sendable (Event) -> Void,
        wake: @escaping @Sendable () -> Void,
        drain: @escaping @Sendable () -> Void,
        join: @escaping @Sendable (Observer) -> ObservationToken? = { _ in nil },
        hasJoined: @escaping @Sendable () -> Void = {}
    ) {
        (self.enqueue, self.wake, self.drain) = (enqueue, wake, drain)
        (self.join, self.hasJoined) = (join, hasJoined)
    }
}
