// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Scenario {
    /// A value is computed from several paths, and all of them change. At the end it must be the
    /// sum of the values to which the paths lead.
    static let combinations = Scenario(
        name: "combinations",
        summary:
            "several paths change while a value is made of them: one call at a time, the last with the last values",
        invariants: [
            "P3.combination", "P2.combined-versions", "P2.combined-order", "P4.initial-first",
            "P5.no-lock-around-user-code",
        ] + checkedAtRest,
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
            worker.holdBack(standing.token)
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

/// An observer of two paths that stores the sum of their values. Its state is atomic, because the
/// test checks that calls come one at a time.
private final class CombinationWitness: Sendable {
    let token: ObservationToken
    private let begun = Tally()
    private let sum = Sum()

    /// The sum that the last call has stored, and the number of calls that have ended.
    private final class Sum: Sendable {
        private let number = Atomic<UInt64>(0)
        private let stores = Atomic<UInt64>(0)

        /// Release: pairs with the acquire in `calls`.
        func store(_ sum: UInt64) {
            number.store(sum, ordering: .relaxed)
            stores.add(1, ordering: .releasing)
        }

        var calls: UInt64 { stores.load(ordering: .acquiring) }
        var value: UInt64 { number.load(ordering: .relaxed) }
    }

    init(_ root: PathRoot, _ round: Round) {
        let (begun, sum, violations) = (begun, sum, round.violations)
        // The latest value of each writer, by the upper half of its numbers. The numbers of one
        // writer only grow.
        let latest = Mutex<[UInt64: UInt64]>([:])
        let group = Group(root.property(\.first), root.property(\.middle.end.number))
        token = group.observe(options: .initial, delivery: .serial()) { change in
            let (first, number) = change.new
            checkUserCode("callback")
            let call = begun.increment() - 1
            violations.check(change.version == call, "P2.combined-versions", "\(change.version) was call \(call)")
            violations.check((change.reason == .initial) == (call == 0), "P4.initial-first") {
                "call \(call) was \(change.reason)"
            }
            let before = latest.withLock { $0.updateValue(first, forKey: first >> 40) ?? 0 }
            violations.check(before <= first, "P2.combined-order", "after \(before) of a writer came \(first)")
            sum.store(first &+ (number ?? 0))
        }
    }

    /// The number of calls of the observer.
    var calls: UInt64 { begun.value }

    /// Waits at rest for the expected sum. The calls of all writers must have returned.
    func settle(_ round: Round, expected: UInt64) {
        round.wait(for: "P3.combination", "\(token.deliveryCounts!), and nothing is delivered", moving: { calls }) {
            token.deliveryCounts!.pending == 0 && sum.calls == calls
        }
        round.check("the sum of what two paths led to", sum.value, is: expected, "P3.combination")
    }
}
