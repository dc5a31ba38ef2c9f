// SPDX-License-Identifier: Apache-2.0

/// Counts, by outcome, the events of an observer that receives them one at a time. (P1)
///
/// The delivery counts an event before it calls the closure. If the closure may not call the user's
/// code, the closure counts instead: only it knows, and it must count before that code runs.
@usableFromInline
internal class EventTally: @unchecked Sendable {
    // Unchecked: subclasses have constants and atomics only.
    @usableFromInline
    init() {}

    /// Counts an event as received, before the user's code is called.
    @usableFromInline
    func countReceived() { preconditionFailure("a tally is one of a delivery") }

    /// Counts events that are not delivered, because the policy drops them, or the observation has
    /// ended.
    @usableFromInline
    func countDropped(_ count: Int) { preconditionFailure("a tally is one of a delivery") }

    /// Counts an event that the closure leaves out, because the observer does not ask for it.
    @usableFromInline
    func countLeftOut() { preconditionFailure("a tally is one of a delivery") }
}
