// SPDX-License-Identifier: Apache-2.0

extension Scenario {
    /// Tasks notify on several threads in turn, and wait for the end of observations without
    /// blocking a thread.
    static let asynchronousUse = Scenario(
        name: "asynchronous-use",
        summary: "tasks that notify across suspensions and await cancelAndWait, cancelled or not",
        invariants: [
            "P9.async-outcome", "P9.async-closure-destroyed", "P9.async-cancelled-task",
            "P1.async-own-observer-receives", "P5.no-lock-around-user-code", "memory.table-in-use",
        ] + checkedAtRest,
        windows: ["awaited while the callback ran", "awaited by a cancelled task"]
    ) { round in
        let registry = ObserverRegistry<UInt64>()
        let standing = registry.observe { event in if event & 63 == 0 { spin(nanoseconds: 20_000) } }

        round.load { worker in
            worker.begin("task")
            let seed = worker.generator.next()
            let use = AwaitedTask { await observeAndEnd(registry, seed, round) }
            if seed & 3 == 0 {
                use.task.cancel()
                worker.hit(1)
            }
            worker.pass(registry)
            if use.result() { worker.hit(0) }
            worker.checks += 3
        }

        standing.cancelAndWaitBlocking()
        round.checkRest()
    }
}

/// Registers, notifies on several threads one after the other, ends the observation, and checks
/// each step.
///
/// - Returns: Whether the callback was running when the wait began.
private func observeAndEnd(_ registry: ObserverRegistry<UInt64>, _ seed: UInt64, _ round: Round) async -> Bool {
    let calls = Tally()
    let subject = Subject(serial: seed) { call in
        registry.observe { event in
            call { _ in
                calls.increment()
                if event & 7 == 0 { spin(nanoseconds: 5_000) }
            }
        }
    }
    for _ in 0..<4 {
        let before = calls.value
        registry.notify(seed)
        round.check(calls.value > before, "P1.async-own-observer-receives", "an observer missed its own task's event")
        await Task.yield()
    }
    let wasRunning = subject.probe.isRunning
    let (outcome, destroyed) = await subject.awaitEnd()
    round.check(outcome == .finished, "P9.async-outcome", "await cancelAndWait() returned \(outcome)")
    let invariant = Task.isCancelled ? "P9.async-cancelled-task" : "P9.async-closure-destroyed"
    round.check(destroyed == 1, invariant, "the closure was destroyed \(destroyed) times at the return")
    return wasRunning
}
