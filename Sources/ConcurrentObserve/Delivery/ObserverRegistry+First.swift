// SPDX-License-Identifier: Apache-2.0

extension ObserverRegistry {
    /// Returns the first event that `predicate` accepts, of those whose notification begins after
    /// the call. Suspends until there is one. (P1)
    ///
    /// ```swift
    /// let login = try await logins.first { $0.name == "Ada" }
    /// ```
    ///
    /// Any task may call it, on any actor. The call blocks neither a thread nor an actor.
    /// `predicate` is called on the caller's actor, under no lock, once with each event, in the
    /// order of arrival. (P5) The observation has ended when the call returns or throws. (P8) The
    /// call releases its reference to the registry before it waits. (P11)
    ///
    /// - Parameter predicate: Returns true for the event to wait for.
    /// - Returns: The event that was accepted.
    /// - Throws: `CancellationError` once the task is cancelled. If no event was accepted before:
    ///   ``ObservationEnd/sourceDeleted`` when the registry is gone (P12), and
    ///   ``ObservationEnd/cancelled`` when its observations are cancelled. Any error of
    ///   `predicate`.
    /// - Complexity: One registration and a call of `predicate` for each event.
    @discardableResult
    public nonisolated(nonsending) consuming func first(
        where predicate: (Event) throws -> Bool
    ) async throws -> Event {
        try Task.checkCancellation()
        return try await (consume self).makeIteratorSource(.unbounded).first(where: predicate)
    }

    /// Returns the first event that `predicate` accepts, of those whose notification begins after
    /// the call and before the timeout. Suspends until there is one. (P1)
    ///
    /// ```swift
    /// let login = try await logins.first(timeout: .seconds(5)) { $0.name == "Ada" }
    /// ```
    ///
    /// Any task may call it, on any actor. The call blocks neither a thread nor an actor.
    /// `predicate` is called on the caller's actor, under no lock, once with each event, in the
    /// order of arrival. (P5) It is called with every event that came before the timeout, even if
    /// the task runs late. If the clock's `sleep` throws, the time is over. If `sleep` ignores
    /// cancellation, the call returns when `sleep` does.
    ///
    /// The observation has ended when the call returns or throws. (P8) The call releases its
    /// reference to the registry before it waits. (P11)
    ///
    /// - Parameters:
    ///   - timeout: How long to wait, from the call on.
    ///   - clock: The clock that measures the timeout.
    ///   - predicate: Returns true for the event to wait for.
    /// - Returns: The event that was accepted.
    /// - Throws: ``ObservationTimeout`` of `Event`, with the last event. `CancellationError` once
    ///   the task is cancelled. If no event was accepted before, and rather than the timeout:
    ///   ``ObservationEnd/sourceDeleted`` when the registry is gone (P12), and
    ///   ``ObservationEnd/cancelled`` when its observations are cancelled. Any error of
    ///   `predicate`.
    /// - Complexity: One registration, a timer, and a call of `predicate` for each event.
    @discardableResult
    public nonisolated(nonsending) consuming func first<C: Clock>(
        timeout: Duration,
        clock: C = ContinuousClock(),
        where predicate: (Event) throws -> Bool
    ) async throws -> Event where C.Duration == Duration {
        try Task.checkCancellation()
        let deadline = Deadline(timeout, clock)
        return try await (consume self).makeIteratorSource(.unbounded)
            .first(before: deadline, hasPresent: false, where: predicate)
    }
}
