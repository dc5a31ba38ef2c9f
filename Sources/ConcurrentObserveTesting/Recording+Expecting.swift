// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
public import Testing

extension Recording {
    /// Returns the next event. Suspends until there is one.
    ///
    /// - Parameters:
    ///   - limit: The longest time to wait.
    ///   - clock: The clock that measures the limit.
    ///   - sourceLocation: The place where an issue is recorded. Leave it out.
    /// - Throws: An error that fails the test, if no event comes within the limit, or the
    ///   observation ends. `CancellationError` if the task is cancelled.
    @discardableResult
    public func next(
        within limit: Duration = .seconds(10),
        clock: some Clock<Duration> = ContinuousClock(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Element {
        try await events.wait(limit, clock) { !$0.unread.isEmpty || $0.hasEnded }
        let nextEvent = events.update { $0.take(1) }.first
        return try #require(nextEvent, "\(reason(limit))", sourceLocation: sourceLocation)
    }

    /// Expects the next events to equal these. Suspends until as many events were delivered. Later
    /// events stay for the next expectation.
    ///
    /// - Parameters:
    ///   - expected: The events, in the order of arrival.
    ///   - limit: The longest time to wait for all of them.
    ///   - clock: The clock that measures the limit.
    ///   - sourceLocation: The place where an issue is recorded. Leave it out.
    /// - Throws: An error that fails the test, if other events come, or too few within the limit.
    ///   The issue shows the difference, with a line for each event. `CancellationError` if the
    ///   task is cancelled.
    public func expect(
        _ expected: [Element],
        within limit: Duration = .seconds(10),
        clock: some Clock<Duration> = ContinuousClock(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws where Element: Equatable {
        try await expect(expected, within: limit, clock: clock, sourceLocation: sourceLocation, by: ==)
    }

    /// Expects the next changes to have these new values. Suspends until as many changes were
    /// delivered. Later changes stay for the next expectation.
    ///
    /// - Parameters:
    ///   - expected: The new values, in the order of arrival.
    ///   - limit: The longest time to wait for all of them.
    ///   - clock: The clock that measures the limit.
    ///   - sourceLocation: The place where an issue is recorded. Leave it out.
    /// - Throws: An error that fails the test, if other values come, or too few within the limit.
    ///   The issue shows the difference. The line of a change has its reason, its old value and its
    ///   version. `CancellationError` if the task is cancelled.
    public func expect<Value: Equatable>(
        _ expected: [Value],
        within limit: Duration = .seconds(10),
        clock: some Clock<Duration> = ContinuousClock(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws where Element == Change<Value> {
        try await expect(expected, within: limit, clock: clock, sourceLocation: sourceLocation) { $0.new == $1 }
    }

    /// Expects the next events to match these. Suspends until as many events were delivered. Use it
    /// for events that are not `Equatable`, such as the values of a group.
    ///
    /// - Parameters:
    ///   - expected: One value for each event, in the order of arrival. `matches` compares an event
    ///     with its value.
    ///   - limit: The longest time to wait for all of them.
    ///   - clock: The clock that measures the limit.
    ///   - sourceLocation: The place where an issue is recorded. Leave it out.
    ///   - matches: Returns whether an event is as expected. Called under no lock.
    /// - Throws: An error that fails the test, if an event does not match, or too few events come
    ///   within the limit. The issue shows the difference. `CancellationError` if the task is
    ///   cancelled.
    public func expect<Expected: Sendable>(
        _ expected: [Expected],
        within limit: Duration = .seconds(10),
        clock: some Clock<Duration> = ContinuousClock(),
        sourceLocation: SourceLocation = #_sourceLocation,
        by matches: (Element, Expected) -> Bool
    ) async throws {
        let count = expected.count
        try await events.wait(limit, clock) { $0.unread.count >= count || $0.hasEnded }
        let received = events.update { $0.take(count) }
        let difference = Difference(of: received, from: expected, by: matches)
        let isAsExpected = difference.isEmpty
        if !isAsExpected { ignoreRest() }
        let missing = received.count < count ? "\n\(reason(limit))" : ""
        try #require(isAsExpected, "\(difference.text)\(missing)", sourceLocation: sourceLocation)
    }

    /// Expects that there is no unread event. It does not wait. If events are delivered on other
    /// threads or tasks, call `whenQuiet()` first.
    ///
    /// - Parameter sourceLocation: The place where an issue is recorded. Leave it out.
    /// - Throws: An error that fails the test, if there is an unread event.
    public func expectNoEvents(sourceLocation: SourceLocation = #_sourceLocation) throws {
        let unread = events.update { $0.take($0.unread.count) }
        let hasNoEvents = unread.isEmpty
        let text = unread.map { "+ \(described($0))" }.joined(separator: "\n")
        try #require(hasNoEvents, "delivered, and not expected:\n\(text)", sourceLocation: sourceLocation)
    }

    /// Expects the observation to end without another event. Suspends until it ends.
    ///
    /// - Parameters:
    ///   - limit: The longest time to wait.
    ///   - clock: The clock that measures the limit.
    ///   - sourceLocation: The place where an issue is recorded. Leave it out.
    /// - Returns: The reason why the observation has ended; nil for a sequence.
    /// - Throws: An error that fails the test, if the observation does not end within the limit, or
    ///   there is an unread event. `CancellationError` if the task is cancelled.
    @discardableResult
    public func expectEnd(
        within limit: Duration = .seconds(10),
        clock: some Clock<Duration> = ContinuousClock(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> ObservationEnd? {
        try await events.wait(limit, clock) { $0.hasEnded || !$0.unread.isEmpty }
        try expectNoEvents(sourceLocation: sourceLocation)
        let (hasEnded, end) = events.update { ($0.hasEnded, $0.end) }
        try #require(hasEnded, "the observation goes on after \(limit)", sourceLocation: sourceLocation)
        return end
    }

    /// Returns the reason why no event comes, as a text.
    private func reason(_ limit: Duration) -> String {
        let (hasEnded, end) = events.update { ($0.hasEnded, $0.end) }
        guard hasEnded else { return "no event came within \(limit)" }
        return "no event comes any more: the \(end.map { "observation has ended, \($0)" } ?? "sequence has ended")"
    }
}
