// SPDX-License-Identifier: Apache-2.0

extension Scenario {
    /// Most threads notify without a pause. The others register and cancel many observations, so
    /// that tables grow and shrink during walks.
    static let notificationStorm = Scenario(
        name: "notification-storm",
        summary: "notifications without a pause while tables grow, fill with the dead, and shrink",
        invariants: [
            "P1.exactly-once", "P1.bulk-receives", "P1.count-at-rest", "P8.silent-after-cancel-elsewhere", "P9.outcome",
            "P9.closure-destroyed", "memory.table-in-use",
        ] + checkedInCallbacks + checkedAtRest,
        windows: ["walked a table of 64 or more", "registered during a pass", "cancelled during a pass"],
        leastThreads: 3
    ) { round in
        let registry = ObserverRegistry<UInt64>()
        let stable = StableObservers(registry, count: 8)
        let cancelled = Announcement()
        let (registrations, cancellations) = (Tally(), Tally())
        let churners = max(1, round.threads / 3)

        round.load([
            Round.Role(threads: round.threads - churners) { worker in
                worker.begin("notify")
                let before = (registrations.value, cancellations.value)
                let received = worker.pass(registry)
                stable.check(received, worker)
                if received.calls >= 64 { worker.hit(0) }
                if registrations.value != before.0 { worker.hit(1) }
                if cancellations.value != before.1 { worker.hit(2) }
                if worker.operations & 7 == 0 { worker.checkCancelled(cancelled, registry) }
            },
            Round.Role(threads: churners) { worker in
                let count = 1 << worker.generator.below(10)
                var subjects: [Subject] = []
                for _ in 0..<count {
                    worker.begin("observe")
                    subjects.append(worker.observe(registry))
                    registrations.increment()
                }
                worker.begin("notify bulk")
                let watched = subjects[worker.generator.below(count)].probe
                let received = worker.pass(registry, watching: watched)
                stable.check(received, worker)
                worker.checkWatched(received, 1, "P1.bulk-receives")
                let calls = received.calls
                worker.check(calls >= count, "P1.bulk-receives", "\(calls) calls for \(count) own observers")
                subjects.shuffle(using: &worker.generator)
                for subject in subjects {
                    worker.begin("end")
                    cancellations.increment()
                    subject.probe.markEnding()
                    if worker.generator.oneIn(16) {
                        worker.cancelAndWait(subject)
                    } else {
                        subject.token.cancel()
                        cancelled.show(subject.probe)
                    }
                }
            },
        ])

        stable.checkRest(round, registry)
    }
}
