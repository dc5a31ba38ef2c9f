// SPDX-License-Identifier: Apache-2.0

extension Round {
    /// Checks that all retired items are reclaimed, and that no observation is left. Call it when
    /// the objects of the scenario are gone.
    func checkRest(liveObservers: Int = 0) {
        guard violations.isEmpty else { return }
        let outcome = drain()
        let now = ConcurrentObserveDiagnostics.current()
        let before = (context as? ConcurrentObserveDiagnostics)?.liveObservers ?? 0
        if outcome == .timedOut { WaitInVain.note(20_000_000_000) }
        check(outcome == .finished, "P16.backlog-drains", "drain ended with \(outcome); \(now)")
        check(now.backlog == 0, "P16.backlog-drains", "\(now.backlog) items are not reclaimed at rest")
        check(now.liveObservers == before + liveObservers, "P14.nothing-left") {
            "\(now.liveObservers - before) observations are live at rest, \(liveObservers) expected"
        }
        #if INSTRUMENTED
        check(Instrumentation.walksOnFreedTables == 0, "memory.table-in-use") {
            "\(Instrumentation.walksOnFreedTables) walks ended on a freed table"
        }
        #endif
    }

    /// Waits until the library has done its deferred work, and the work that follows from it: a
    /// deinit may have ended other observations.
    @discardableResult
    func drain() -> WaitOutcome {
        var outcome = WaitOutcome.finished
        var attempts = 0
        repeat {
            outcome = ConcurrentObserveDiagnostics.drain(deadline: .now + .seconds(20))
            attempts += 1
        } while outcome == .finished && attempts < 50 && ConcurrentObserveDiagnostics.current().backlog > 0
        return outcome
    }
}
