// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization

extension Scenario {
    /// One callback blocks for the whole epoch; everything else goes on, on its registry and on others.
    static let stuckCallback = Scenario(
        name: "stuck-callback",
        summary:
            "a callback blocks throughout; others on its registry and elsewhere are cancelled, waited for, destroyed",
        invariants: [
            "P7.others-are-waited-for", "P7.others-are-destroyed", "P7.memory", "P7.diagnosed", "P9.outcome",
            "P9.closure-destroyed", "P9.nothing-after-wait", "P14.not-while-called", "P14.nothing-left",
            "P16.backlog-bounded", "P16.backlog-drains", "P5.no-lock-around-user-code", "memory.table-in-use",
        ],
        windows: [
            "waited beside a stuck callback", "destroyed beside a stuck callback",
            "table replaced under a stuck callback",
        ],
        // P7.others-are-waited-for is held against the clock: a thread that waits for its turn among dozens is late without anybody's fault.
        spared: .crowd
    ) { epoch in
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
        let prisoner = Thread { stuck.notify(0) }
        entered.wait()
        // The library waits for grace periods when tables are replaced, and only then.
        let gracePeriodsBefore = ConcurrentObserveDiagnostics.current().gracePeriods
        let residentBefore = ResidentMemory.current
        let waits = Guarded(Histogram())
        let delays = Guarded(Histogram())

        epoch.load { lane in
            for registry in [stuck, other] {
                lane.begin("observe")
                let subject = lane.observe(registry)
                lane.pass(registry, watching: subject.probe)
                if lane.generator.oneIn(8) {
                    let start = nanoseconds()
                    lane.cancelAndWait(subject)
                    let wait = nanoseconds() - start
                    if lane.generator.oneIn(8) { waits.withLock { $0.record(wait) } }
                    lane.hit(0)
                } else {
                    lane.begin("cancel")
                    subject.probe.markEnding()
                    subject.token.cancel()
                    lane.awaitOthers(subject.probe, delays)
                }
            }
            lane.checkBacklog()
        }

        if ConcurrentObserveDiagnostics.current().gracePeriods > gracePeriodsBefore { epoch.lanes.first?.hit(2) }
        let wait = waits.withLock { $0.quantile(0.5) } ?? 0
        epoch.check(
            wait <= 1_000_000 * Sanitizer.slowdown,
            "P7.others-are-waited-for",
            "half of the waits beside a stuck callback took longer than \(wait / 1000) µs"
        )
        let delay = delays.withLock { $0.quantile(0.5) } ?? 0
        epoch.check(
            delay <= 100_000_000 * Sanitizer.slowdown,
            "P7.others-are-destroyed",
            "half of the closures beside a stuck callback were destroyed later than \(delay / 1_000_000) ms"
        )
        _ = ConcurrentObserveDiagnostics.current()
        let age = ConcurrentObserveDiagnostics.current().oldestCallbackAge
        epoch.check(age != nil, "P7.diagnosed", "the diagnostics know of no running callback")
        let growth = ResidentMemory.current - residentBefore
        epoch.check(
            growth <= 16 << 20 || Sanitizer.current != nil || ResidentMemory.isWarmingUp,
            "P7.memory",
            "resident memory grew by \(growth >> 20) MiB beside a stuck callback"
        )
        gate.signal()
        prisoner.join()
        blocker.cancelAndWaitBlocking()
        epoch.checkRest()
    }
}

extension Lane {
    /// Now and then waits until a closure is destroyed although a callback beside it is stuck. (P7, P14)
    fileprivate func awaitOthers(_ probe: ProbeReference, _ delays: Guarded<Histogram>) {
        guard generator.oneIn(256) else { return }
        let delay = waitOnSchedule { probe.destroyed != 0 }
        check(probe.destroyed == 1, "P7.others-are-destroyed", "not destroyed ten seconds after the end")
        hit(1)
        delays.withLock { $0.record(delay) }
    }
}
