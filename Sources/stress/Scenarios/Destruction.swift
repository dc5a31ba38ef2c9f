// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

extension Scenario {
    /// Captures whose deinit uses the library, or blocks.
    static let destruction = Scenario(
        name: "destruction",
        summary: "captures whose deinit registers, notifies, cancels, drains, or blocks",
        invariants: [
            "P5.no-lock-around-user-code", "P5.not-on-the-canceller", "P5.deferred-in-deinit", "P9.outcome",
            "P9.closure-destroyed", "P9.nothing-after-wait", "P14.not-while-called", "P14.prompt", "P14.destroyed-once",
            "P14.nothing-left", "P16.backlog-drains", "memory.table-in-use",
        ],
        windows: [
            "deinit that re-enters", "deinit that blocks", "destroyed by the waiting thread", "P14.prompt was judged",
        ],
        // P14.prompt is held against the clock: among dozens of threads each would stand in line most of the time, and judge nothing.
        spared: .crowd
    ) { epoch in
        let registry = ObserverRegistry<UInt64>()
        let other = ObserverRegistry<UInt64>()
        let standing = other.observe { _ in checkUserCode("callback") }
        let reentered = Atomic<Int>(0)
        let blocked = Atomic<Int>(0)
        let delays = TimedBound("P14.prompt", limit: 100_000_000, window: 3)

        epoch.load { lane in
            lane.begin("observe")
            let kind = lane.generator.below(400)
            let watched = Guarded<ProbeReference?>(nil)
            let box = Box(watched)
            let subject = lane.observe(
                registry,
                atEnd: {
                    box.checkPlace(epoch)
                    switch kind {
                    case 0:
                        usleep(10_000)
                        blocked.add(1, ordering: .relaxed)
                    case 1..<100:
                        checkReentry(epoch, other)
                        reentered.add(1, ordering: .relaxed)
                    default:
                        break
                    }
                }
            )
            box.fill(subject.probe)
            lane.begin("notify")
            lane.pass(registry)
            if lane.generator.oneIn(3) {
                lane.cancelAndWait(subject)
                lane.hit(2)
            } else {
                lane.begin("cancel")
                subject.probe.markEnding()
                subject.token.cancel()
                lane.awaitDestruction(of: subject.probe, every: 64, delays)
            }
        }

        if reentered.load(ordering: .relaxed) > 0 { epoch.lanes.first?.hit(0) }
        if blocked.load(ordering: .relaxed) > 0 { epoch.lanes.first?.hit(1) }
        delays.judge(epoch, "half of the closures were destroyed later after the end than")
        standing.cancelAndWaitBlocking()
        epoch.checkRest()
    }
}

/// Tells the deinit of a capture which closure it belonged to.
private final class Box: Sendable {
    private let probe: Guarded<ProbeReference?>

    init(_ probe: Guarded<ProbeReference?>) { self.probe = probe }

    func fill(_ reference: ProbeReference) { probe.withLock { $0 = reference } }

    /// A thread of the scenario destroys a closure only if it waits for that very one. (P5)
    func checkPlace(_ epoch: Epoch) {
        guard let lane = Lane.current, let probe = probe.withLock({ $0 }) else { return }
        epoch.check(
            lane.waitsFor == probe,
            "P5.not-on-the-canceller",
            "thread \(lane.index), at \(lane.currentStep), destroys a closure that it does not wait for"
        )
    }
}

/// Uses the library from a deinit that the library runs: waiting is put off there. (P5, P9)
private func checkReentry(_ epoch: Epoch, _ registry: ObserverRegistry<UInt64>) {
    let token = registry.observe { _ in checkUserCode("callback") }
    registry.notify(0)
    let outcome = token.cancelAndWaitBlocking()
    epoch.check(outcome == .deferred, "P5.deferred-in-deinit", "cancelAndWait in a deinit returned \(outcome)")
    let drained = ConcurrentObserveDiagnostics.drain(deadline: .now)
    epoch.check(drained == .deferred, "P5.deferred-in-deinit", "drain in a deinit returned \(drained)")
}

extension Lane {
    /// Now and then waits, without using the library, until a closure is destroyed, and notes how long it took. (P14)
    fileprivate func awaitDestruction(
        of probe: ProbeReference,
        every times: UInt64,
        _ bound: TimedBound
    ) {
        guard generator.oneIn(times) else { return }
        let isDestroyed = wait(bound) { probe.destroyed != 0 }
        check(
            isDestroyed && probe.destroyed <= 1,
            "P14.destroyed-once",
            "destroyed \(probe.destroyed) times ten seconds after the end"
        )
    }
}
