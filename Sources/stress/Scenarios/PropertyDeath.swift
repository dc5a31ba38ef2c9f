// SPDX-License-Identifier: Apache-2.0

extension Scenario {
    /// The last references to properties are released on any thread. At the same time others change
    /// the properties, register, and cancel their tokens.
    static let propertyDeath = Scenario(
        name: "property-death",
        summary: "the last reference to a property goes while others change it, register and cancel",
        invariants: ["P12.end-last", "P12.end-once", "P12.reason", "P14.destroyed-once", "P14.value-destroyed"]
            + checkedInCallbacks + checkedAtRest,
        windows: ["died with observers", "cancelled before the end", "dropped in a callback"],
        leastThreads: 3
    ) { round in
        let slots = (0..<4).map { _ in Place<Source>() }
        let (records, alive) = (EndRecords(), Tally())

        round.load { worker in
            let slot = slots[worker.generator.below(slots.count)]
            switch worker.generator.below(8) {
            case 0:
                worker.begin("make a property")
                let source = Source(Observed(worker.value(countedIn: alive)))
                for _ in 0...worker.generator.below(12) { worker.register(source, slot, records) }
                _ = slot.exchange(source)
            case 1:
                worker.begin("drop a property")
                let dropped = slot.exchange(nil)
                guard let subjects = dropped?.subjects, !subjects.isEmpty else { return }
                worker.hit(0)
            case 2:
                worker.begin("cancel a token")
                guard let source = slot.content else { return }
                guard let ended = source.subjects.randomElement(using: &worker.generator) else { return }
                worker.endNow(ended.subject)
                withExtendedLifetime(source) { ended.record.noteCancellation() }
                worker.hit(1)
            case 3:
                worker.begin("register")
                guard let source = slot.content else { return }
                worker.register(source, slot, records)
            default:
                worker.begin("set")
                guard let source = slot.content else { return }
                source.source.value = worker.value(countedIn: alive)
            }
        }

        for slot in slots { _ = slot.exchange(nil) }
        round.checkRest()
        records.check(round)
        let count = alive.value
        round.check(count == 0, "P14.value-destroyed", "\(count) values are alive after their properties' death")
    }
}

private typealias Source = KeptSource<Observed<TrackedValue>>

extension Worker {
    /// Makes a value that is counted while it is alive.
    fileprivate func value(countedIn alive: Tally) -> TrackedValue {
        alive += 1
        return TrackedValue(serial: uniqueSerial()) { alive -= 1 }
    }

    fileprivate func register(_ source: Source, _ slot: Place<Source>, _ records: EndRecords) {
        let subject = records.add { record in
            observe(source.source, options: generator.oneIn(4) ? .prior : []) { worker, _ in
                record.noteCall()
                guard let worker, worker.generator.oneIn(32) else { return }
                worker.hit(2)
                _ = slot.exchange(nil)
            }
        }
        source.keep(subject)
    }

    /// Cancels an observation or waits for its end. Other threads may do so at the same time.
    fileprivate func endNow(_ subject: Subject) {
        guard generator.oneIn(4) else { return cancel(subject) }
        begin("cancelAndWait")
        subject.end()
    }
}
