// SPDX-License-Identifier: Apache-2.0

extension Scenario {
    /// Callbacks notify, register and cancel on the registry that is calling them. They nest deeper
    /// than the number of frames in a thread's record.
    static let reentrancy = Scenario(
        name: "reentrancy",
        summary: "callbacks that notify, register and cancel on the registry that calls them, nested deeply",
        invariants: [
            "P6.not-in-this-pass", "P1.exactly-once", "P9.deferred-in-callback", "P9.frames-in-use",
            "memory.table-in-use",
        ] + checkedInCallbacks + checkedAtRest,
        windows: [
            "nested twice or deeper", "nested deeper than the frames of a record", "cancelled a sibling",
            "cancelled a sibling after the table had grown", "registered in a pass",
            "dropped the registry in its own pass",
        ]
    ) { round in
        let shared = ObserverRegistry<UInt64>()
        let stable = StableObservers(shared, count: 4)
        let nesting = shared.observe { event in
            guard let worker = Worker.current else { return }
            worker.depth += 1
            defer { worker.depth -= 1 }
            // One notification in eight, also the first, nests deeper than the frames of a record.
            // The event says which one.
            let limit = event & 7 == 1 ? 12 : 3
            if worker.depth >= 2 { worker.hit(0) }
            if worker.depth > 8 { worker.hit(1) }
            if worker.depth < limit { stable.check(worker.pass(shared), worker) }
        }

        round.load { worker in
            worker.begin("nest")
            stable.check(worker.pass(shared), worker)
            worker.begin("ring")
            Ring(worker).run(worker)
            worker.begin("extra observer")
            let extra = worker.observe(shared)
            stable.check(worker.pass(shared, watching: extra.probe), worker)
        }

        nesting.cancelAndWaitBlocking()
        withExtendedLifetime(stable) { round.checkRest(liveObservers: stable.count) }
        #if INSTRUMENTED
        let frames = Instrumentation.framesInUse
        round.check(frames == 0, "P9.frames-in-use", "a wait looks at \(frames) frames while no callback runs")
        #endif
    }
}

/// A registry that one thread uses. Its observers register and cancel each other during a
/// notification.
private final class Ring: @unchecked Sendable {
    // Unchecked: one thread uses it.
    private var registry: ObserverRegistry<UInt64>? = ObserverRegistry<UInt64>()
    private var subjects: [Subject] = []

    init(_ worker: Worker) {
        for position in 0..<6 {
            let subject = worker.observe(registry!) { [unowned self] worker, _ in
                if let worker { interfere(worker, from: position) }
            }
            subjects.append(subject)
        }
    }

    func run(_ worker: Worker) {
        for _ in 0..<3 {
            guard let registry else { break }
            worker.pass(registry)
        }
        for subject in subjects { subject.end() }
    }

    private func interfere(_ worker: Worker, from position: Int) {
        guard worker.depth == 1 else { return }
        let grows = worker.generator.oneIn(4)
        if grows, let registry {
            // More than the table has room for, so that the entries are copied to another table.
            for _ in 0..<10 {
                let subject = worker.observe(registry)
                worker.pass.mustNotCall.insert(subject.probe.serial)
                subjects.append(subject)
            }
            worker.hit(4)
        }
        if worker.generator.oneIn(3), position < 5 {
            let sibling = subjects[position + 1 + worker.generator.below(5 - position)]
            if worker.generator.oneIn(2) {
                sibling.token.cancel()
            } else {
                worker.cancelAndWaitWithin(sibling.token)
            }
            worker.pass.mustNotCall.insert(sibling.probe.serial)
            worker.hit(grows ? 3 : 2)
        }
        if worker.generator.oneIn(64) {
            registry = nil
            worker.hit(5)
        }
    }
}
