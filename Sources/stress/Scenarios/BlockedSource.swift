// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

extension Scenario {
    /// The deinitialisers of one source block all threads that the source may occupy. At the same
    /// time a thread ends more and more of its observations, and other threads use other sources.
    static let blockedSource = Scenario(
        name: "blocked-source",
        summary: "the deinitialisers of one source block, while observations of it and of other sources end",
        invariants: [
            "P16.blocked-source-pauses", "P14.others-are-destroyed", "P14.behind-a-blocked-one",
            "P5.no-lock-around-user-code", "memory.table-in-use",
        ] + checkedAtRest,
        windows: ["destroyed beside blocked ones"],
        // The library runs more threads here than a sanitizer can handle.
        unfit: [.thread, .address]
    ) { round in
        let gate = DispatchSemaphore(value: 0)
        let (begun, retired) = (Tally(), Tally())
        let registry = ObserverRegistry<UInt64>()
        // More closures than the largest number of the library's deinit threads.
        let count = 300
        for _ in 0..<count {
            registry.observe(atEnd: {
                begun.increment()
                gate.wait()
            }).cancel()
        }
        // The source may occupy half of the library's 256 threads; the rest serves other sources. A
        // blocked thread has taken several closures. Another thread must destroy the others.
        let patience = nanoseconds() + 10_000_000_000
        while begun.value < 128, nanoseconds() < patience { sched_yield() }
        let threads = begun.value
        round.check(threads >= 128, "P14.behind-a-blocked-one", "\(threads) of 128 threads destroy after ten seconds")
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
                worker.cancel(subject)
                guard worker.generator.oneIn(64) else { return }
                worker.awaitDestruction(subject.probe, "P14.others-are-destroyed")
                worker.hit(0)
            },
        ])

        // Half of the backlog that all sources share, items on their way, and a hundred a second.
        let most: UInt64 = 32_768 + 3 * 4_096 + 10 + (nanoseconds() - start) / 10_000_000
        let ended = retired.value
        round.check(ended <= most, "P16.blocked-source-pauses", "\(ended) observations ended, \(most) at most expected")
        for _ in 0..<count { gate.signal() }
        round.checkRest()
    }
}
