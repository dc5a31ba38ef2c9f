// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

extension Scenario {
    /// Thousands of closures of one source are slow to be destroyed: those of others are not behind
    /// them.
    static let slowNeighbours = Scenario(
        name: "slow-neighbours",
        summary: "thousands of slow closures of one source wait, while others' are destroyed, one by one and in chains",
        invariants: [
            "P14.others-first", "P14.destroyed-once", "P14.nothing-left",
            "P16.backlog-drains",
            "P5.no-lock-around-user-code", "memory.table-in-use",
        ],
        windows: ["destroyed beside slow ones", "a chain destroyed"],
        leastThreads: 3,
        // Under ThreadSanitizer too few slow ones are ended for any to wait.
        unfit: [.thread]
    ) { round in
        let slow = ObserverRegistry<UInt64>()
        let source = SlowSource()
        /// The percentage of the slow ones that waited when a closure was ended and were destroyed
        /// before it.
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
                let (pending, before) = (source.pending, source.deaths)
                guard pending > SlowSource.mostPending / 2 else { return }
                worker.begin("cancel")
                subject.probe.markEnding()
                subject.token.cancel()
                let isDestroyed = worker.wait { subject.probe.destroyed != 0 }
                worker.check(
                    isDestroyed && subject.probe.destroyed == 1,
                    "P14.destroyed-once",
                    "not destroyed ten seconds after the end"
                )
                shares.withLock { $0.record(UInt64(100 * (source.deaths - before) / pending)) }
                worker.hit(0)
            },
        ])

        // In one queue, a closure is behind all that wait: 100 percent, less those that are being
        // destroyed. Each source in turn: it is behind a slow one for each thread. While it waits
        // for a processor, hundreds of threads destroy others, so a count would measure the
        // machine.
        let share = shares.withLock { $0.quantile(0.5) } ?? 0
        round.check(
            share <= 75,
            "P14.others-first",
            "half of the closures were destroyed after \(share) percent of the slow ones that waited before them"
        )
        round.checkRest()
    }
}

/// Closures whose destruction takes its time.
private final class SlowSource: Sendable {
    static let mostPending = 4_000
    private let ended = Atomic<Int>(0)
    private let dead = Atomic<Int>(0)

    // Relaxed, all: the checks allow for much more than what they may be off.
    var deaths: Int { dead.load(ordering: .relaxed) }
    var pending: Int { ended.load(ordering: .relaxed) - deaths }

    func endOne(of registry: ObserverRegistry<UInt64>) {
        let die: @Sendable () -> Void = { [self] in
            usleep(5_000)
            dead.add(1, ordering: .relaxed)
        }
        // Only the closure holds it: this thread must not hold the last reference.
        registry.observe { [capture = Death(die)] _ in withExtendedLifetime(capture) {} }.cancel()
        ended.add(1, ordering: .relaxed)
    }
}

/// Closures in a chain: each owns the token of the next.
private final class Chain: Sendable {
    private let length: Int
    private let dead = Atomic<Int>(0)

    init(length: Int) { self.length = length }

    var isDestroyed: Bool { dead.load(ordering: .acquiring) == length }

    /// Makes the chain, and drops its beginning.
    func destroy() {
        let registry = ObserverRegistry<UInt64>()
        var token: ObservationToken?
        for _ in 0..<length {
            let (capture, next) = (Death { [self] in dead.add(1, ordering: .releasing) }, token)
            token = registry.observe { _ in withExtendedLifetime((capture, next)) {} }
        }
        token = nil
    }
}

/// Does something when it is destroyed.
private final class Death: Sendable {
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    deinit {
        checkUserCode("deinit")
        body()
    }
}
