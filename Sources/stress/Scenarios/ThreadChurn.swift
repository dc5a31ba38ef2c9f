// SPDX-License-Identifier: Apache-2.0

extension Scenario {
    /// Threads notify a few times, and exit.
    static let threadChurn = Scenario(
        name: "thread-churn",
        summary: "bursts of threads that use the library once and exit",
        invariants: [
            "P17.records-return", "P17.exiting-thread-receives", "P5.no-lock-around-user-code", "memory.table-in-use",
        ] + checkedAtRest,
        windows: ["100 threads came and went"]
    ) { round in
        let registry = ObserverRegistry<UInt64>()
        let burst = 4
        let standing = registry.observe { _ in checkUserCode("callback") }
        let before = ConcurrentObserveDiagnostics.current().threadRecords
        let started = Tally()

        round.load { worker in
            worker.begin("burst")
            concurrently(burst) { index in
                let calls = Tally()
                let token = registry.observe { _ in calls.increment() }
                registry.notify(UInt64(index))
                let isCalled = calls.value >= 1
                round.check(isCalled, "P17.exiting-thread-receives", "an observer missed its own thread's event")
                if index == 0 { token.cancelAndWaitBlocking() }
            }
            started += UInt64(burst)
            worker.checks += UInt64(burst)
            if started.value >= 100 { worker.hit(0) }
        }

        standing.cancelAndWaitBlocking()
        round.checkRest()
        let records = ConcurrentObserveDiagnostics.current().threadRecords
        // All items of a burst, and those that the deinit threads have taken.
        let bound = before + round.threads * (burst + 1) + 64
        let threads = started.value
        round.check(records <= bound, "P17.records-return", "\(records) records of \(threads) threads, bound \(bound)")
    }
}
