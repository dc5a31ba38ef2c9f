// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

extension Scenario {
    /// Changes come faster than observers receive them, under each policy. Dropped changes are
    /// counted, and the policy decides which changes are kept.
    static let flood = Scenario(
        name: "flood",
        summary:
            "more changes than observers can receive, under each policy: all are received or counted as dropped, in order",
        invariants: [
            "P1.nothing-dropped", "P1.capacity", "P1.kept-as-asked", "P2.whole-value", "P3.last-value",
            "P5.no-lock-around-user-code", "P12.end-delivered", "P14.not-while-read",
        ] + checkedByWitnesses + checkedAtRest,
        windows: [
            "the latest was replaced", "an oldest was dropped", "a newest was dropped", "none was dropped",
            "a buffer was full",
        ],
        leastThreads: 4
    ) { round in
        var property: Observed<TrackedValue>? = Observed(TrackedValue(serial: 0))
        let listeners = FloodListener.all(round, property!)
        change(property!, under: round, listeners)

        for listener in listeners { listener.checkRest(round, property!) }
        property = nil
        for listener in listeners { listener.checkEnd(round) }
        checkPolicies(round)
        round.checkRest()
    }
}

private func change(_ property: Observed<TrackedValue>, under round: Round, _ listeners: [FloodListener]) {
    round.load { worker in
        worker.begin("set")
        for _ in 0..<32 { property.value = TrackedValue(serial: worker.uniqueSerial()) }
        worker.begin("modify")
        let value = TrackedValue(serial: worker.uniqueSerial())
        property.modify { draft in
            // No other change is enqueued while the body runs.
            for listener in listeners { listener.checkCapacity(worker) }
            draft = value
        }
        worker.begin("wait for the unbounded")
        for listener in listeners { listener.keepPace(worker) }
    }
}

/// An observer with one policy and one kind of delivery.
private struct FloodListener: Sendable {
    private let buffering: Buffering
    private let follower: Follower
    private let hasInitial: Bool

    /// Makes an observer for each policy. The round's seed chooses its kind of delivery.
    static func all(_ round: Round, _ property: Observed<TrackedValue>) -> [FloodListener] {
        var generator = Generator(seed: round.seed, stream: 0xF100D)
        let policies: [Buffering] = [
            .unbounded, .latest, .droppingOldest(1 + generator.below(16)), .droppingNewest(1 + generator.below(16)),
        ]
        let ways: [OrderedDelivery] = [.stage(.forFloods), .serial, .globalQueue, .isolated]
        return policies.map { FloodListener(round, property, $0, ways[generator.below(4)], generator.oneIn(2)) }
    }

    init(
        _ round: Round,
        _ property: Observed<TrackedValue>,
        _ buffering: Buffering,
        _ delivery: OrderedDelivery,
        _ hasInitial: Bool
    ) {
        (self.buffering, self.hasInitial) = (buffering, hasInitial)
        let options: ObservationOptions = hasInitial ? .initial : []
        let name = "\(buffering)"
        follower = delivery.follow(property, name, round, options: options, buffering: buffering) { change, witness in
            if let old = change.old { witness.check(old, "while a callback uses it as the old value") }
            witness.check(change.new, "while a callback uses it")
            // It is slow sometimes, so that other changes arrive.
            if change.version & 63 == 0 { usleep(100) }
        }
    }

    /// The number of changes that may wait; nil if there is no limit.
    private var capacity: UInt64? {
        switch buffering {
        case .unbounded: nil
        case .latest: 1
        case .droppingOldest(let capacity), .droppingNewest(let capacity): UInt64(capacity)
        }
    }

    /// Checks that at most one change more is pending than the policy allows: it may be on its way
    /// out of the buffer. No change may be enqueued at the same time.
    func checkCapacity(_ worker: Worker) {
        let counts = follower.counts
        guard let capacity else {
            worker.check(counts.dropped == 0, "P1.nothing-dropped", "an unbounded buffer dropped \(counts.dropped)")
            return
        }
        worker.check(counts.pending <= capacity + 1, "P1.capacity", "\(buffering): \(counts.pending) are pending")
        if counts.pending >= capacity { worker.hit(4) }
    }

    /// Waits for an observer that drops nothing.
    func keepPace(_ worker: Worker) { if capacity == nil { worker.holdBack(follower.token) } }

    func checkRest(_ round: Round, _ property: Observed<TrackedValue>) {
        guard round.violations.isEmpty else { return }
        let counts = follower.settle(round)
        let (value, version) = property.snapshot()
        let areSent = counts.sent == version + (hasInitial ? 1 : 0)
        round.check(areSent, "P1.counts-add-up", "\(buffering): \(counts), the version is \(version)")
        let worker = round.workers[0]
        switch buffering {
        case .unbounded:
            round.check(counts.dropped == 0, "P1.nothing-dropped", "an unbounded buffer dropped \(counts.dropped)")
            worker.hit(3)
        case .latest: if counts.dropped > 0 { worker.hit(0) }
        case .droppingOldest: if counts.dropped > 0 { worker.hit(1) }
        case .droppingNewest:
            if counts.dropped > 0 { worker.hit(2) }
            return
        }
        // On a busy machine a round may end before the first change.
        let (last, new) = (follower.witness.last?.version ?? 0, follower.witness.last?.new ?? 0)
        let isLast = last == version && new == value.serial
        round.check(isLast, "P3.last-value", "\(buffering): \(last) was last, the version is \(version)")
    }

    func checkEnd(_ round: Round) {
        guard round.violations.isEmpty else { return }
        follower.checkEnd(round)
    }
}

extension Stage {
    /// An actor that exists as long as the process.
    fileprivate static let forFloods = Stage()
}

// MARK: - To the letter

/// Checks with a suspended queue what each policy keeps, including the end, and that dropped
/// changes are destroyed under no lock.
private func checkPolicies(_ round: Round) {
    guard round.violations.isEmpty else { return }
    let kept: [(Buffering, [UInt64])] = [
        (.unbounded, Array(1...9)), (.latest, [9]), (.droppingOldest(3), [7, 8, 9]), (.droppingNewest(3), [1, 2, 3]),
    ]
    for (buffering, expected) in kept {
        let queue = DispatchQueue(label: "stress.standstill")
        queue.suspend()
        let (received, ends) = (Record<UInt64>(), Tally())
        let token = observeAndFlood(round, queue, buffering) { change in received.note(change.version) }
        token.onEnd { end in if end == .sourceDeleted { ends.increment() } }
        // The property is gone: the end is now in the mailbox, if it will ever be.
        round.drain()
        let waiting = token.deliveryCounts!
        let areKept = waiting.received == 0 && waiting.pending == expected.count && waiting.sent == 9
        round.check(areKept, "P1.capacity", "\(buffering): \(waiting) after nine changes")
        queue.resume()
        _ = waitWhileMoving { !token.isActive && ends.value > 0 }
        queue.sync {}
        let (versions, endCount) = (received.all, ends.value)
        round.check(versions == expected, "P1.kept-as-asked", "\(buffering) kept \(versions) of 1 to 9")
        round.check(endCount == 1, "P12.end-delivered", "\(buffering): the end was delivered \(endCount) times")
        let counts = token.deliveryCounts!
        let areReceived = counts.pending == 0 && counts.received == expected.count
        round.check(areReceived, "P1.counts-add-up", "\(buffering): \(counts)")
    }
}

/// Makes nine changes of a property, and then releases the property.
private func observeAndFlood(
    _ round: Round,
    _ queue: DispatchQueue,
    _ buffering: Buffering,
    _ receive: @escaping @Sendable (Change<TrackedValue>) -> Void
) -> ObservationToken {
    let property = Observed(TrackedValue(serial: 0))
    let token = property.observe(delivery: .queue(queue, buffering: buffering), receive)
    for serial in 1...9 as ClosedRange<UInt64> {
        property.value = TrackedValue(serial: serial)
        // Afterwards no other thread has the replaced value.
        round.drain()
    }
    return token
}
