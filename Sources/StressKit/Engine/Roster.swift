// SPDX-License-Identifier: Apache-2.0

/// The threads of the present round. Reports of failures, and the samples of a run, find them here.
package final class Roster: Sendable {
    package static let shared = Roster()

    private let enlisted = Guarded<[Worker]>([])

    package var workers: [Worker] { enlisted.withLock { $0 } }

    package func enlist(_ workers: [Worker]) { enlisted.withLock { $0 = workers } }

    /// Returns the last events before `now`, in the order in which they began. Has more events of
    /// `worker` than of the other threads.
    package func timeline(of worker: Worker? = nil, before now: UInt64) -> [Event] {
        let present = workers
        let others = max(2, 24 / max(1, present.count))
        var events = present.flatMap { $0.lastEvents($0 === worker ? 16 : others, before: now) }
        if let worker, !present.contains(where: { $0 === worker }) { events += worker.lastEvents(16, before: now) }
        return events.enumerated()
            .sorted { ($1.element.microsecondsBefore, $0.offset) < ($0.element.microsecondsBefore, $1.offset) }
            .map(\.element)
    }
}

extension [Event] {
    /// The events as text for the terminal, one line for each.
    package var text: String {
        map { event in
            let time = "-\(event.microsecondsBefore) µs"
            let thread = "thread \(event.thread)"
            return "    \(time.leftPadded(14))  \(thread.leftPadded(10))  \(event.text)"
        }.joined(separator: "\n")
    }
}

extension String {
    package func leftPadded(_ width: Int) -> String {
        String(repeating: " ", count: Swift.max(0, width - count)) + self
    }
}
