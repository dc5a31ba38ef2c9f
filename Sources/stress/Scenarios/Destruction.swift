// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

extension Scenario {
    /// Captures whose deinit uses the library, or blocks.
    static let destruction = Scenario(
        name: "destruction",
        summary: "captures whose deinit registers, notifies, cancels, drains, or blocks",
        invariants: [
            "P5.no-lock-around-user-code", "P5.not-on-the-canceller", "P5.deferred-in-deinit", "P9.outcome",
            "P9.closure-destroyed", "P9.nothing-after-wait", "P14.not-while-called", "P14.prompt", "P14.destroyed-once",
            "P14.nothing-left", "P16.backlog-drains", "memory.table-in-use",
        ],
        windows: [
            "deinit that re-enters", "deinit that blocks", "destroyed by the waiting thread", "P14.prompt was judged",
        ],
        // P14.prompt is a bound against the clock. Among dozens of threads, each would wait for a
        // processor most of the time, and no round could judge the bound.
        excluded: .crowd
    ) { round in
        let registry = ObserverRegistry<UInt64>()
        let other = ObserverRegistry<UInt64>()
        let standing = other.observe { _ in checkUserCode("callback") }
        let reentered = Atomic<Int>(0)
        let blocked = Atomic<Int>(0)
        let delays = TimedBound("P14.prompt", limit: 100_000_000, window: 3)

        round.load { worker in
            worker.begin("observe")
            let kind = worker.generator.below(400)
            let watched = Guarded<ProbeReference?>(nil)
            let box = Box(watched)
            let subject = worker.observe(
                registry,
                atEnd: {
                    box.checkPlace(round)
                    switch kind {
                    case 0:
                        usleep(10_000)
                        blocked.add(1, ordering: .relaxed)
                    case 1..<100:
                        checkReentry(round, other)
                        reentered.add(1, ordering: .relaxed)
                    default:
                        break
                    }
                }
            )
            box.fill(subject.probe)
            worker.begin("notify")
            worker.pass(registry)
            if worker.generator.oneIn(3) {
                worker.cancelAndWait(subject)
                worker.hit(2)
            } else {
                worker.begin("cancel")
                subject.probe.markEnding()
                subject.token.cancel()
                worker.awaitDestruction(of: subject.probe, every: 64, delays)
            }
        }

        if reentered.load(ordering: .relaxed) > 0 { round.workers.first?.hit(0) }
        if blocked.load(ordering: .relaxed) > 0 { round.workers.first?.hit(1) }
        delays.judge(round, "half of the closures were destroyed later after the end than")
        round.workers.first?.checkEndsAtRest(of: registry, round)
        standing.cancelAndWaitBlocking()
        round.checkRest()
    }
}

/// Lets the deinit of a capture see to which closure it belonged.
private final class Box: Sendable {
    private let probe: Guarded<ProbeReference?>

    init(_ probe: Guarded<ProbeReference?>) { self.probe = probe }

    func fill(_ reference: ProbeReference) { probe.withLock { $0 = reference } }

    /// Checks that a thread of the scenario destroys only the closure for which it waits. (P5)
    func checkPlace(_ round: Round) {
        guard let worker = Worker.current, let probe = probe.withLock({ $0 }) else { return }
        round.check(
            worker.waitsFor == probe,
            "P5.not-on-the-canceller",
            "thread \(worker.index), at \(worker.currentStep), destroys a closure that it does not wait for"
        )
    }
}

/// Uses the library from a deinit that the library runs. A wait there returns `.deferred`. (P5, P9)
private func checkReentry(_ round: Round, _ registry: ObserverRegistry<UInt64>) {
    let token = registry.observe { _ in checkUserCode("callback") }
    registry.notify(0)
    let outcome = token.cancelAndWaitBlocking()
    round.check(outcome == .deferred, "P5.deferred-in-deinit", "cancelAndWait in a deinit returned \(outcome)")
    let drained = ConcurrentObserveDiagnostics.drain(deadline: .now)
    round.check(drained == .deferred, "P5.deferred-in-deinit", "drain in a deinit returned \(drained)")
}

extension Worker {
    /// Ends observations one by one, each while the reclamation thread has nothing to do and
    /// sleeps, so that only the end wakes it. (P14)
    fileprivate func checkEndsAtRest(of registry: ObserverRegistry<UInt64>, _ round: Round) {
        if round.isFaulted { return }
        let delays = TimedBound("P14.prompt", limit: 100_000_000, window: 3)
        for _ in 0..<4 {
            usleep(150_000)
            let isDestroyed = Destroyed()
            registry.observe { [capture = MarkedCapture(isDestroyed)] _ in withExtendedLifetime(capture) {} }.cancel()
            _ = wait(delays) { isDestroyed.flag.load(ordering: .acquiring) }
        }
        delays.judge(round, "at rest half of the closures were destroyed later after the end than")
    }
}

/// Whether a capture is destroyed.
private final class Destroyed: Sendable {
    let flag = Atomic<Bool>(false)
}

private final class MarkedCapture: Sendable {
    private let isDestroyed: Destroyed

    init(_ isDestroyed: Destroyed) { self.isDestroyed = isDestroyed }

    deinit { isDestroyed.flag.store(true, ordering: .releasing) }
}

extension Worker {
    /// Once in `times` calls waits, without using the library, until a closure is destroyed, and
    /// records how long it took. (P14)
    fileprivate func awaitDestruction(
        of probe: ProbeReference,
        every times: UInt64,
        _ bound: TimedBound
    ) {
        guard generator.oneIn(times) else { return }
        let isDestroyed = wait(bound) { probe.destroyed != 0 }
        check(
            isDestroyed && probe.destroyed <= 1,
            "P14.destroyed-once",
            "destroyed \(probe.destroyed) times ten seconds after the end"
        )
    }
}
