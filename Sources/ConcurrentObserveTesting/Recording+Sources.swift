// SPDX-License-Identifier: Apache-2.0

public import ConcurrentObserve
public import Testing

extension ObservableProperty {
    /// Records the changes that begin after this call returned, of a property, a path, a group or a
    /// derived value.
    ///
    /// - Parameters:
    ///   - options: The events to record in addition to the changes: `.initial`, `.prior`.
    ///   - delivery: Where the changes are recorded. On several threads they are recorded in the
    ///     order of arrival.
    ///   - sourceLocation: Where an issue is recorded if events are left. Leave it out.
    /// - Returns: The recording, which keeps the observation going.
    public func record(
        options: ObservationOptions = [],
        delivery: Delivery = .inline,
        sourceLocation: SourceLocation = #_sourceLocation
    ) -> Recording<Change<Value>> {
        let events = Awaited(RecordedEvents<Change<Value>>())
        let token = observe(options: options, delivery: delivery) { (change: Change<Value>) in
            events.update { $0.unread.append(change) }
        }
        return Recording(events, token, sourceLocation)
    }
}

extension ObserverRegistry {
    /// Records the events whose notification begins after this call returned.
    ///
    /// - Parameters:
    ///   - delivery: Where the events are recorded. On several threads they are recorded in the
    ///     order of arrival.
    ///   - sourceLocation: Where an issue is recorded if events are left. Leave it out.
    /// - Returns: The recording, which keeps the observation going.
    public func record(
        delivery: Delivery = .inline,
        sourceLocation: SourceLocation = #_sourceLocation
    ) -> Recording<Event> {
        let events = Awaited(RecordedEvents<Event>())
        let token = observe(delivery: delivery) { (event: Event) in events.update { $0.unread.append(event) } }
        return Recording(events, token, sourceLocation)
    }
}

extension ObservationSequence {
    /// Records the elements of a new iterator, which begins before this returns. A task iterates.
    ///
    /// - Parameter sourceLocation: Where an issue is recorded if elements are left. Leave it out.
    /// - Returns: The recording, which keeps the iteration going.
    public func record(sourceLocation: SourceLocation = #_sourceLocation) -> Recording<Element> {
        let events = Awaited(RecordedEvents<Element>())
        // Safe: from here on only the task uses the iterator.
        nonisolated(unsafe) var iterator = makeAsyncIterator()
        let task = Task {
            while let element = unsafe await iterator.next() { events.update { $0.unread.append(element) } }
            events.update { $0.hasEnded = true }
        }
        return Recording(events, nil, sourceLocation) { task.cancel() }
    }
}

extension Recording {
    /// Makes a recording of an observation. The recording notes when the observation ends, and
    /// cancels the observation when it is released itself.
    fileprivate convenience init(
        _ events: Awaited<RecordedEvents<Element>>,
        _ token: ObservationToken,
        _ sourceLocation: SourceLocation
    ) {
        token.onEnd { end in events.update { ($0.hasEnded, $0.end) = (true, end) } }
        self.init(events, token, sourceLocation) { token.cancel() }
    }
}
