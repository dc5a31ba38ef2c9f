// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

extension Scenario {
    /// A value is made of several paths, and all of them change: it must end as the sum of what
    /// they lead to.
    static let combinations = Scenario(
        name: "combinations",
        summary:
            "several paths change while a value is made of them: one call at a time, the last with the last values",
        invariants: [
            "P3.combination", "P2.combined-versions", "P2.combined-order", "P4.initial-first",
            "P5.no-lock-around-user-code",
            "P14.nothing-left", "P16.backlog-drains",
        ],
        windows: ["a writer left its change to another", "the observation began under writers"],
        leastThreads: 2
    ) { round in
        let root = PathRoot(PathEnd(0))
        let standing = CombinationWitness(root, round)

        round.load { worker in
            let number = worker.uniqueSerial()
            let calls = standing.calls
            switch worker.generator.below(32) {
            case 0:
                worker.begin("observe")
                let witness = CombinationWitness(root, round)
                worker.set(root, number)
                if witness.calls > 2 { worker.hit(1) }
                witness.token.cancelAndWaitBlocking()
            case 1:
                worker.begin("replace a step")
                root.middle.value = PathMiddle(PathEnd(number))
            default:
                worker.begin("set")
                worker.set(root, number)
                if standing.calls == calls { worker.hit(0) }
            }
            // A mailbox without a bound.
            while standing.token.deliveryCounts!.pending > 1_000, !round.isOver { usleep(100) }
        }

        if round.violations.isEmpty { standing.settle(round, expected: root.present &+ root.first.value) }
        standing.token.cancelAndWaitBlocking()
        round.checkRest()
    }
}

extension Worker {
    fileprivate func set(_ root: PathRoot, _ number: UInt64) {
        if index & 1 == 0 { root.first.value = number } else { root.middle.value.end.value?.number.value = number }
    }
}

/// An observer of two paths that stores the sum of their values.
private final class CombinationWitness: Sendable {
    let token: ObservationToken
    private let state: CombinationState

    init(_ root: PathRoot, _ round: Round) {
        let (state, violations) = (CombinationState(), round.violations)
        self.state = state
        let group = Group(root.property(\.first), root.property(\.middle.end.number))
        token = group.observe(options: .initial, delivery: .serial()) { change in
            let (first, number) = change.new
            checkUserCode("callback")
            let version = state.begin()
            if change.version != version {
                violations.report("P2.combined-versions", "version \(change.version) was called as number \(version)")
            }
            if (change.reason == .initial) != (version == 0) {
                violations.report("P4.initial-first", "the initial delivery was number \(version)")
            }
            if let later = state.note(first) {
                violations.report("P2.combined-order", "after \(later) of the same writer came \(first)")
            }
            state.store(first &+ (number ?? 0))
        }
    }

    /// How often the observer was called.
    var calls: UInt64 { state.calls }

    /// At rest, with all writers' calls returned.
    func settle(_ round: Round, expected: UInt64) {
        let isIdle = waitWhileMoving({ state.calls }) {
            token.deliveryCounts!.pending == 0 && state.ended == state.calls
        }
        round.check(isIdle, "P3.combination", "\(token.deliveryCounts!), and nothing is delivered")
        round.check(
            state.sum == expected,
            "P3.combination",
            "what was made of two paths is \(state.sum), of what they lead to now \(expected)"
        )
    }
}

/// The state that the observer's calls have left. Atomic: the test checks that calls come one at a
/// time.
private final class CombinationState: Sendable {
    private let begun = Atomic<UInt64>(0)
    private let finished = Atomic<UInt64>(0)
    private let result = Atomic<UInt64>(0)
    /// The latest value of each writer, by the upper half of its numbers: those that one writer
    /// sets only grow.
    private let latest = Mutex<[UInt64: UInt64]>([:])

    var calls: UInt64 { begun.load(ordering: .acquiring) }
    var ended: UInt64 { finished.load(ordering: .acquiring) }
    var sum: UInt64 { result.load(ordering: .relaxed) }

    /// The number of the call that begins, from 0.
    func begin() -> UInt64 { begun.add(1, ordering: .relaxed).oldValue }

    /// Notes a value of the first path. Returns a later value of the same writer, if that was seen
    /// before.
    func note(_ value: UInt64) -> UInt64? {
        latest.withLock { latest in
            let before = latest[value >> 40] ?? 0
            latest[value >> 40] = max(before, value)
            return before > value ? before : nil
        }
    }

    func store(_ sum: UInt64) {
        result.store(sum, ordering: .relaxed)
        finished.add(1, ordering: .releasing)
    }
}
