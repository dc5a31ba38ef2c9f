// SPDX-License-Identifier: Apache-2.0

extension Scenario {
    /// Callbacks change properties that other callbacks observe, in cycles that end. No callback
    /// waits for another one, and none runs inside another one.
    static let mutualActors = Scenario(
        name: "mutual-actors",
        summary: "actors, queues and serial observers that answer each other's changes, and their own",
        invariants: ["P3.answered-to-the-end", "P5.no-lock-around-user-code", "P6.not-nested"]
            + checkedByWitnesses + checkedAtRest,
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

/// Two properties. The observer of each increments the other one.
private final class Game: Sendable {
    private static let moves: UInt64 = 24

    private let left = Observed<UInt64>(0)
    private let right = Observed<UInt64>(0)
    private let followers: [Follower]
    let isSerial: Bool
    let hasReentered: Bool

    /// All games share the actors: an actor may be busy with another game.
    private static let deliveries: [OrderedDelivery] = [
        .serial, .globalQueue, .isolated, .actor(Listener()), .actor(Listener()),
    ]

    init(_ worker: Worker) {
        let (first, second) = (worker.generator.below(5), worker.generator.below(5))
        // The right property answers to itself, too: its observer changes the property that it
        // observes.
        let isSelfish = worker.generator.oneIn(2)
        (isSerial, hasReentered) = (first == 0 || second == 0, isSelfish && second == 0)
        let toLeft = Self.follow("left", left, first, worker.round) { [weak right] new in right?.raise(to: new) }
        let toRight = Self.follow("right", right, second, worker.round) { [weak left, weak right] new in
            guard new < Self.moves else { return }
            left?.raise(to: new + 1)
            if isSelfish { right?.raise(to: new + 1) }
        }
        followers = [toLeft, toRight]
    }

    private static func follow(
        _ name: String,
        _ property: Observed<UInt64>,
        _ delivery: Int,
        _ round: Round,
        answering body: @escaping @Sendable (UInt64) -> Void
    ) -> Follower {
        let depth = Tally()
        return deliveries[delivery].follow(property, name, round) { change, witness in
            witness.check(depth.increment() == 1, "P6.not-nested", "a callback began before the last one had returned")
            body(change.new)
            depth -= 1
        }
    }

    /// Makes the first move, and waits until the last one is answered.
    func play(_ worker: Worker) {
        left.value = 1
        let progress = { self.followers[0].witness.count &+ self.followers[1].witness.count }
        let message = { "it ended at \(self.left.value) and \(self.right.value), \(Self.moves) expected" }
        worker.round.wait(for: "P3.answered-to-the-end", message(), moving: progress) {
            left.value >= Self.moves && right.value >= Self.moves && followers.allSatisfy(\.isSettled)
        }
        for follower in followers {
            let counts = follower.counts
            let areAll = counts.sent == counts.received && counts.dropped == 0
            worker.check(areAll, "P1.counts-add-up", "\(counts) with nothing left to do")
            worker.checks &+= follower.witness.checks
            worker.begin("cancelAndWait")
            follower.token.cancelAndWaitBlocking()
        }
    }
}

extension Observed<UInt64> {
    /// Sets the property to `number`, unless it has this number or a higher one already. In most
    /// cases each number is one change.
    fileprivate func raise(to number: UInt64) {
        guard value < number else { return }
        modify { present in present = Swift.max(present, number) }
    }
}
