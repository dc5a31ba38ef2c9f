// SPDX-License-Identifier: Apache-2.0

extension Scenario {
    /// The last references to registries are released on any thread. At the same time others
    /// notify, register, and cancel their tokens.
    static let registryDeath = Scenario(
        name: "registry-death",
        summary: "the last reference to a registry goes while others notify, register and cancel",
        invariants: [
            "P11.not-retained", "P12.end-once", "P12.reason", "P12.inactive", "P14.not-while-called",
            "P14.destroyed-once", "P5.no-lock-around-user-code", "memory.table-in-use",
        ] + checkedAtRest,
        windows: [
            "source died with tokens alive", "cancelled before the source died", "dropped in a callback",
            "asked when the closure was gone",
        ],
        leastThreads: 3
    ) { round in
        let slots = (0..<4).map { _ in Place<Source>() }
        let records = EndRecords()

        round.load { worker in
            let slot = slots[worker.generator.below(slots.count)]
            switch worker.generator.below(8) {
            case 0:
                worker.begin("make a source")
                let source = Source(ObserverRegistry(label: "source"))
                for _ in 0...worker.generator.below(12) {
                    let subject = records.add(listensLate: worker.generator.oneIn(4)) { _ in
                        worker.observe(source.source) { worker, _ in
                            guard let worker, worker.generator.oneIn(32) else { return }
                            worker.hit(2)
                            _ = slot.exchange(nil)
                        }
                    }
                    source.keep(subject)
                }
                _ = slot.exchange(source)
            case 1:
                worker.begin("drop a source")
                guard let source = slot.exchange(nil) else { return }
                let subjects = source.subjects
                worker.endSource(source, subjects)
            case 2:
                guard let ended = slot.content?.subjects.randomElement(using: &worker.generator) else { return }
                worker.cancel(ended.subject)
                worker.hit(1)
                guard ended.listensLate else { return }
                worker.begin("ask for the end late")
                if ended.listenLate() { worker.hit(3) }
            case 3:
                worker.begin("register")
                guard let source = slot.content else { return }
                let subject = worker.observe(source.source)
                worker.pass(source.source, watching: subject.probe)
            default:
                worker.begin("notify")
                guard let source = slot.content else { return }
                worker.pass(source.source)
            }
        }

        for slot in slots { _ = slot.exchange(nil) }
        round.checkRest()
        records.check(round)
    }
}

private typealias Source = KeptSource<ObserverRegistry<UInt64>>

extension Worker {
    /// Releases the slot's last reference. If it was the last of all, checks that the source's
    /// death shows at once.
    fileprivate func endSource(_ source: consuming Source, _ subjects: [EndedSubject]) {
        weak let registry = source.source
        _ = consume source
        guard registry == nil else { return }
        hit(0)
        // Another thread may have begun to release the last reference.
        let limit = nanoseconds() + 10_000_000_000
        for subject in subjects {
            while subject.subject.token.isActive, nanoseconds() < limit { sleepBriefly() }
            check(!subject.subject.token.isActive, "P12.inactive", "a token is active after its source's death")
        }
        check(registry == nil, "P11.not-retained", "an observation keeps its source alive")
    }
}
