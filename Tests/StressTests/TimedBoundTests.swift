// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import stress

/// A bound against the clock distinguishes a starved thread from a slow one.
@Suite("Bounds against the clock")
struct TimedBoundTests {
    private let limit: UInt64 = 1_000_000
    private var bound: TimedBound { TimedBound("P14.prompt", limit: limit, window: 0) }

    @Test("Nothing is said of nothing")
    func empty() { #expect(bound.verdict == nil) }

    @Test("Half below the limit is enough, however late the rest")
    func prompt() {
        let bound = bound
        for _ in 0..<5 { bound.record(limit / 2, inLine: 0) }
        for _ in 0..<5 { bound.record(limit * 100 * Sanitizer.slowdown, inLine: 0) }
        #expect(bound.verdict == .holds)
    }

    @Test("Late on a processor is slow, though the threads stood in line, too")
    func slow() throws {
        let bound = bound
        let late = limit * 8 * Sanitizer.slowdown
        for _ in 0..<5 { bound.record(late, inLine: late / 2) }
        guard case .slow(let own) = try #require(bound.verdict) else {
            Issue.record("\(bound.verdict!)")
            return
        }
        #expect(own >= late / 2 && own < late)
    }

    @Test("Late only with the time in line is starved: the round does not judge")
    func starved() {
        let bound = bound
        let late = limit * 8 * Sanitizer.slowdown
        for _ in 0..<5 { bound.record(late, inLine: late) }
        #expect(bound.verdict == .starved)
    }

    @Test("A thread that stands in line for a processor is seen to")
    func queueTime() {
        // As many threads as this keep any machine's processors busy: some of them wait.
        let waits = Guarded<[UInt64]>([])
        concurrently(64) { _ in
            let before = QueueTimes.own
            spin(nanoseconds: 100_000_000)
            let wait = QueueTimes.own - before
            waits.withLock { $0.append(wait) }
        }
        #expect(waits.withLock { $0.contains { $0 > 0 } })
    }
}
