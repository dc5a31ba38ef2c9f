// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve

extension Stage {
    /// The numbers as an asynchronous sequence. If the stage has a registry, these are its events.
    func numbers(options: ObservationOptions = [], buffering: Buffering = .unbounded) -> ObservationSequence<Int> {
        if let registry = registry.value { return registry.events(buffering: buffering) }
        return observed.values(options: options, buffering: buffering)
    }

    /// The changes as an asynchronous sequence. A stage with a registry has none.
    func changes(
        options: ObservationOptions = [],
        buffering: Buffering = .unbounded
    ) -> ObservationSequence<Change<Int>> {
        observed.changes(options: options, buffering: buffering)
    }
}

extension ObservationSequence._Iterator {
    /// Returns the next `count` elements, or fewer if the sequence ends.
    mutating func next(_ count: Int) async -> [Element] {
        var elements: [Element] = []
        while elements.count < count, let element = await next() { elements.append(element) }
        return elements
    }

    /// Returns all elements until the end.
    mutating func rest() async -> [Element] { await next(.max) }
}

/// A task that iterates over a sequence, and records its elements.
final class Consumer<Element: Sendable>: Sendable {
    private let log = Log<Element>()
    private let hasEnded = Flag()
    private let task: Task<Void, Never>

    /// Returns when the task has made its iterator, so that it misses no later event.
    init(_ sequence: ObservationSequence<Element>) throws {
        let isReady = Signal("an iterator")
        task = Task.detached { [log, hasEnded] in
            var iterator = sequence.makeAsyncIterator()
            isReady.happen()
            while let element = await iterator.next() { log.append(element) }
            // A sequence that has ended must stay ended.
            if await iterator.next() == nil { hasEnded.set() }
        }
        try isReady.wait()
    }

    var elements: [Element] { log.entries }
    var isOver: Bool { hasEnded.isSet }

    func cancel() { task.cancel() }

    /// Waits for the end of the sequence.
    func wait() async throws { try await eventuallyAsync("the end of a sequence") { isOver } }
}
