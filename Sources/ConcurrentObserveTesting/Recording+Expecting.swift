// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
public import Testing

extension Recording {
    /// Returns the next event. Suspends until there is one.
    ///
    /// - Parameters:
    ///   - limit: How long to wait.
    ///   - clock: The clock that measures the limit.
    ///   - sourceLocation: Where an issue is recorded. Leave it out.
    /// - Throws: If no event comes within the limit, or the observation ends: the test has failed.
    ///   `CancellationError` once the task is cancelled.
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

    /// Expects the next events to be these. Suspends until as many were delivered. Events that come
    /// after them are left for the next expectation.
    ///
    /// - Parameters:
    ///   - expected: The events, in the order of arrival.
    ///   - limit: How long to wait for all of them.
    ///   - clock: The clock that measures the limit.
    ///   - sourceLocation: Where an issue is recorded. Leave it out.
    /// - Throws: If the events are others, or do not come within the limit: the test has failed,
    ///   and the issue has the difference, a line for each event. `CancellationError` once the task
    ///   is cancelled.
    public func expect(
        _ expected: [Element],
        within limit: Duration = .seconds(10),
        clock: some Clock<Duration> = ContinuousClock(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws where Element: Equatable {
        try await expect(expected, within: limit, clock: clock, sourceLocation: sourceLocation, by: ==)
    }

    /// Expects the next changes to have these new values. Suspends until as many were delivered.
    /// Changes that come after them are left for the next expectation.
    ///
    /// - Parameters:
    ///   - expected: The new values, in the order of arrival.
    ///   - limit: How long to wait for all of them.
    ///   - clock: The clock that measures the limit.
    ///   - sourceLocation: Where an issue is recorded. Leave it out.
    /// - Throws: If the values are others, or do not come within the limit: the test has failed,
    ///   and the issue has the difference, a line for each change with its reason, its old value
    ///   and its version. `CancellationError` once the task is cancelled.
    public func expect<Value: Equatable>(
        _ expected: [Value],
        within limit: Duration = .seconds(10),
        clock: some Clock<Duration> = ContinuousClock(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws where Element == Change<Value> {
        try await expect(expected, within: limit, clock: clock, sourceLocation: sourceLocation) { $0.new == $1 }
    }

    /// Expects the next events to match these. Use it for events that are not `Equatable`, such as
    /// the values of a group. Suspends until as many events were delivered.
    ///
    /// - Parameters:
    ///   - expected: One value for each event, in the order of arrival. `matches` compares the two.
    ///   - limit: How long to wait for all of them.
    ///   - clock: The clock that measures the limit.
    ///   - sourceLocation: Where an issue is recorded. Leave it out.
    ///   - matches: Returns whether an event is as expected. Called under no lock.
    /// - Throws: If the events do not match, or do not come within the limit: the test has failed,
    ///   and the issue has the difference. `CancellationError` once the task is cancelled.
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

    /// Expects that no event is left. It does not wait: where events are delivered elsewhere, call
    /// `whenQuiet()` before.
    ///
    /// - Parameter sourceLocation: Where an issue is recorded. Leave it out.
    /// - Throws: If an event is left: the test has failed.
    public func expectNoEvents(sourceLocation: SourceLocation = #_sourceLocation) throws {
        let unread = events.update { $0.take($0.unread.count) }
        let hasNoEvents = unread.isEmpty
        let text = unread.map { "+ \(described($0))" }.joined(separator: "\n")
        try #require(hasNoEvents, "delivered, and not expected:\n\(text)", sourceLocation: sourceLocation)
    }

    /// Expects the observation to end without another event. Suspends until it does.
    ///
    /// - Parameters:
    ///   - limit: How long to wait.
    ///   - clock: The clock that measures the limit.
    ///   - sourceLocation: Where an issue is recorded. Leave it out.
    /// - Returns: Why it has ended; nil for a sequence.
    /// - Throws: If it does not end within the limit, or an event is left: the test has failed.
    ///   `CancellationError` once the task is cancelled.
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
