// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

extension Scenario {
    /// A serial observer's callback blocks now and then until others have made so many changes: that they can make them is the point.
    static let serialHandover = Scenario(
        name: "serial-handover",
        summary: "a serial observer blocks until others have made changes: nobody waits for it, and it misses none",
        invariants: [
            "P1.ordered-once", "P1.counts-add-up", "P2.one-at-a-time", "P2.ordered", "P2.ordered-chain",
            "P3.last-value",
            "P4.initial-first", "P5.no-lock-around-user-code", "P7.no-setter-waits", "P12.end-last",
            "P14.nothing-left", "P16.backlog-drains",
        ],
        windows: [
            "changes were made while a writer delivered", "changes were made while the library delivered",
            "a writer delivered another's change",
        ],
        leastThreads: 3
    ) { epoch in
        let property = Observed<UInt64>(0)
        let witness = OrderedWitness("a serial observer", epoch)
        let traffic = Traffic(epoch.threads)
        let token = property.observe(delivery: .serial()) { change in
            witness.hear(.init(change) { $0 }) { traffic.hold(change, epoch, witness) }
        }
        witness.listen(to: token)

        epoch.load { lane in
            lane.begin("set")
            let number = lane.uniqueSerial()
            traffic.begin(lane, number)
            property.value = number
            traffic.end(lane)
            // Not while it blocks: it waits for changes.
            while token.deliveryCounts!.pending > 2_000, !traffic.isHeld, !epoch.isOver { usleep(100) }
        }

        if epoch.violations.isEmpty {
            witness.settle(epoch) { token.deliveryCounts! }
            let (value, version) = property.snapshot()
            let counts = token.deliveryCounts!
            epoch.check(
                counts.sent == version && counts.received == version,
                "P1.ordered-once",
                "\(counts), the version is \(version)"
            )
            epoch.check(
                (witness.last?.new ?? 0) == value,
                "P3.last-value",
                "the last change brought \(witness.last?.new ?? 0), the property has \(value)"
            )
        }
        traffic.report(epoch)
        token.cancelAndWaitBlocking()
        epoch.checkRest()
    }
}

/// Who makes changes, and how many were made: what the blocking callback waits for.
private final class Traffic: Sendable {
    private let begun = Atomic<UInt64>(0)
    private let completed = Atomic<UInt64>(0)
    private let heldByWriter = Atomic<UInt64>(0)
    private let heldByLibrary = Atomic<UInt64>(0)
    private let deliveredForOthers = Atomic<UInt64>(0)
    private let held = Atomic<Bool>(false)
    private let lanes: UInt64

    /// Whether the callback blocks.
    var isHeld: Bool { held.load(ordering: .relaxed) }

    init(_ lanes: Int) { self.lanes = UInt64(lanes) }

    func begin(_ lane: Lane, _ number: UInt64) {
        lane.pass.watched = number
        begun.add(1, ordering: .relaxed)
    }

    func end(_ lane: Lane) {
        lane.pass.watched = 0
        completed.add(1, ordering: .relaxed)
    }

    /// In the callback. Now and then it blocks until all others have made some changes: were one to wait for it, they could not.
    func hold(_ change: Change<UInt64>, _ epoch: Epoch, _ witness: OrderedWitness) {
        let lane = Lane.current
        if let lane, change.new != lane.pass.watched { deliveredForOthers.add(1, ordering: .relaxed) }
        guard change.version % 97 == 0 || (lane == nil && change.version % 7 == 0) else { return }
        held.store(true, ordering: .relaxed)
        defer { held.store(false, ordering: .relaxed) }
        let enough = completed.load(ordering: .relaxed) &+ 2 * lanes
        // At the end of the epoch there are no more, but those that have begun get through: all but this thread's.
        let own: UInt64 = lane == nil ? 0 : 1
        let hasMoved = waitWhileMoving({ completed.load(ordering: .relaxed) }) {
            let completed = completed.load(ordering: .relaxed)
            return completed >= enough
                || epoch.isOver && begun.load(ordering: .relaxed) &- completed <= own
        }
        witness.check(hasMoved, "P7.no-setter-waits", "no change is completed while a serial callback blocks")
        guard !epoch.isOver else { return }
        if lane == nil { heldByLibrary.add(1, ordering: .relaxed) } else { heldByWriter.add(1, ordering: .relaxed) }
    }

    func report(_ epoch: Epoch) {
        if heldByWriter.load(ordering: .relaxed) > 0 { epoch.lanes[0].hit(0) }
        if heldByLibrary.load(ordering: .relaxed) > 0 { epoch.lanes[0].hit(1) }
        if deliveredForOthers.load(ordering: .relaxed) > 0 { epoch.lanes[0].hit(2) }
    }
}
