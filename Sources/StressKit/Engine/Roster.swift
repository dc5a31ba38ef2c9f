// SPDX-License-Identifier: Apache-2.0

/// The threads of the round that runs: failure reports and the drawing of the run's course read
/// them here.
package final class Roster: Sendable {
    package static let shared = Roster()

    private let enlisted = Guarded<[Worker]>([])

    package var workers: [Worker] { enlisted.withLock { $0 } }

    package func enlist(_ workers: [Worker]) { enlisted.withLock { $0 = workers } }

    /// The last events before `now`, of one thread more than of the others, in the order in which
    /// they began.
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
    /// A line for each, for the terminal.
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
