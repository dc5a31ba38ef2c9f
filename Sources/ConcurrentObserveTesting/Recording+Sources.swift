// SPDX-License-Identifier: Apache-2.0

public import ConcurrentObserve
public import Testing

extension ObservableProperty {
    /// Records the changes of a property, a path, a group or a derived value that begin after this
    /// call has returned.
    ///
    /// - Parameters:
    ///   - options: The events to record in addition to the changes: `.initial`, `.prior`.
    ///   - delivery: The place where the changes are recorded. If several threads deliver, changes
    ///     are recorded in the order of arrival.
    ///   - sourceLocation: The place where an issue is recorded if events are left. Leave it out.
    /// - Returns: The recording, which keeps the observation active.
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
    /// Records the events whose notification begins after this call has returned.
    ///
    /// - Parameters:
    ///   - delivery: The place where the events are recorded. If several threads deliver, events
    ///     are recorded in the order of arrival.
    ///   - sourceLocation: The place where an issue is recorded if events are left. Leave it out.
    /// - Returns: The recording, which keeps the observation active.
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
    /// Records the elements of a new iterator. The iterator begins before this call returns. A task
    /// reads it.
    ///
    /// - Parameter sourceLocation: The place where an issue is recorded if elements are left. Leave
    ///   it out.
    /// - Returns: The recording, which keeps the iteration active.
    public func record(sourceLocation: SourceLocation = #_sourceLocation) -> Recording<Element> {
        let events = Awaited(RecordedEvents<Element>())
        // Safe: from now on, only the task uses the iterator.
        nonisolated(unsafe) var iterator = makeAsyncIterator()
        let task = Task {
            while let element = unsafe await iterator.next() { events.update { $0.unread.append(element) } }
            events.update { $0.hasEnded = true }
        }
        return Recording(events, nil, sourceLocation) { task.cancel() }
    }
}

extension Recording {
    /// Makes a recording of an observation. The recording notes the end of the observation. When
    /// the recording is released, it cancels the observation.
    fileprivate convenience init(
        _ events: Awaited<RecordedEvents<Element>>,
        _ token: ObservationToken,
        _ sourceLocation: SourceLocation
    ) {
        token.onEnd { end in events.update { ($0.hasEnded, $0.end) = (true, end) } }
        self.init(events, token, sourceLocation) { token.cancel() }
    }
}
