// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Scenario {
    /// Most threads notify and read without a pause, in sections that RealtimeSanitizer watches.
    /// One thread registers, cancels and changes.
    static let realtimePath = Scenario(
        name: "realtime-path",
        summary: "notifying and reading, beside churn, neither allocate nor lock nor call the system",
        invariants: ["P1.stable-receives-all", "P2.reads-grow", "P15.nothing-forbidden"] + checkedAtRest,
        windows: ["notified during churn", "walked a table of 32 or more", "notified within a callback"],
        leastThreads: 3
    ) { round in
        let registry = ObserverRegistry<UInt64>()
        let inner = ObserverRegistry<UInt64>()
        let property = Observed<UInt64>(0)
        let received = (0..<round.threads).map { _ in Receipts() }
        let stable = [
            registry.observe { event in
                received[Int(event & 0xFF)].stable &+= 1
                inner.notify(event)
            },
            inner.observe { event in received[Int(event & 0xFF)].inner &+= 1 },
            // A further observer of every event.
            registry.observe { _ in },
        ]
        let churn = Churn()

        round.load([
            Round.Role(threads: round.threads - 1) { worker in
                worker.begin("notify and read")
                let own = received[worker.index]
                let event = UInt64(worker.index)
                let (before, nested) = (churn.steps, own.inner)
                // A thread's first notification allocates its record, so it is outside the section.
                if worker.operations == 1 { registry.notify(event) }
                let start = own.stable
                Realtime.bracket {
                    for _ in 0..<64 { registry.notify(event) }
                }
                worker.check(own.stable == start + 64, "P1.stable-receives-all", "received \(own.stable - start) of 64")
                var reads: (UInt64, UInt64) = (0, 0)
                _ = property.value
                Realtime.bracket { reads = (property.value, property.value) }
                worker.check(own.lastRead <= reads.0 && reads.0 <= reads.1, "P2.reads-grow") {
                    "read \(own.lastRead), then \(reads.0), then \(reads.1)"
                }
                own.lastRead = reads.1
                if churn.steps != before { worker.hit(0) }
                if churn.size >= 32 { worker.hit(1) }
                if own.inner > nested { worker.hit(2) }
            },
            Round.Role(threads: 1) { worker in
                worker.begin("churn")
                let tokens = (0..<worker.generator.below(64)).map { _ in registry.observe { _ in } }
                churn.step(to: tokens.count)
                property.modify { $0 += 1 }
                for token in tokens { token.cancel() }
                churn.step(to: 0)
            },
        ])

        for token in stable { token.cancelAndWaitBlocking() }
        round.checkRest()
    }
}

/// The counts of the changes that one thread has received.
private final class Receipts: @unchecked Sendable {
    // Unchecked: one thread writes it.
    var stable: UInt64 = 0
    var inner: UInt64 = 0
    /// The value that the thread has read last.
    var lastRead: UInt64 = 0
}

/// The progress of the thread that registers and cancels, as hints for the windows.
private final class Churn: Sendable {
    private let state = Atomic<Int>(0)

    var steps: Int { state.load(ordering: .relaxed) >> 8 }
    var size: Int { state.load(ordering: .relaxed) & 0xFF }

    func step(to size: Int) { state.store((steps + 1) << 8 | size, ordering: .relaxed) }
}
