// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Scenario {
    /// Most threads notify without a pause; the others register and cancel in bulk, so that tables grow and shrink under walks.
    static let notificationStorm = Scenario(
        name: "notification-storm",
        summary: "notifications without a pause while tables grow, fill with the dead, and shrink",
        invariants: [
            "P1.exactly-once", "P1.bulk-hears", "P1.count-at-rest", "P8.silent-after-cancel-elsewhere", "P9.outcome",
            "P9.closure-destroyed", "P9.nothing-after-wait", "P14.not-while-called", "P14.nothing-left",
            "P16.backlog-drains", "P5.no-lock-around-user-code", "memory.table-in-use",
        ],
        windows: ["walked a table of 64 or more", "registered during a pass", "cancelled during a pass"],
        leastThreads: 3
    ) { epoch in
        let registry = ObserverRegistry<UInt64>()
        let stable = StableObservers(registry, count: 8)
        let cancelled = Announcement()
        let registrations = Atomic<UInt64>(0)
        let cancellations = Atomic<UInt64>(0)
        let churners = max(1, epoch.threads / 3)

        epoch.load([
            Epoch.Role(threads: epoch.threads - churners) { lane in
                lane.begin("notify")
                // Relaxed: hints for the windows.
                let before = (registrations.load(ordering: .relaxed), cancellations.load(ordering: .relaxed))
                let heard = lane.pass(registry)
                stable.check(heard, lane)
                if heard.calls >= 64 { lane.hit(0) }
                if registrations.load(ordering: .relaxed) != before.0 { lane.hit(1) }
                if cancellations.load(ordering: .relaxed) != before.1 { lane.hit(2) }
                if lane.operations & 7 == 0 { lane.checkCancelled(cancelled, registry) }
            },
            Epoch.Role(threads: churners) { lane in
                let count = 1 << lane.generator.below(10)
                var subjects: [Subject] = []
                for _ in 0..<count {
                    lane.begin("observe")
                    subjects.append(lane.observe(registry))
                    registrations.add(1, ordering: .relaxed)
                }
                lane.begin("notify bulk")
                let watched = subjects[lane.generator.below(count)].probe
                let heard = lane.pass(registry, watching: watched)
                stable.check(heard, lane)
                lane.check(
                    heard.watchedCalls == 1,
                    "P1.bulk-hears",
                    "called \(heard.watchedCalls) times, expected once"
                )
                lane.check(heard.calls >= count, "P1.bulk-hears", "\(heard.calls) calls for \(count) own observers")
                subjects.shuffle(using: &lane.generator)
                for subject in subjects {
                    lane.begin("end")
                    cancellations.add(1, ordering: .relaxed)
                    subject.probe.markEnding()
                    if lane.generator.oneIn(16) {
                        lane.cancelAndWait(subject)
                    } else {
                        subject.token.cancel()
                        cancelled.show(subject.probe)
                    }
                }
            },
        ])

        epoch.check(
            registry.observationCount == stable.count,
            "P1.count-at-rest",
            "\(registry.observationCount) observers, \(stable.count) expected"
        )
        withExtendedLifetime(stable) { epoch.checkRest(liveObservers: stable.count) }
    }
}
