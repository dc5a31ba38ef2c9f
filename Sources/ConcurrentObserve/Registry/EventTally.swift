// SPDX-License-Identifier: Apache-2.0

/// Counts what becomes of the events of one observer that receives them one at a time. (P1)
///
/// What delivers an event counts it before it calls the closure. A closure that may not call the
/// user's code counts instead: it alone knows, and it has to count before that code runs.
@usableFromInline
internal class EventTally: @unchecked Sendable {
    // Unchecked: subclasses have constants and atomics only.
    @usableFromInline
    init() {}

    /// The user's code is about to be called with an event.
    @usableFromInline
    func countReceived() { preconditionFailure("a tally is one of a delivery") }

    /// So many events are not delivered: the policy leaves them out, or the observation has ended.
    @usableFromInline
    func countDropped(_ count: Int) { preconditionFailure("a tally is one of a delivery") }

    /// An event is none of the observer's: the closure leaves it out.
    @usableFromInline
    func countLeftOut() { preconditionFailure("a tally is one of a delivery") }
}
