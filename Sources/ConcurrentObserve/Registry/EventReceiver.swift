// SPDX-License-Identifier: Apache-2.0

/// The functions of a mailbox that its source calls. An observer in the source's list of mailboxes
/// holds this object. (P2, P5)
///
/// The functions are closures. They are made where the event's type is known, so the compiler
/// specializes them for that type.
@usableFromInline
internal final class EventReceiver<Event: Sendable>: Sendable {
    /// Puts an event into the mailbox. Called under the lock that orders the source's events, if
    /// there is one. Runs no user code.
    @usableFromInline let enqueue: @Sendable (Event) -> Void
    /// Wakes the delivery that empties the mailbox on another thread. Called after each event,
    /// under no lock. The only user code that it may run is an executor's code. A serial delivery
    /// needs no wake-up.
    @usableFromInline let wake: @Sendable () -> Void
    /// Runs a serial delivery on this thread, and destroys dropped events. Called after `wake` and
    /// after the inline callbacks, under no lock. It may take long.
    @usableFromInline let drain: @Sendable () -> Void
    /// Called with the observer that holds this object, before that observer is published. Returns
    /// the token of the user's observation; nil if that observer is the user's observer.
    @usableFromInline let join: @Sendable (Observer) -> ObservationToken?
    /// Called after the observer that holds this object was published.
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

/// Counts the events of an observer that receives them one at a time: the received events, the
/// dropped events, and the events that the closure leaves out. (P1)
///
/// The delivery counts an event before it calls the closure. If the closure decides for each event
/// whether to call the user's code, the closure counts instead. It counts the event before that
/// code runs.
@usableFromInline
internal class EventTally: @unchecked Sendable {
    // Unchecked: subclasses have constants and atomics only.
    @usableFromInline
    init() {}

    /// Counts an event as received, before the user's code is called.
    @usableFromInline
    func countReceived() { preconditionFailure("EventTally is abstract: a delivery overrides this") }

    /// Counts events that are not delivered, because the buffering policy drops them, or the
    /// observation has ended.
    @usableFromInline
    func countDropped(_ count: Int) { preconditionFailure("EventTally is abstract: a delivery overrides this") }

    /// Counts an event that the closure leaves out, because the observer does not ask for it.
    @usableFromInline
    func countLeftOut() { preconditionFailure("EventTally is abstract: a delivery overrides this") }
}
