// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StressKit

/// A bound against the clock distinguishes a starved thread from a slow one.
@Suite("Bounds against the clock")
struct TimedBoundTests {
    private let limit: UInt64 = 1_000_000
    private var bound: TimedBound { TimedBound("P14.prompt", limit: limit, window: 0) }

    @Test("A bound without a measurement has no verdict")
    func empty() { #expect(bound.verdict == nil) }

    @Test("The bound holds if half of the times are below it, however late the rest is")
    func prompt() {
        let bound = bound
        for _ in 0..<5 { bound.record(limit / 2, inLine: 0) }
        for _ in 0..<5 { bound.record(limit * 100 * Sanitizer.slowdown, inLine: 0) }
        #expect(bound.verdict == .holds)
    }

    @Test("A thread that is late while it runs is slow, even if it also waited for a processor")
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

    @Test("A thread that is late only because it waited for a processor is starved: the round does not judge")
    func starved() {
        let bound = bound
        let late = limit * 8 * Sanitizer.slowdown
        for _ in 0..<5 { bound.record(late, inLine: late) }
        #expect(bound.verdict == .starved)
    }

    @Test("The time that a thread waits for a processor is measured")
    func queueTime() {
        // 64 threads keep the processors of most machines busy, so some of them wait.
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
