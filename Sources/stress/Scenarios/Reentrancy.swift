// SPDX-License-Identifier: Apache-2.0

extension Scenario {
    /// Callbacks notify, register and cancel on the registry that is calling them, deeper than a thread has frames.
    static let reentrancy = Scenario(
        name: "reentrancy",
        summary: "callbacks that notify, register and cancel on the registry that calls them, nested deeply",
        invariants: [
            "P6.not-in-this-pass", "P1.exactly-once", "P9.deferred-in-callback", "P9.nothing-after-wait",
            "P9.frames-in-use",
            "P14.not-while-called", "P14.nothing-left", "P16.backlog-drains", "P5.no-lock-around-user-code",
            "memory.table-in-use",
        ],
        windows: [
            "nested twice or deeper", "nested deeper than the frames of a record", "cancelled a sibling",
            "cancelled a sibling after the table had grown", "registered in a pass",
            "dropped the registry in its own pass",
        ]
    ) { epoch in
        let shared = ObserverRegistry<UInt64>()
        let stable = StableObservers(shared, count: 4)
        let nesting = shared.observe { event in
            guard let lane = Lane.current else { return }
            lane.depth += 1
            defer { lane.depth -= 1 }
            // One pass in eight, the first included, nests deeper than the frames of a record; the event says which.
            let limit = event & 7 == 1 ? 12 : 3
            if lane.depth >= 2 { lane.hit(0) }
            if lane.depth > 8 { lane.hit(1) }
            if lane.depth < limit { stable.check(lane.pass(shared), lane) }
        }

        epoch.load { lane in
            lane.begin("nest")
            stable.check(lane.pass(shared), lane)
            lane.begin("ring")
            Ring(lane).run(lane)
            lane.begin("extra observer")
            let extra = lane.observe(shared)
            stable.check(lane.pass(shared, watching: extra.probe), lane)
        }

        nesting.cancelAndWaitBlocking()
        withExtendedLifetime(stable) { epoch.checkRest(liveObservers: stable.count) }
        #if INSTRUMENTED
        let framesInUse = Instrumentation.framesInUse
        epoch.check(
            framesInUse == 0,
            "P9.frames-in-use",
            "a wait looks at \(framesInUse) frames while no callback runs"
        )
        #endif
    }
}

/// A registry of one thread, whose observers interfere with each other within a pass.
private final class Ring: @unchecked Sendable {
    // Unchecked: one thread uses it.
    private var registry: ObserverRegistry<UInt64>? = ObserverRegistry<UInt64>()
    private var subjects: [Subject] = []

    init(_ lane: Lane) {
        for position in 0..<6 {
            let subject = lane.observe(registry!) { [unowned self] lane, _ in
                if let lane { interfere(lane, from: position) }
            }
            subjects.append(subject)
        }
    }

    func run(_ lane: Lane) {
        for _ in 0..<3 {
            guard let registry else { break }
            lane.pass(registry)
        }
        for subject in subjects {
            subject.probe.markEnding()
            subject.token.cancelAndWaitBlocking()
            subject.probe.markDead()
        }
    }

    private func interfere(_ lane: Lane, from position: Int) {
        guard lane.depth == 1 else { return }
        let grows = lane.generator.oneIn(4)
        if grows, let registry {
            // More than the table has room for: the siblings' entries move to another.
            for _ in 0..<10 {
                let subject = lane.observe(registry)
                lane.pass.mustNotCall.insert(subject.probe.serial)
                subjects.append(subject)
            }
            lane.hit(4)
        }
        if lane.generator.oneIn(3), position < 5 {
            let sibling = subjects[position + 1 + lane.generator.below(5 - position)]
            if lane.generator.oneIn(2) {
                sibling.token.cancel()
            } else {
                let outcome = sibling.token.cancelAndWaitBlocking()
                lane.check(
                    outcome == .deferred,
                    "P9.deferred-in-callback",
                    "cancelAndWait in a callback returned \(outcome)"
                )
            }
            lane.pass.mustNotCall.insert(sibling.probe.serial)
            lane.hit(grows ? 3 : 2)
        }
        if lane.generator.oneIn(64) {
            registry = nil
            lane.hit(5)
        }
    }
}
