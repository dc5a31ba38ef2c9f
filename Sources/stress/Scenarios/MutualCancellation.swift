// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Scenario {
    /// Two callbacks cancel each other, and wait: a callback that waited for the other would wait
    /// for ever.
    static let mutualCancellation = Scenario(
        name: "mutual-cancellation",
        summary: "two callbacks that cancelAndWait each other, while others wait for both",
        invariants: [
            "P9.deferred-in-callback", "P9.outcome", "P9.closure-destroyed", "P9.inactive", "P9.nothing-after-wait",
            "P14.not-while-called", "P14.nothing-left", "P16.backlog-drains", "P5.no-lock-around-user-code",
        ],
        windows: ["both callbacks at once", "waited for from outside meanwhile"],
        leastThreads: 3
    ) { round in
        let left = ObserverRegistry<UInt64>()
        let right = ObserverRegistry<UInt64>()
        let current = Guarded<Pair?>(nil)

        round.load { worker in
            switch worker.generator.below(6) {
            case 0:
                worker.begin("replace")
                let pair = worker.makePair(left, right)
                let previous = current.withLock { current in
                    defer { current = pair }
                    return current
                }
                guard let previous, let subjects = previous.subjects else { return }
                if subjects.0.probe.isRunning || subjects.1.probe.isRunning { worker.hit(1) }
                worker.cancelAndWait(subjects.0)
                worker.cancelAndWait(subjects.1)
                previous.clear()
            case 1...2:
                worker.begin("notify left")
                worker.pass(left)
            case 3...4:
                worker.begin("notify right")
                worker.pass(right)
            default:
                guard let subjects = current.withLock({ $0 })?.subjects else { return }
                worker.cancelAndWait(worker.generator.oneIn(2) ? subjects.0 : subjects.1)
            }
        }

        if let pair = current.withLock({ $0 }) {
            if let subjects = pair.subjects {
                for subject in [subjects.0, subjects.1] {
                    round.check(
                        subject.token.cancelAndWaitBlocking() == .finished,
                        "P9.outcome",
                        "not finished at rest"
                    )
                    round.check(
                        subject.probe.destroyed == 1,
                        "P9.closure-destroyed",
                        "destroyed \(subject.probe.destroyed) times"
                    )
                }
            }
            pair.clear()
        }
        round.checkRest()
    }
}

/// Two observations. Each ends the other when it is called.
private final class Pair: Sendable {
    private let content = Guarded<(Subject, Subject)?>(nil)

    var subjects: (Subject, Subject)? { content.withLock { $0 } }
    func fill(_ first: Subject, _ second: Subject) { content.withLock { $0 = (first, second) } }

    /// Breaks the cycle: closure, pair, token.
    func clear() {
        // Moved out under the lock, released outside it.
        _ = content.withLock { content in
            defer { content = nil }
            return content
        }
    }
}

extension Worker {
    fileprivate func makePair(_ left: ObserverRegistry<UInt64>, _ right: ObserverRegistry<UInt64>) -> Pair {
        let pair = Pair()
        let first = observe(left) { worker, _ in worker?.endOther(of: pair, isFirst: true) }
        let second = observe(right) { worker, _ in worker?.endOther(of: pair, isFirst: false) }
        pair.fill(first, second)
        return pair
    }

    fileprivate func endOther(of pair: Pair, isFirst: Bool) {
        guard let subjects = pair.subjects else { return }
        let other = isFirst ? subjects.1 : subjects.0
        // Gives the other callback the time to begin.
        for _ in 0..<20 where !other.probe.isRunning { spin(nanoseconds: 500) }
        if other.probe.isRunning { hit(0) }
        begin("cancelAndWait of the other")
        let outcome = other.token.cancelAndWaitBlocking()
        check(outcome == .deferred, "P9.deferred-in-callback", "cancelAndWait in a callback returned \(outcome)")
    }
}
