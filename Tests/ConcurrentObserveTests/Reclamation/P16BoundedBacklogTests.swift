// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Glibc
import Testing

extension Promises {
    @Suite("P16 A bounded backlog")
    struct P16BoundedBacklogTests {}
}

// MARK: - drain

extension Promises.P16BoundedBacklogTests {
    @Test("P16 drain finishes when everything retired before it is reclaimed")
    func finished() throws {
        let lives = Lives()
        let registry = ObserverRegistry<Int>()
        for _ in 0..<20 {
            for _ in 0..<100 {
                let life = lives.make()
                registry.observe { _ in life.touch() }.cancel()
            }
            #expect(ConcurrentObserveDiagnostics.drain(deadline: .now + patience) == .finished)
            #expect(lives.alive == 0)
        }
        #expect(ConcurrentObserveDiagnostics.drain() == .finished)
    }

    @Test("P16 drain times out at its deadline while a callback holds its closure, then finishes")
    func timedOut() throws {
        let stuck = try StuckObservation()
        // Nothing of it is retired yet.
        try Process.settle()
        stuck.token.cancel()
        let begin = ContinuousClock.now
        #expect(ConcurrentObserveDiagnostics.drain(deadline: begin + glance) == .timedOut)
        #expect(ContinuousClock.now - begin >= glance)
        #expect(ConcurrentObserveDiagnostics.drain(deadline: .now) == .timedOut)
        #expect(ConcurrentObserveDiagnostics.current().backlog > 0)

        let drained = Signal("the drain")
        let drainer = TestThread {
            if ConcurrentObserveDiagnostics.drain() == .finished { drained.happen() }
        }
        #expect(!drained.happens(within: glance))
        stuck.exit.happen()
        try drained.wait()
        try drainer.join()
        try stuck.notifier.join()
    }

    @Test("P16 A drain that waits for a callback sleeps, and keeps no thread busy")
    func sleeps() throws {
        let stuck = try StuckObservation()
        stuck.token.cancel()
        // The thread's own time: whatever else the process does meanwhile counts for nothing.
        let (begin, timeBefore) = (ContinuousClock.now, Process.ownTime)
        #expect(ConcurrentObserveDiagnostics.drain(deadline: begin + glance * 5) == .timedOut)
        #expect(Process.ownTime - timeBefore < (ContinuousClock.now - begin) / 10)
        stuck.exit.happen()
        try stuck.notifier.join()
        #expect(ConcurrentObserveDiagnostics.drain(deadline: .now + patience) == .finished)
    }

    @Test("P16 drain is deferred inside a callback")
    func deferred() {
        let registry = ObserverRegistry<Int>()
        let outcomes = Log<WaitOutcome>()
        let token = registry.observe { event in
            outcomes.append(ConcurrentObserveDiagnostics.drain())
            if event > 0 { registry.notify(event - 1) }
            outcomes.append(ConcurrentObserveDiagnostics.drain(deadline: .now + patience))
        }
        registry.notify(10)
        #expect(outcomes.entries == Array(repeating: .deferred, count: 22))
        token.cancelAndWaitBlocking()
        #expect(ConcurrentObserveDiagnostics.drain() == .finished)
    }

    @Test("P16 Several threads drain at once, under churn")
    func severalDrains() throws {
        let registry = ObserverRegistry<Int>()
        let early = Counter()
        try onThreads(4) { _ in
            for _ in 0..<50 {
                let lives = Lives()
                do {
                    let life = lives.make()
                    registry.observe { _ in life.touch() }.cancel()
                }
                let outcome = ConcurrentObserveDiagnostics.drain(deadline: .now + patience)
                if outcome != .finished || lives.alive > 0 { early.increment() }
            }
        }
        #expect(early.value == 0)
    }
}

// MARK: - Churn

extension Promises.P16BoundedBacklogTests {
    @Test("P16 One million registrations and cancellations: backlog and memory stay bounded")
    func churn() throws {
        let registry = ObserverRegistry<Int>()
        let constant = registry.observe { _ in }
        for _ in 0..<50_000 { registry.observe { _ in }.cancel() }
        try Process.settle()
        let before = Process.residentBytes
        var mostBacklog = 0
        for pair in 0..<1_000_000 {
            registry.observe { _ in }.cancel()
            if pair % 1_000 == 0 {
                registry.notify(1)
                mostBacklog = max(mostBacklog, ConcurrentObserveDiagnostics.current().backlog)
            }
        }
        constant.cancel()
        // The library's own limits let some 75,000 of the million wait.
        #expect(mostBacklog < 100_000)
        #expect(Process.residentBytes - before < 32 << 20)
        try Process.settle()
        try eventually("an empty backlog") { ConcurrentObserveDiagnostics.current().backlog == 0 }
        #expect(registry.observationCount == 0)
        #expect(ConcurrentObserveDiagnostics.current().liveObservers == 0)
    }

    @Test("P16 The backlog stays bounded when captures take their time to be destroyed")
    func slowDeinits() throws {
        let registry = ObserverRegistry<Int>()
        let lives = Lives()
        let mostBacklog = Slot(0)
        let finished = Counter()
        let threads = (0..<2).map { thread in
            TestThread {
                defer { finished.increment() }
                for pair in 0..<100_000 {
                    // Slower than it was made, but not blocked.
                    let life = lives.make { spin(for: .microseconds(15)) }
                    registry.observe { _ in life.touch() }.cancel()
                    if thread == 0, pair % 500 == 0 {
                        mostBacklog.put(max(mostBacklog.value!, ConcurrentObserveDiagnostics.current().backlog))
                    }
                }
            }
        }
        // Three seconds of a processor: a busy machine takes many times as long to give them.
        try lives.wait(for: "the threads that observe") { finished.value == 2 }
        for thread in threads { try thread.join() }
        #expect(mostBacklog.value! < 130_000)
        try lives.wait(for: "the end of all captured objects") { lives.alive == 0 }
        try Process.settle()
    }

    @Test("P16 The figures add up at rest")
    func figures() throws {
        try Process.settle()
        try eventually("quiet") { ConcurrentObserveDiagnostics.current().backlog == 0 }
        let before = ConcurrentObserveDiagnostics.current()
        let registry = ObserverRegistry<Int>()
        let tokens = (0..<1_000).map { _ in registry.observe { _ in } }
        #expect(ConcurrentObserveDiagnostics.current().liveObservers == before.liveObservers + 1_000)
        for token in tokens { token.cancel() }
        #expect(ConcurrentObserveDiagnostics.current().liveObservers == before.liveObservers)
        try Process.settle()
        try eventually("an empty backlog") { ConcurrentObserveDiagnostics.current().backlog == 0 }
        let after = ConcurrentObserveDiagnostics.current()
        #expect(after.retired - before.retired >= 1_000)
        #expect(after.retired == after.reclaimed)
        #expect(after.gracePeriods > before.gracePeriods)
    }

    @Test("P16 Tables that are replaced are reclaimed")
    func tables() throws {
        let registry = ObserverRegistry<Int>()
        for _ in 0..<10 {
            let tokens = (0..<2_000).map { _ in registry.observe { _ in } }
            registry.notify(1)
            for token in tokens { token.cancelAndWaitBlocking() }
        }
        try Process.settle()
        try eventually("an empty backlog") { ConcurrentObserveDiagnostics.current().backlog == 0 }
    }
}

/// Keeps the processor busy.
private func spin(for duration: Duration) {
    let begin = ContinuousClock.now
    while ContinuousClock.now - begin < duration {}
}

/// An observation whose callback runs until it is released.
private struct StuckObservation {
    let token: ObservationToken
    let notifier: TestThread
    let exit = Signal("the callback's release")

    /// Begins the observation. Returns when the callback has begun.
    init() throws {
        let registry = ObserverRegistry<Int>()
        let (entered, exit) = (Signal("the callback"), exit)
        token = registry.observe { _ in
            entered.happen()
            exit.hold()
        }
        notifier = TestThread { registry.notify(1) }
        try entered.wait()
    }
}
