// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization

extension Scenario {
    /// One callback blocks for the whole round. All other work continues, on its registry and on
    /// others.
    static let stuckCallback = Scenario(
        name: "stuck-callback",
        summary:
            "a callback blocks throughout; others on its registry and elsewhere are cancelled, waited for, destroyed",
        invariants: [
            "P7.others-are-waited-for", "P7.others-are-destroyed", "P7.memory", "P7.diagnosed", "P9.outcome",
            "P9.closure-destroyed", "P16.backlog-bounded", "memory.table-in-use",
        ] + checkedInCallbacks + checkedAtRest,
        windows: [
            "waited beside a stuck callback", "destroyed beside a stuck callback",
            "table replaced under a stuck callback", "P7.others-are-waited-for was judged",
            "P7.others-are-destroyed was judged",
        ],
        // The scenario has time limits. Among dozens of threads each would wait for a processor
        // most of the time, and no limit could be judged.
        excluded: .crowd
    ) { round in
        let stuck = ObserverRegistry<UInt64>(label: "stuck")
        let other = ObserverRegistry<UInt64>(label: "other")
        let gate = DispatchSemaphore(value: 0)
        let entered = DispatchSemaphore(value: 0)
        let isFirst = Atomic<Bool>(true)
        let blocker = stuck.observe { _ in
            guard isFirst.exchange(false, ordering: .relaxed) else { return }
            entered.signal()
            gate.wait()
        }
        let prisoner = JoinableThread { stuck.notify(0) }
        entered.wait()
        // The library waits for grace periods only when tables are replaced.
        let gracePeriodsBefore = ConcurrentObserveDiagnostics.current().gracePeriods
        let residentBefore = ResidentMemory.current
        let waits = TimedBound("P7.others-are-waited-for", limit: 1_000_000, window: 3)
        let delays = TimedBound("P7.others-are-destroyed", limit: 100_000_000, window: 4)

        round.load { worker in
            for registry in [stuck, other] {
                worker.begin("observe")
                let subject = worker.observe(registry)
                worker.pass(registry, watching: subject.probe)
                if worker.generator.oneIn(8) {
                    worker.cancelAndWait(subject, worker.generator.oneIn(8) ? waits : nil)
                    worker.hit(0)
                } else {
                    worker.cancel(subject)
                    guard worker.generator.oneIn(256) else { continue }
                    worker.awaitDestruction(subject.probe, "P7.others-are-destroyed", delays)
                    worker.hit(1)
                }
            }
            worker.checkBacklog()
        }

        if ConcurrentObserveDiagnostics.current().gracePeriods > gracePeriodsBefore { round.workers.first?.hit(2) }
        waits.judge(round, "half of the waits beside a stuck callback took longer than")
        delays.judge(round, "half of the closures beside a stuck callback were destroyed later than")
        _ = ConcurrentObserveDiagnostics.current()
        let age = ConcurrentObserveDiagnostics.current().oldestCallbackAge
        round.check(age != nil, "P7.diagnosed", "the diagnostics know of no running callback")
        let growth = ResidentMemory.current - residentBefore
        round.check(
            growth <= 16 << 20 || round.isFaulted || Sanitizer.current != nil || ResidentMemory.isWarmingUp,
            "P7.memory",
            "resident memory grew by \(growth >> 20) MiB beside a stuck callback"
        )
        gate.signal()
        prisoner.join()
        blocker.cancelAndWaitBlocking()
        round.checkRest()
    }
}

extension Worker {
    /// Waits for the end of an observation, and records the duration if there is a bound. (P7)
    fileprivate func cancelAndWait(_ subject: Subject, _ bound: TimedBound?) {
        guard let bound else { return cancelAndWait(subject) }
        let (start, inLine) = (nanoseconds(), QueueTimes.own)
        cancelAndWait(subject)
        bound.record(nanoseconds() - start, inLine: QueueTimes.own - inLine)
    }
}
