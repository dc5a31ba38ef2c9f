// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

extension Scenario {
    /// Callbacks that change what others observe, in circles that end: no callback waits for
    /// another, and none is nested in another.
    static let mutualActors = Scenario(
        name: "mutual-actors",
        summary: "actors, queues and serial observers that answer each other's changes, and their own",
        invariants: [
            "P1.ordered-once", "P1.counts-add-up", "P2.one-at-a-time", "P2.ordered", "P2.ordered-chain",
            "P3.answered-to-the-end", "P4.initial-first", "P5.no-lock-around-user-code", "P6.not-nested",
            "P12.end-last", "P14.nothing-left", "P16.backlog-drains",
        ],
        windows: [
            "answered by an actor", "answered by a serial observer", "a serial observer has changed its own source",
        ],
        leastThreads: 4
    ) { round in
        round.load { worker in
            worker.begin("ping and pong")
            let game = Game(worker)
            worker.hit(game.isSerial ? 1 : 0)
            if game.hasReentered { worker.hit(2) }
            game.play(worker)
        }
        round.checkRest()
    }
}

/// Two properties, each of whose observers counts the other one up.
private final class Game: Sendable {
    private static let moves: UInt64 = 24

    private let left = Observed<UInt64>(0)
    private let right = Observed<UInt64>(0)
    private let witnesses: [OrderedWitness]
    private let tokens: Guarded<[ObservationToken]>
    let isSerial: Bool
    let hasReentered: Bool

    init(_ worker: Worker) {
        let round = worker.round
        let kinds = (worker.generator.below(4), worker.generator.below(4))
        // The right one answers to itself, too: its observer changes what it observes.
        let isSelfish = worker.generator.oneIn(2)
        (isSerial, hasReentered) = (kinds.0 == 1 || kinds.1 == 1, isSelfish && kinds.1 == 1)
        let witnesses = [OrderedWitness("left", round), OrderedWitness("right", round)]
        self.witnesses = witnesses
        tokens = Guarded([])
        let (left, right) = (left, right)
        let depths = [Guarded(0), Guarded(0)]
        func answer(
            _ index: Int,
            _ body: @escaping @Sendable (UInt64) -> Void
        ) -> @Sendable (Change<UInt64>) -> Void {
            { [witness = witnesses[index], depth = depths[index]] change in
                let isNested = depth.withLock { depth in
                    depth += 1
                    return depth > 1
                }
                witness.check(!isNested, "P6.not-nested", "a callback began before the last one had returned")
                witness.receive(.init(change) { $0 }) { body(change.new) }
                depth.withLock { $0 -= 1 }
            }
        }
        let toLeft = answer(0) { [weak right] new in right?.raise(to: new) }
        let toRight = answer(1) { [weak left, weak right] new in
            guard new < Self.moves else { return }
            left?.raise(to: new + 1)
            if isSelfish { right?.raise(to: new + 1) }
        }
        let observations = [Self.observe(left, kinds.0, toLeft), Self.observe(right, kinds.1, toRight)]
        for (witness, token) in zip(witnesses, observations) { witness.listen(to: token) }
        tokens.withLock { $0 = observations }
    }

    private static func observe(
        _ property: Observed<UInt64>,
        _ kind: Int,
        _ body: @escaping @Sendable (Change<UInt64>) -> Void
    ) -> ObservationToken {
        switch kind {
        case 0: property.observe(on: actors[Int(nanoseconds() & 1)]) { body($1) }
        case 1: property.observe(delivery: .serial(), body)
        case 2: property.observe(delivery: .queue(.global()), body)
        default: property.observeIsolated { @GlobalListener in body($0) }
        }
    }

    /// Shared by all games: an actor may be busy with another.
    private static let actors = [Listener(), Listener()]

    /// Makes the first move, and waits until the last is answered.
    func play(_ worker: Worker) {
        left.value = 1
        let isOver = waitWhileMoving({ witnesses[0].count &+ witnesses[1].count }) {
            left.value >= Self.moves && right.value >= Self.moves
                && tokens.withLock { tokens in
                    zip(tokens, witnesses).allSatisfy { token, witness in
                        let counts = token.deliveryCounts!
                        return counts.pending == 0 && witness.count == counts.received
                    }
                }
        }
        worker.check(
            isOver,
            "P3.answered-to-the-end",
            "it ended at \(left.value) and \(right.value), \(Self.moves) expected"
        )
        for (token, witness) in zip(tokens.withLock { $0 }, witnesses) {
            let counts = token.deliveryCounts!
            worker.check(
                counts.sent == counts.received && counts.dropped == 0,
                "P1.counts-add-up",
                "\(counts) with nothing left to do"
            )
            worker.checks &+= witness.checks
            worker.begin("cancelAndWait")
            token.cancelAndWaitBlocking()
        }
        tokens.withLock { $0 = [] }
    }
}

extension Observed<UInt64> {
    /// Sets the property unless it is as far already: every number is a change, and few are two.
    fileprivate func raise(to number: UInt64) {
        guard value < number else { return }
        modify { present in present = Swift.max(present, number) }
    }
}
