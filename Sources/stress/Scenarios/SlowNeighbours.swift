// SPDX-License-Identifier: Apache-2.0

import Glibc

extension Scenario {
    /// Thousands of closures of one source are destroyed slowly. Closures of other sources must not
    /// wait for them.
    static let slowNeighbours = Scenario(
        name: "slow-neighbours",
        summary: "thousands of slow closures of one source wait, while others' are destroyed, one by one and in chains",
        invariants: ["P14.others-first", "P14.destroyed-once", "P5.no-lock-around-user-code", "memory.table-in-use"]
            + checkedAtRest,
        windows: ["destroyed beside slow ones", "a chain destroyed"],
        leastThreads: 3,
        // Under ThreadSanitizer too few slow closures are ended for any to wait.
        unfit: [.thread]
    ) { round in
        let slow = ObserverRegistry<UInt64>()
        let source = SlowSource()
        /// The share of the slow closures that waited when a closure was ended and that were
        /// destroyed before it, in percent.
        let shares = Guarded(Histogram())

        round.load([
            Round.Role(threads: 1) { worker in
                worker.begin("end slow ones")
                guard source.pending < SlowSource.mostPending else {
                    usleep(1_000)
                    return
                }
                for _ in 0..<100 { source.endOne(of: slow) }
            },
            Round.Role(threads: 1) { worker in
                worker.begin("end a chain")
                let chain = Chain(length: 100)
                chain.destroy()
                let isDestroyed = worker.wait { chain.isDestroyed }
                worker.check(isDestroyed, "P14.destroyed-once", "a chain is not destroyed after ten seconds")
                worker.hit(1)
            },
            Round.Role(threads: round.threads - 2) { worker in
                worker.begin("observe")
                let registry = ObserverRegistry<UInt64>()
                let subject = worker.observe(registry)
                worker.pass(registry, watching: subject.probe)
                let (pending, before) = (source.pending, source.dead.value)
                guard pending > SlowSource.mostPending / 2 else { return }
                worker.cancel(subject)
                worker.awaitDestruction(subject.probe, "P14.destroyed-once")
                shares.withLock { $0.record(100 * (source.dead.value - before) / pending) }
                worker.hit(0)
            },
        ])

        // With one queue, a closure comes after all that wait: 100 percent, less those that are
        // being destroyed. With one queue for each source, it comes after one slow closure for each
        // thread. While it waits for a processor, hundreds of threads destroy others, so a count
        // would measure the machine.
        let share = shares.withLock { $0.quantile(0.5) } ?? 0
        round.check(share <= 75, "P14.others-first", "half came after \(share) percent of the slow ones before them")
        round.checkRest()
    }
}

/// A source of closures whose destruction takes some time.
private final class SlowSource: Sendable {
    static let mostPending: UInt64 = 4_000
    private let ended = Tally()
    let dead = Tally()

    /// The number may be wrong by what other threads are counting. The checks allow for much more.
    var pending: UInt64 {
        let dead = dead.value
        return max(ended.value, dead) - dead
    }

    func endOne(of registry: ObserverRegistry<UInt64>) {
        registry.observe(atEnd: { [dead] in
            usleep(5_000)
            dead.increment()
        }).cancel()
        ended.increment()
    }
}

/// A chain of closures: each owns the token of the next one.
private final class Chain: Sendable {
    private let length: UInt64
    private let dead = Tally()

    init(length: UInt64) { self.length = length }

    var isDestroyed: Bool { dead.value == length }

    /// Makes the chain, and releases its begin.
    func destroy() {
        let registry = ObserverRegistry<UInt64>()
        var token: ObservationToken?
        for _ in 0..<length {
            let (act, next) = (LastAct { [dead] in dead.increment() }, token)
            token = registry.observe { _ in withExtendedLifetime((act, next)) {} }
        }
        token = nil
    }
}
