// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

/// An observer that records the events that it receives, and their threads. It counts the callbacks
/// that overlap, and blocks at one number until the test releases it.
final class Audience: Sendable {
    private let log = Log<ReceivedEvent>()
    private let threads = Log<Int>()
    private let inside = Counter()
    private let overlapping = Counter()
    private let entered = Signal("the callback")
    private let exit = Signal("the callback's release")
    private let hasLeft = Flag()
    private let endLog = Log<String>()

    /// The number at which it blocks. Tests send it for no other purpose.
    static let blockingNumber = -1

    /// Makes an audience.
    ///
    /// - Parameter blocks: Whether it blocks at `blockingNumber`.
    init(blocks: Bool = true) {
        if !blocks { hasLeft.set() }
    }

    var received: [ReceivedEvent] { log.entries }
    var count: Int { log.count }
    var numbers: [Int] { received.map(\.number) }
    /// The threads of the callbacks, in order.
    var callbackThreads: [Int] { threads.entries }
    /// The number of callbacks that began while another one was running.
    var overlaps: Int { overlapping.value }
    var isInside: Bool { inside.value > 0 }
    /// The ends of observations. Each has the number of callbacks before it, and whether one was
    /// running.
    var ends: [String] { endLog.entries }

    func receive(_ received: ReceivedEvent) {
        if inside.increment() > 1 { overlapping.increment() }
        log.append(received)
        threads.append(threadNumber())
        if received.number == Self.blockingNumber, !hasLeft.isSet {
            entered.happen()
            exit.hold()
            hasLeft.set()
        }
        inside.add(-1)
    }

    /// Records the end of the observation, too.
    func receiveEnd(of token: ObservationToken) {
        token.onEnd { end in
            self.endLog.append("\(end) after \(self.count)\(self.isInside ? ", inside one" : "")")
        }
    }

    /// Waits for the end of an observation, and expects that it came once, and after the last
    /// callback. (P12)
    func expectEnd(_ end: ObservationEnd, sourceLocation: SourceLocation = #_sourceLocation) throws {
        try eventually("the end") { !self.ends.isEmpty }
        #expect(ends == ["\(end) after \(count)"], sourceLocation: sourceLocation)
    }

    /// Makes a change that blocks the callback, on its own thread. Returns when the callback
    /// blocks.
    func block(by stage: Stage) throws -> TestThread {
        let thread = TestThread { stage.send(Self.blockingNumber) }
        try entered.wait()
        return thread
    }

    /// Waits until the callback blocks.
    func waitUntilBlocked() throws { try entered.wait() }

    /// Lets the blocked callback return.
    func release() { exit.happen() }

    /// Waits until this number of events has been delivered.
    func wait(for count: Int) throws {
        try eventually("\(count) events instead of \(self.count)") { self.count >= count }
    }

    /// Waits until every event that was sent to the observation is dropped or delivered. An event
    /// counts as received when its callback begins.
    func waitUntilIdle(_ token: ObservationToken) throws {
        try token.waitUntilIdle()
        try wait(for: Int(token.counts.received))
        try eventually("the end of the last callback") { !isInside }
    }

    /// Descriptions of mistakes in the changes: versions that are not consecutive, and old values
    /// that differ from the new value before. (P2, P4)
    var mistakes: [String] {
        var mistakes: [String] = []
        let changes = received.filter { $0.kind == .initial || $0.kind == .change }
        for (before, after) in zip(changes, changes.dropFirst()) {
            if after.version != before.version + 1 { mistakes.append("after @\(before.version): \(after)") }
            if let old = after.old, old != before.number { mistakes.append("after \(before): \(after)") }
        }
        return mistakes
    }
}

extension ObservationToken {
    /// The counts of a delivery that is not inline.
    var counts: DeliveryCounts { deliveryCounts! }

    /// Waits until nothing is pending.
    func waitUntilIdle() throws { try eventually("\(counts) to be all delivered") { counts.pending == 0 } }
}

extension DeliveryCounts {
    /// The numbers of sent, received and dropped events.
    var parts: [UInt64] { [sent, received, dropped] }
}
