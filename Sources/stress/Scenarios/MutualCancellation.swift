// SPDX-License-Identifier: Apache-2.0

extension Scenario {
    /// Two callbacks cancel each other, and wait. If one waited for the other, it would wait
    /// forever.
    static let mutualCancellation = Scenario(
        name: "mutual-cancellation",
        summary: "two callbacks that cancelAndWait each other, while others wait for both",
        invariants: ["P9.deferred-in-callback"] + checkedInCallbacks + checkedByWaits + checkedAtRest,
        windows: ["both callbacks at once", "waited for from outside meanwhile"],
        leastThreads: 3
    ) { round in
        let registries = [ObserverRegistry<UInt64>(), ObserverRegistry<UInt64>()]
        let current = Place<Pair>()

        round.load { worker in
            switch worker.generator.below(6) {
            case 0:
                worker.begin("replace")
                guard let previous = current.exchange(worker.makePair(registries)) else { return }
                let subjects = previous.subjects
                if subjects.contains(where: \.probe.isRunning) { worker.hit(1) }
                for subject in subjects { worker.cancelAndWait(subject) }
                previous.clear()
            case 1...2:
                worker.begin("notify left")
                worker.pass(registries[0])
            case 3...4:
                worker.begin("notify right")
                worker.pass(registries[1])
            default:
                guard let subject = current.content?.subjects.randomElement(using: &worker.generator) else { return }
                worker.cancelAndWait(subject)
            }
        }

        if let pair = current.content {
            for subject in pair.subjects { round.finish(subject) }
            pair.clear()
        }
        round.checkRest()
    }
}

/// Two observations. Each ends the other when it is called.
private final class Pair: Sendable {
    private let content = Guarded<[Subject]>([])

    var subjects: [Subject] { content.withLock { $0 } }

    /// Breaks the cycle of closure, pair and token.
    func clear() { exchange([]) }

    /// Stores `subjects`. Releases the previous ones outside the lock.
    func exchange(_ subjects: [Subject]) {
        _ = content.withLock { content in
            defer { content = subjects }
            return content
        }
    }
}

extension Worker {
    fileprivate func makePair(_ registries: [ObserverRegistry<UInt64>]) -> Pair {
        let pair = Pair()
        let subjects = registries.enumerated().map { index, registry in
            observe(registry) { worker, _ in worker?.end(1 - index, of: pair) }
        }
        pair.exchange(subjects)
        return pair
    }

    fileprivate func end(_ index: Int, of pair: Pair) {
        let subjects = pair.subjects
        guard !subjects.isEmpty else { return }
        let other = subjects[index]
        // Gives the other callback time to begin.
        for _ in 0..<20 where !other.probe.isRunning { spin(nanoseconds: 500) }
        if other.probe.isRunning { hit(0) }
        begin("cancelAndWait of the other")
        cancelAndWaitWithin(other.token)
    }
}
