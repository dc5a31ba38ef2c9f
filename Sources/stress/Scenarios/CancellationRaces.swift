// SPDX-License-Identifier: Apache-2.0

extension Scenario {
    /// Threads share a few observations whose callbacks take some time, and end them in all
    /// possible ways.
    static let cancellationRaces = Scenario(
        name: "cancellation-races",
        summary: "cancel, cancelAndWait and release, from outside, from two threads at once and from the own callback",
        invariants: [
            "P8.inactive-after-cancel", "P9.deferred-in-callback", "P14.destroyed-once", "memory.table-in-use",
        ] + checkedInCallbacks + checkedByWaits + checkedAtRest,
        windows: [
            "cancelAndWait while the callback ran", "two threads ended one observation",
            "cancelAndWait in the own callback", "token released in its own callback",
        ],
        leastThreads: 3
    ) { round in
        let registry = ObserverRegistry<UInt64>()
        let slots = (0..<4).map { _ in Place<Subject>() }

        round.load { worker in
            let slot = slots[worker.generator.below(slots.count)]
            switch worker.generator.below(8) {
            case 0...3:
                worker.begin("notify")
                worker.pass(registry)
            case 4:
                worker.begin("replace")
                let subject = worker.observe(registry) { worker, _ in
                    guard let worker else { return }
                    spin(nanoseconds: worker.generator.next() % 3_000)
                    if worker.generator.oneIn(64) { worker.endFromWithin(slot) }
                }
                worker.end(slot.exchange(subject))
            case 5:
                // The token stays in its slot, so that other threads can end the observation, too.
                guard let subject = slot.content else { return }
                if subject.probe.isRunning { worker.hit(0) }
                if subject.probe.isEnding { worker.hit(1) }
                worker.cancelAndWait(subject)
            case 6:
                guard let subject = slot.content else { return }
                if subject.probe.isEnding { worker.hit(1) }
                worker.cancel(subject)
                worker.check(!subject.token.isActive, "P8.inactive-after-cancel", "the token is active after cancel()")
            default:
                worker.end(slot.exchange(nil))
            }
        }

        for slot in slots { slot.exchange(nil).map { round.finish($0, destroyed: "P14.destroyed-once") } }
        round.checkRest()
    }
}

extension Worker {
    /// Ends an observation that was taken out of its slot: waits for its end, or releases the
    /// token.
    fileprivate func end(_ subject: Subject?) {
        guard let subject else { return }
        if generator.oneIn(2) {
            if subject.probe.isRunning { hit(0) }
            cancelAndWait(subject)
            check(subject.probe.destroyed == 1, "P14.destroyed-once", "destroyed \(subject.probe.destroyed) times")
        } else {
            begin("release")
            subject.probe.markEnding()
        }
    }

    /// Ends the observation in the slot, inside a callback. In most cases it is the observation
    /// whose callback is running.
    fileprivate func endFromWithin(_ slot: Place<Subject>) {
        guard let subject = slot.exchange(nil) else { return }
        subject.probe.markEnding()
        if generator.oneIn(2) {
            begin("cancelAndWait in a callback")
            cancelAndWaitWithin(subject.token)
            check(!subject.token.isActive, "P8.inactive-after-cancel", "the token is active after cancelAndWait")
            hit(2)
        } else {
            begin("release in a callback")
            hit(3)
        }
    }
}
