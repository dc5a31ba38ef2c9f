// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Scenario {
    /// Threads fight over a few observations whose callbacks take their time, and end them in every way there is.
    static let cancellationRaces = Scenario(
        name: "cancellation-races",
        summary: "cancel, cancelAndWait and release, from outside, from two threads at once and from the own callback",
        invariants: [
            "P8.inactive-after-cancel", "P9.outcome", "P9.closure-destroyed", "P9.inactive", "P9.nothing-after-wait",
            "P9.deferred-in-callback", "P14.not-while-called", "P14.destroyed-once",
            "P14.nothing-left",
            "P16.backlog-drains", "P5.no-lock-around-user-code", "memory.table-in-use",
        ],
        windows: [
            "cancelAndWait while the callback ran", "two threads ended one observation",
            "cancelAndWait in the own callback",
            "token released in its own callback",
        ],
        leastThreads: 3
    ) { epoch in
        let registry = ObserverRegistry<UInt64>()
        let slots = (0..<4).map { _ in Place<Subject>() }

        epoch.load { lane in
            let slot = slots[lane.generator.below(slots.count)]
            switch lane.generator.below(8) {
            case 0...3:
                lane.begin("notify")
                lane.pass(registry)
            case 4:
                lane.begin("replace")
                let subject = lane.observe(registry) { lane, _ in
                    guard let lane else { return }
                    spin(nanoseconds: lane.generator.next() % 3_000)
                    if lane.generator.oneIn(64) { lane.endFromWithin(slot) }
                }
                lane.end(slot.exchange(subject))
            case 5:
                // The token stays in its slot, for others to end it as well.
                guard let subject = slot.content else { return }
                if subject.probe.isRunning { lane.hit(0) }
                if subject.probe.isEnding { lane.hit(1) }
                lane.cancelAndWait(subject)
            case 6:
                guard let subject = slot.content else { return }
                lane.begin("cancel")
                if subject.probe.isEnding { lane.hit(1) }
                subject.probe.markEnding()
                subject.token.cancel()
                lane.check(!subject.token.isActive, "P8.inactive-after-cancel", "the token is active after cancel()")
            default:
                lane.end(slot.exchange(nil))
            }
        }

        for slot in slots { slot.exchange(nil).map { epoch.finish($0) } }
        epoch.checkRest()
    }
}

extension Lane {
    /// Ends an observation that has left its slot: waits for it, or releases the token.
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

    /// In a callback: ends whatever is in the slot, most often the observation that is being called.
    fileprivate func endFromWithin(_ slot: Place<Subject>) {
        guard let subject = slot.exchange(nil) else { return }
        subject.probe.markEnding()
        if generator.oneIn(2) {
            begin("cancelAndWait in a callback")
            let outcome = subject.token.cancelAndWaitBlocking()
            check(outcome == .deferred, "P9.deferred-in-callback", "cancelAndWait in a callback returned \(outcome)")
            check(!subject.token.isActive, "P8.inactive-after-cancel", "the token is active after cancelAndWait")
            hit(2)
        } else {
            begin("release in a callback")
            hit(3)
        }
    }
}

extension Epoch {
    /// At rest: ends what is left.
    fileprivate func finish(_ subject: Subject) {
        let outcome = subject.token.cancelAndWaitBlocking()
        check(outcome == .finished, "P9.outcome", "cancelAndWait outside callbacks returned \(outcome)")
        check(subject.probe.destroyed == 1, "P14.destroyed-once", "destroyed \(subject.probe.destroyed) times")
        check(!subject.token.isActive, "P9.inactive", "active after the end")
    }
}
