// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization

extension Scenario {
    /// Tasks that notify on one thread after another, and wait for the end of observations without
    /// holding a thread.
    static let asynchronousUse = Scenario(
        name: "asynchronous-use",
        summary: "tasks that notify across suspensions and await cancelAndWait, cancelled or not",
        invariants: [
            "P9.async-outcome", "P9.async-closure-destroyed", "P9.async-cancelled-task",
            "P1.async-own-observer-receives",
            "P14.nothing-left", "P16.backlog-drains", "P5.no-lock-around-user-code", "memory.table-in-use",
        ],
        windows: ["awaited while the callback ran", "awaited by a cancelled task"]
    ) { round in
        let registry = ObserverRegistry<UInt64>()
        let standing = registry.observe { event in if event & 63 == 0 { spin(nanoseconds: 20_000) } }

        round.load { worker in
            worker.begin("task")
            let seed = worker.generator.next()
            let done = DispatchSemaphore(value: 0)
            let found = Guarded(AsynchronousResult())
            let box = ResultBox(found)
            let task = Task.detached {
                box.set(await asynchronousRound(registry, seed, round))
                done.signal()
            }
            if seed & 3 == 0 { task.cancel() }
            worker.pass(registry)
            done.wait()
            let result = box.value
            if result.wasRunning { worker.hit(0) }
            if seed & 3 == 0 { worker.hit(1) }
            worker.checks += 3
        }

        standing.cancelAndWaitBlocking()
        round.checkRest()
    }
}

private struct AsynchronousResult: Sendable {
    var wasRunning = false
}

private final class ResultBox: Sendable {
    private let content: Guarded<AsynchronousResult>

    init(_ content: Guarded<AsynchronousResult>) { self.content = content }

    var value: AsynchronousResult { content.withLock { $0 } }
    func set(_ result: AsynchronousResult) { content.withLock { $0 = result } }
}

/// Registers, notifies on several threads one after another, ends the observation, and checks each
/// step.
private func asynchronousRound(
    _ registry: ObserverRegistry<UInt64>,
    _ seed: UInt64,
    _ round: Round
) async -> AsynchronousResult {
    let calls = CallCount()
    let subject = observe(registry, seed, calls)
    let (probe, token) = (subject.probe, subject.token)
    for _ in 0..<4 {
        let before = calls.value
        registry.notify(seed)
        round.check(calls.value > before, "P1.async-own-observer-receives", "an observer missed its own task's event")
        await Task.yield()
    }
    let wasRunning = probe.isRunning
    probe.markEnding()
    let outcome = await token.cancelAndWait()
    probe.markDead()
    round.check(outcome == .finished, "P9.async-outcome", "await cancelAndWait() returned \(outcome)")
    round.check(
        probe.destroyed == 1,
        Task.isCancelled ? "P9.async-cancelled-task" : "P9.async-closure-destroyed",
        "the closure was destroyed \(probe.destroyed) times at the return"
    )
    return AsynchronousResult(wasRunning: wasRunning)
}

/// Apart, so that the asynchronous function keeps no reference to what the closure captures.
private func observe(_ registry: ObserverRegistry<UInt64>, _ seed: UInt64, _ calls: CallCount) -> Subject {
    let probe = ProbeReference.make(serial: seed)
    let capture = Capture(probe)
    let token = registry.observe { event in
        guarded(probe) { _ in
            calls.increment()
            if event & 7 == 0 { spin(nanoseconds: 5_000) }
        }
        withExtendedLifetime(capture) {}
    }
    return Subject(probe: probe, token: token)
}

private final class CallCount: Sendable {
    private let count = Atomic<Int>(0)

    func increment() { count.add(1, ordering: .relaxed) }
    var value: Int { count.load(ordering: .relaxed) }
}
