// SPDX-License-Identifier: Apache-2.0

import Glibc

extension Scenario {
    /// The deinitialisers of captures use the library, or block.
    static let destruction = Scenario(
        name: "destruction",
        summary: "captures whose deinit registers, notifies, cancels, drains, or blocks",
        invariants: [
            "P5.not-on-the-canceller", "P5.deferred-in-deinit", "P9.outcome", "P9.closure-destroyed", "P14.prompt",
            "P14.destroyed-once", "memory.table-in-use",
        ] + checkedInCallbacks + checkedAtRest,
        windows: [
            "deinit that re-enters", "deinit that blocks", "destroyed by the waiting thread", "P14.prompt was judged",
        ],
        // P14.prompt is a time limit. Among dozens of threads, each would wait for a processor most
        // of the time, and no round could judge the limit.
        excluded: .crowd
    ) { round in
        let registry = ObserverRegistry<UInt64>()
        let other = ObserverRegistry<UInt64>()
        let standing = other.observe { _ in checkUserCode("callback") }
        let (reentered, blocked) = (Tally(), Tally())
        let delays = TimedBound("P14.prompt", limit: 100_000_000, window: 3)

        round.load { worker in
            worker.begin("observe")
            let kind = worker.generator.below(400)
            let own = Guarded<ProbeReference?>(nil)
            let subject = worker.observe(
                registry,
                atEnd: {
                    checkPlace(of: own, round)
                    switch kind {
                    case 0:
                        usleep(10_000)
                        blocked.increment()
                    case 1..<100:
                        checkReentry(round, other)
                        reentered.increment()
                    default:
                        break
                    }
                }
            )
            own.withLock { $0 = subject.probe }
            worker.begin("notify")
            worker.pass(registry)
            if worker.generator.oneIn(3) {
                worker.cancelAndWait(subject)
                worker.hit(2)
            } else {
                worker.cancel(subject)
                guard worker.generator.oneIn(64) else { return }
                worker.awaitDestruction(subject.probe, "P14.destroyed-once", delays)
            }
        }

        if reentered.value > 0 { round.workers.first?.hit(0) }
        if blocked.value > 0 { round.workers.first?.hit(1) }
        delays.judge(round, "half of the closures were destroyed later after the end than")
        round.workers.first?.checkEndsAtRest(of: registry, round)
        standing.cancelAndWaitBlocking()
        round.checkRest()
    }
}

/// Checks, in the deinit of a capture, that a thread of the scenario destroys only the closure for
/// which it waits. (P5)
private func checkPlace(of own: Guarded<ProbeReference?>, _ round: Round) {
    guard let worker = Worker.current, let probe = own.withLock({ $0 }) else { return }
    round.check(worker.waitsFor == probe, "P5.not-on-the-canceller") {
        "thread \(worker.index), at \(worker.currentStep), destroys a closure that it does not wait for"
    }
}

/// Uses the library in a deinit that the library runs. Waiting returns `.deferred` there. (P5, P9)
private func checkReentry(_ round: Round, _ registry: ObserverRegistry<UInt64>) {
    let token = registry.observe { _ in checkUserCode("callback") }
    registry.notify(0)
    let outcome = token.cancelAndWaitBlocking()
    round.check(outcome == .deferred, "P5.deferred-in-deinit", "cancelAndWait in a deinit returned \(outcome)")
    let drained = ConcurrentObserveDiagnostics.drain(deadline: .now)
    round.check(drained == .deferred, "P5.deferred-in-deinit", "drain in a deinit returned \(drained)")
}

extension Worker {
    /// Ends observations one by one while the reclamation thread has no work and sleeps, so that
    /// only the end of the observation wakes it. (P14)
    fileprivate func checkEndsAtRest(of registry: ObserverRegistry<UInt64>, _ round: Round) {
        if round.isFaulted { return }
        let delays = TimedBound("P14.prompt", limit: 100_000_000, window: 3)
        for _ in 0..<4 {
            usleep(150_000)
            let destroyed = Tally()
            registry.observe(atEnd: { destroyed.increment() }).cancel()
            _ = wait(delays) { destroyed.value > 0 }
        }
        delays.judge(round, "at rest half of the closures were destroyed later after the end than")
    }
}
