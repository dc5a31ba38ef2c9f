// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

extension Scenario {
    /// The callback of a serial observer sometimes blocks until other threads have made a number of
    /// changes. They must be able to make them.
    static let serialHandover = Scenario(
        name: "serial-handover",
        summary: "a serial observer blocks until others have made changes: no writer waits for it, and it misses none",
        invariants: ["P1.kinds-in-order", "P3.last-value", "P5.no-lock-around-user-code", "P7.no-setter-waits"]
            + checkedByWitnesses + checkedAtRest,
        windows: [
            "changes were made while a writer delivered", "changes were made while the library delivered",
            "a writer delivered another's change",
        ],
        leastThreads: 3
    ) { round in
        let property = Observed<UInt64>(0)
        let traffic = Traffic(round.threads)
        let ofEachKind = (0..<round.threads).map { _ in ObservedByEachKind() }
        let follower = OrderedDelivery.serial.follow(property, "a serial observer", round) { change, witness in
            traffic.hold(change, round, witness)
        }

        round.load { worker in
            worker.begin("set")
            let number = worker.uniqueSerial()
            traffic.begin(worker, number)
            property.value = number
            traffic.end(worker)
            let order = ofEachKind[worker.index].change()
            worker.check(order == [1, 2], "P1.kinds-in-order", "the kinds are called in the order \(order)")
            // Does not wait while the callback blocks, because the callback waits for changes.
            worker.holdBack(follower.token) { traffic.isHeld }
        }

        if round.violations.isEmpty {
            let counts = follower.settle(round)
            let ((value, version), last) = (property.snapshot(), follower.witness.last?.new ?? 0)
            let areAll = counts.sent == version && counts.received == version
            round.check(areAll, "P1.ordered-once", "\(counts), the version is \(version)")
            round.check(last == value, "P3.last-value", "the last change brought \(last), the property has \(value)")
        }
        traffic.report(round)
        follower.token.cancelAndWaitBlocking()
        for property in ofEachKind { property.end() }
        round.checkRest()
    }
}

/// Counts the threads that make changes, and their changes. The callback that blocks waits for
/// these.
private final class Traffic: Sendable {
    private let (begun, completed) = (Tally(), Tally())
    private let (heldByWriter, heldByLibrary, deliveredForOthers) = (Tally(), Tally(), Tally())
    private let held = Atomic<Bool>(false)
    private let workers: UInt64

    /// Whether the callback is blocking.
    var isHeld: Bool { held.load(ordering: .relaxed) }

    init(_ workers: Int) { self.workers = UInt64(workers) }

    func begin(_ worker: Worker, _ number: UInt64) {
        worker.pass.watched = number
        begun.increment()
    }

    func end(_ worker: Worker) {
        worker.pass.watched = 0
        completed.increment()
    }

    /// Sometimes blocks the callback until the other threads have made some changes. If one of them
    /// waited for the callback, they could not.
    func hold(_ change: Change<UInt64>, _ round: Round, _ witness: OrderedWitness) {
        let worker = Worker.current
        if let worker, change.new != worker.pass.watched { deliveredForOthers.increment() }
        guard change.version % 97 == 0 || (worker == nil && change.version % 7 == 0) else { return }
        held.store(true, ordering: .relaxed)
        defer { held.store(false, ordering: .relaxed) }
        let enough = completed.value &+ 2 * workers
        // At the end of the round no change begins. The changes that have begun are finished,
        // except the one of this thread.
        let own: UInt64 = worker == nil ? 0 : 1
        let hasMoved = waitWhileMoving({ completed.value }) {
            let completed = completed.value
            return completed >= enough || round.isOver && begun.value &- completed <= own
        }
        witness.check(hasMoved, "P7.no-setter-waits", "no change is completed while a serial callback blocks")
        guard !round.isOver else { return }
        (worker == nil ? heldByLibrary : heldByWriter).increment()
    }

    func report(_ round: Round) {
        for (window, tally) in [heldByWriter, heldByLibrary, deliveredForOthers].enumerated() where tally.value > 0 {
            round.workers[0].hit(window)
        }
    }
}

/// A property of one worker, with an inline observer and a serial one that was registered before
/// it. No other thread delivers its changes.
private final class ObservedByEachKind: Sendable {
    private let property = Observed<UInt64>(0)
    private let order = Guarded<[Int]>([])
    private let tokens = Guarded<[ObservationToken]>([])

    init() {
        let serial = property.observe(delivery: .serial()) { [order] _ in order.withLock { $0.append(2) } }
        let inline = property.observe { [order] _ in order.withLock { $0.append(1) } }
        tokens.withLock { $0 = [serial, inline] }
    }

    /// Makes a change. Returns the kinds of observers in the order in which they received it.
    func change() -> [Int] {
        property.modify { $0 += 1 }
        return order.withLock { order in
            defer { order = [] }
            return order
        }
    }

    func end() { for token in tokens.withLock({ $0 }) { token.cancelAndWaitBlocking() } }
}
