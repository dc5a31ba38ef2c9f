// SPDX-License-Identifier: Apache-2.0

// A recording is an observation whose closure appends each event to a list. The test takes events
// from the front of the list, and states the expected ones: `next()`, `expect(_:)`. If an
// expectation fails, an issue is recorded at the line of the call, and the test ends. If events are
// left when the recording is released, an issue is recorded at the line of `record()`.

public import ConcurrentObserve
import Testing

/// Records the events that an observation delivers. A test states which events it expects.
///
/// ```swift
/// let recording = car.mileage.record()
/// car.mileage.value = 1
/// car.mileage.value = 2
/// try await recording.expect([1, 2])
/// try recording.expectNoEvents()
/// ```
///
/// Each event is expected once, in the order of arrival. If an event is left when the recording is
/// released, the test fails. The observation ends with the recording. Any thread may use the
/// recording.
public final class Recording<Element: Sendable>: Sendable {
    let events: Awaited<RecordedEvents<Element>>
    private let sourceLocation: SourceLocation
    private let stop: @Sendable () -> Void

    /// The token of the observation, with its label, its counts and its end; nil if a sequence is
    /// recorded. If you release the token, the observation does not end.
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

    /// The events that were delivered, and that no expectation has taken yet.
    public var unreadEvents: [Element] { events.update(\.unread) }

    /// Ignores all unread events, and all later ones.
    public func ignoreRest() { events.update { $0.mayBeLeft = true } }
}

/// The events that a recording has received, and the end of the observation.
struct RecordedEvents<Element: Sendable>: Sendable {
    /// The events that no expectation has taken yet.
    var unread: [Element] = []
    /// Whether no more events will come.
    var hasEnded = false
    /// The reason why the observation has ended; nil for a sequence.
    var end: ObservationEnd?
    /// Whether unread events cause no issue, because the test ignores them or has failed.
    var mayBeLeft = false

    /// Removes up to `count` events from the front, and returns them.
    mutating func take(_ count: Int) -> [Element] {
        defer { unread.removeFirst(min(count, unread.count)) }
        return Array(unread.prefix(count))
    }
}
