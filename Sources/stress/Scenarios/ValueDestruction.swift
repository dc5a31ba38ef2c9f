// SPDX-License-Identifier: Apache-2.0

import Glibc

extension Scenario {
    /// The deinitialisers of values use the property in which they were replaced, or block.
    static let valueDestruction = Scenario(
        name: "value-destruction",
        summary: "values whose deinit reads, changes and observes their property, or blocks",
        invariants: [
            "P5.no-lock-around-user-code", "P5.not-on-another-writer", "P5.not-on-the-reclamation-thread",
            "P5.deferred-in-deinit", "P2.whole-value", "P14.not-while-read", "P14.value-destroyed", "P14.prompt",
        ] + checkedAtRest,
        windows: [
            "deinit that re-enters", "deinit that blocks", "borrowed while it was replaced", "P14.prompt was judged",
        ],
        // P14.prompt is a time limit. Among dozens of threads, each would wait for a processor most
        // of the time, and no round could judge the limit.
        excluded: [.crowd]
    ) { round in
        let property = Observed(TrackedValue(serial: 0))
        let standing = property.observe { change in
            checkUserCode("callback")
            guard let worker = Worker.current else { return }
            if let old = change.old { worker.check(old, "when it is delivered as the old value") }
            worker.check(change.new, "when it is delivered as the new value")
        }
        let (reentered, blocked) = (Tally(), Tally())
        let delays = TimedBound("P14.prompt", limit: 100_000_000, window: 3)

        round.load { worker in
            worker.begin("set")
            let serial = worker.uniqueSerial()
            let probe = worker.put(serial, into: property) { [weak property] kind in
                switch kind {
                case 0:
                    usleep(5_000)
                    blocked.increment()
                case 1..<60:
                    guard let property else { return }
                    reenter(round, property)
                    reentered.increment()
                default:
                    break
                }
            }
            worker.begin("borrow")
            property.withValue { value in
                worker.check(value, "when it is borrowed")
                if worker.generator.oneIn(16) { usleep(50) }
                if property.version & 1 == 0 { sched_yield() }
                if property.withValue({ $0.serial }) != value.serial { worker.hit(2) }
                worker.check(value, "while it is borrowed")
            }
            worker.begin("await a destruction")
            worker.awaitReplacement(of: probe, serial, property, delays)
        }

        if reentered.value > 0 { round.workers.first?.hit(0) }
        if blocked.value > 0 { round.workers.first?.hit(1) }
        delays.judge(round, "half of the values were destroyed later after their replacement than")
        standing.cancelAndWaitBlocking()
        round.checkRest()
    }
}

/// Uses a property in the deinit of one of its values. Waiting is deferred there. (P5, P9)
private func reenter(_ round: Round, _ property: Observed<TrackedValue>) {
    let token = property.observe { _ in checkUserCode("callback") }
    let serial = property.withValue { $0.serial }
    property.value = TrackedValue(serial: serial | 1 << 63)
    let outcome = token.cancelAndWaitBlocking()
    guard Worker.current == nil else { return }
    round.check(outcome == .deferred, "P5.deferred-in-deinit", "cancelAndWait in a deinit returned \(outcome)")
    round.check(Line.first(of: "/proc/thread-self/comm") != "observe-reclaim\n", "P5.not-on-the-reclamation-thread") {
        "the thread that waits for grace periods destroys a value"
    }
}

extension Worker {
    /// Makes a value and sets the property to it. Keeps no reference to the value.
    ///
    /// - Parameter atEnd: Called by the value's deinit with a random number below 1,000.
    @inline(never)
    fileprivate func put(
        _ serial: UInt64,
        into property: Observed<TrackedValue>,
        atEnd: @escaping @Sendable (_ kind: Int) -> Void
    ) -> ProbeReference {
        let kind = generator.below(1_000)
        let maker = index
        let value = TrackedValue(serial: serial) {
            // A thread of the scenario borrows values and keeps none. It may release the last
            // reference only of its own values.
            if let worker = Worker.current {
                worker.check(worker.index == maker, "P5.not-on-another-writer") {
                    "at \(worker.currentStep), thread \(worker.index) destroys a value of thread \(maker)"
                }
            }
            atEnd(kind)
        }
        if generator.oneIn(4) {
            property.modify { $0 = value }
        } else {
            property.value = value
        }
        return value.probe
    }

    /// Sometimes replaces the thread's own value, waits until it is destroyed, and does not use the
    /// library for that. Records the duration. (P14)
    fileprivate func awaitReplacement(
        of probe: ProbeReference,
        _ serial: UInt64,
        _ property: Observed<TrackedValue>,
        _ bound: TimedBound
    ) {
        guard generator.oneIn(64) else { return }
        property.value = TrackedValue(serial: uniqueSerial())
        let isDestroyed = wait(bound) { probe.destroyed != 0 }
        check(probe.serial != serial || isDestroyed && probe.destroyed <= 1, "P14.value-destroyed") {
            "destroyed \(probe.destroyed) times ten seconds after it was replaced"
        }
    }
}
