// SPDX-License-Identifier: Apache-2.0

extension Scenario {
    /// Every thread registers, notifies and cancels on one registry.
    static let registrationChurn = Scenario(
        name: "registration-churn",
        summary: "every thread registers, notifies and cancels on one registry",
        invariants: [
            "P1.exactly-once", "P1.own-observer-receives", "P1.announced-observer-receives", "P1.count-at-rest",
            "P8.silent-after-cancel", "P8.silent-after-cancel-elsewhere", "P10.silent-after-release",
            "P16.backlog-bounded", "memory.table-in-use",
        ] + checkedInCallbacks + checkedByWaits + checkedAtRest,
        windows: ["registered during another's pass", "saw another's registration", "saw another's cancellation"]
    ) { round in
        let registry = ObserverRegistry<UInt64>()
        let stable = StableObservers(registry, count: 6)
        let registered = Announcement()
        let cancelled = Announcement()

        round.load { worker in
            worker.begin("observe")
            var kept: Subject? = worker.observe(registry)
            let probe = kept!.probe
            registered.show(probe)

            worker.begin("notify own")
            let lastRegistered = registered.seen
            let received = worker.pass(registry, watching: probe)
            if registered.seen != lastRegistered { worker.hit(0) }
            stable.check(received, worker)
            worker.checkWatched(received, 1, "P1.own-observer-receives")
            worker.checkAnnounced(registered, registry, stable, window: 1)

            let isReleased = worker.end(&kept, cancelled)
            worker.begin("notify after the end")
            let silent = worker.pass(registry, watching: probe)
            stable.check(silent, worker)
            worker.checkWatched(silent, 0, isReleased ? "P10.silent-after-release" : "P8.silent-after-cancel")
            worker.checkCancelled(cancelled, registry, window: 2)
            worker.checkBacklog()
        }

        stable.checkRest(round, registry)
    }
}

extension Worker {
    /// Ends an observation by waiting, by cancelling, or by releasing its token.
    ///
    /// - Returns: Whether the token was released.
    fileprivate func end(_ subject: inout Subject?, _ cancelled: Announcement) -> Bool {
        guard let probe = subject?.probe else { return false }
        switch generator.below(8) {
        case 0, 1:
            cancelAndWait(subject!)
            return false
        case 2, 3:
            begin("release")
            probe.markEnding()
            subject = nil
            cancelled.show(probe)
            return true
        default:
            cancel(subject!)
            cancelled.show(probe)
            return false
        }
    }

    /// Checks that an observer receives the event if another thread announced it before this
    /// notification and has not begun to end it.
    func checkAnnounced(
        _ announcement: Announcement,
        _ registry: ObserverRegistry<UInt64>,
        _ stable: StableObservers,
        window: Int
    ) {
        guard let probe = announcement.seen, !probe.isEnding else { return }
        let serial = probe.serial
        begin("notify announced")
        let received = pass(registry, watching: probe)
        stable.check(received, self)
        if probe.isEnding || probe.serial != serial { return }
        hit(window)
        checkWatched(received, 1, "P1.announced-observer-receives")
    }

    /// Checks that an observer does not receive the event if another thread announced its
    /// cancellation before this notification.
    func checkCancelled(_ announcement: Announcement, _ registry: ObserverRegistry<UInt64>, window: Int? = nil) {
        guard let probe = announcement.seen else { return }
        begin("notify after another's cancel")
        let received = pass(registry, watching: probe)
        if let window { hit(window) }
        checkWatched(received, 0, "P8.silent-after-cancel-elsewhere")
    }

    /// Checks how often a notification has called the observer that it watched.
    func checkWatched(_ pass: PassRecord, _ expected: Int, _ invariant: StaticString) {
        let calls = pass.watchedCalls
        check(calls == expected, invariant, "an observer was called \(calls) times, \(expected) expected")
    }

    /// Checks that no more items wait for reclamation than all threads together may have. (P16)
    func checkBacklog() {
        if operations & 1023 < 8 { checkBacklogNow() }
    }

    func checkBacklogNow() {
        let backlog = ConcurrentObserveDiagnostics.current().backlog
        // Each thread may have 4096 items, the reclamation thread as many of each thread, and the
        // deinit threads about 65,536 and a batch.
        let bound = 2 * 4_500 * (round.threads + 4) + 80_000
        check(backlog <= bound, "P16.backlog-bounded", "\(backlog) items wait for reclamation, bound \(bound)")
    }
}
