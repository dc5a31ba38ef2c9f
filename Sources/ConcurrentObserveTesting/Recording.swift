// SPDX-License-Identifier: Apache-2.0

// A recording is an observation whose closure appends each event to a list. The test takes events
// from the front of the list and says what they must be: `next()`, `expect(_:)`. A failed
// expectation is an issue of the running test, at the line of the call, and ends the test. Events
// that are left when the recording is released are an issue at the line of `record()`.

public import ConcurrentObserve
import Testing

/// Records what an observation delivers, for a test to expect.
///
/// ```swift
/// let recording = car.mileage.record()
/// car.mileage.value = 1
/// car.mileage.value = 2
/// try await recording.expect([1, 2])
/// try recording.expectNoEvents()
/// ```
///
/// Each event is expected once, in the order of arrival. An event that is left when the recording
/// is released fails the test. The observation ends with the recording. Any thread may use it.
public final class Recording<Element: Sendable>: Sendable {
    let events: Awaited<RecordedEvents<Element>>
    private let sourceLocation: SourceLocation
    private let stop: @Sendable () -> Void

    /// The token of the observation, for its label, its counts and its end; nil if a sequence is
    /// recorded. Releasing it does not end the observation.
    public let token: ObservationToken?

    init(
        _ events: Awaited<RecordedEvents<Element>>,
        _ token: ObservationToken?,
        _ sourceLocation: SourceLocation,
        stop: @escaping @Sendable () -> Void
    ) {
        (self.events, self.token, self.sourceLocation, self.stop) = (events, token, sourceLocation, stop)
    }

    deinit {
        stop()
        let left = events.update { $0.mayBeLeft ? [] : $0.unread }
        if left.isEmpty { return }
        let lines = left.map { "+ \(described($0))" }
        let text = (["\(left.count) events were delivered and not expected:"] + lines).joined(separator: "\n")
        Issue.record(Comment(rawValue: text), sourceLocation: sourceLocation)
    }

    /// The events that were delivered and not expected yet.
    public var unreadEvents: [Element] { events.update(\.unread) }

    /// Accepts all events that were not expected, and those that still come.
    public func ignoreRest() { events.update { $0.mayBeLeft = true } }
}

/// The events that a recording has received, and its end.
struct RecordedEvents<Element: Sendable>: Sendable {
    /// The events that were not expected yet.
    var unread: [Element] = []
    /// Whether no event comes any more.
    var hasEnded = false
    /// The reason why the observation has ended; nil for a sequence.
    var end: ObservationEnd?
    /// Whether unread events cause no issue, because the test ignores them or has failed.
    var mayBeLeft = false

    /// Takes out up to `count` events.
    mutating func take(_ count: Int) -> [Element] {
        defer { unread.removeFirst(min(count, unread.count)) }
        return Array(unread.prefix(count))
    }
}
