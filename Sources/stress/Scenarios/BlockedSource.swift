// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Synchronization

extension Scenario {
    /// All threads that one source may occupy are blocked in its deinitialisers, while a thread
    /// ends more and more of its observations.
    static let blockedSource = Scenario(
        name: "blocked-source",
        summary: "the deinitialisers of one source block while its observations go on ending, and those of others",
        invariants: [
            "P16.blocked-source-pauses", "P14.others-are-destroyed", "P14.behind-a-blocked-one", "P14.nothing-left",
            "P16.backlog-drains",
            "P5.no-lock-around-user-code", "memory.table-in-use",
        ],
        windows: ["destroyed beside blocked ones"],
        // Many threads of the library's, more than a checker of memory keeps up with.
        unfit: [.thread, .address]
    ) { round in
        let gate = DispatchSemaphore(value: 0)
        let begun = Count()
        let retired = Count()
        let registry = ObserverRegistry<UInt64>()
        // More than there may be threads of the library's.
        let count = 300
        for _ in 0..<count {
            // Only the closure holds it: this thread must not hold the last reference.
            registry.observe { [capture = Gated(gate, begun)] _ in withExtendedLifetime(capture) {} }.cancel()
        }
        // Half of the library's threads, and no more: the rest is for others. A thread that is
        // blocked has taken others of the source with it: they are another's.
        let patience = nanoseconds() + 10_000_000_000
        while begun.value < 128, nanoseconds() < patience { sched_yield() }
        round.check(
            begun.value >= 128,
            "P14.behind-a-blocked-one",
            "\(begun.value) of 128 threads have begun to destroy after ten seconds"
        )
        let start = nanoseconds()

        round.load([
            Round.Role(threads: 1) { worker in
                worker.begin("retire for the blocked source")
                registry.observe { _ in }.cancel()
                retired.increment()
            },
            Round.Role(threads: round.threads - 1) { worker in
                worker.begin("observe")
                let other = ObserverRegistry<UInt64>()
                let subject = worker.observe(other)
                worker.pass(other, watching: subject.probe)
                worker.begin("cancel")
                subject.probe.markEnding()
                subject.token.cancel()
                guard worker.generator.oneIn(64) else { return }
                let isDestroyed = worker.wait { subject.probe.destroyed != 0 }
                worker.check(isDestroyed, "P14.others-are-destroyed", "not destroyed after ten seconds")
                worker.hit(0)
            },
        ])

        // Half of the room that all sources share, what is on its way, and a hundred each second.
        let most = 32_768 + 3 * 4_096 + Int((nanoseconds() - start) / 10_000_000) + 10
        round.check(
            retired.value <= most,
            "P16.blocked-source-pauses",
            "\(retired.value) observations of a blocked source were ended, \(most) at most should have been"
        )
        for _ in 0..<count { gate.signal() }
        round.checkRest()
    }
}

/// Is destroyed when the gate lets it.
private final class Gated: Sendable {
    private let gate: DispatchSemaphore
    private let begun: Count

    init(_ gate: DispatchSemaphore, _ begun: Count) { (self.gate, self.begun) = (gate, begun) }

    deinit {
        checkUserCode("deinit")
        begun.increment()
        gate.wait()
    }
}

private final class Count: Sendable {
    private let count = Atomic<Int>(0)

    // Relaxed, both: compared with a bound that is wider.
    func increment() { count.add(1, ordering: .relaxed) }
    var value: Int { count.load(ordering: .relaxed) }
}
