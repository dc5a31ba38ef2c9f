// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    /// A callback may block for any time. It delays its own thread, and the threads that wait for
    /// the same observation.
    @Suite("P7 Blocking callbacks")
    struct P07BlockingCallbacksTests {}
}

/// A registry with a callback that blocks on its own thread until `release()`.
private final class Stuck: Sendable {
    let registry = ObserverRegistry<Int>()
    let token: ObservationToken
    let lives = Lives()
    private let entered = Signal("the stuck callback")
    private let exit = Signal("the stuck callback's release")
    private let thread = Slot<TestThread>()

    /// Makes the registry. Returns when the callback blocks.
    ///
    /// - Parameter neighbours: The number of observers before and after the blocked one, in the
    ///   table that it pins.
    init(neighbours: Int = 0) throws {
        before = (0..<neighbours).map { [registry] _ in registry.observe { _ in } }
        let life = Slot(lives.make())
        token = registry.observe { [life = life.take(), entered, exit] event in
            guard event == 0 else { return }
            life?.touch()
            entered.happen()
            exit.hold()
        }
        after = (0..<neighbours).map { [registry] _ in registry.observe { _ in } }
        thread.put(TestThread { [registry] in registry.notify(0) })
        try entered.wait()
    }

    let before: [ObservationToken]
    let after: [ObservationToken]

    func release() throws {
        exit.happen()
        try thread.take()?.join()
    }
}

extension Promises.P07BlockingCallbacksTests {
    @Test("P7 Other observations of the same registry and of others are cancelled, waited for and destroyed")
    func othersEnd() throws {
        let stuck = try Stuck(neighbours: 10)
        let elsewhere = ObserverRegistry<Int>()
        for registry in [stuck.registry, elsewhere] {
            let lives = Lives()
            let ended = Counter()
            let waited = Slot(lives.make())
            let token = registry.observe { [life = waited.take()] _ in life?.touch() }
            registry.notify(1)
            #expect(token.cancelAndWaitBlocking() == .finished)
            #expect(lives.alive == 0)

            for _ in 0..<100 {
                let life = lives.make()
                let token = registry.observe { _ in life.touch() }
                token.onEnd { _ in ended.increment() }
            }
            try lives.waitUntilNoneIsLeft()
            try eventually("the ends") { ended.value == 100 }
        }
        // The neighbours too, which the stuck pass has called already or would call next.
        for token in stuck.before + stuck.after { #expect(token.cancelAndWaitBlocking() == .finished) }
        #expect(stuck.registry.observationCount == 1)
        #expect(stuck.lives.alive == 1)
        try stuck.release()
    }

    @Test("P7 The captures of others die promptly behind a stuck callback")
    func promptness() throws {
        let stuck = try Stuck()
        try expectPromptly {
            let lives = Lives()
            let life = lives.make()
            let token = stuck.registry.observe { _ in life.touch() }
            return (lives, token)
        }
        try stuck.release()
    }

    @Test("P7 Registration, growth and notification go on, and the stuck observer is called again on other threads")
    func growth() throws {
        let stuck = try Stuck()
        let received = Counter()
        let tokens = (0..<5_000).map { _ in stuck.registry.observe { _ in received.increment() } }
        try onNewThread { stuck.registry.notify(1) }
        #expect(received.value == 5_000)
        #expect(stuck.registry.observationCount == 5_001)
        try stuck.release()
        // The stuck pass itself calls no observer that registered after it began.
        #expect(received.value == 5_000)
        withExtendedLifetime(tokens) {}
    }

    @Test("P7 A wait for the stuck observation lasts until its callback returns")
    func ownWait() throws {
        let stuck = try Stuck()
        let ended = Signal("the end of the wait")
        let waiter = TestThread {
            stuck.token.cancelAndWaitBlocking()
            ended.happen()
        }
        #expect(!ended.happens(within: glance))
        #expect(stuck.lives.alive == 1)
        try stuck.release()
        try waiter.join()
        #expect(stuck.lives.alive == 0)
    }

    @Test("P7 A source dies while a callback of another source is stuck")
    func otherSourceDies() throws {
        let stuck = try Stuck()
        let ends = Log<ObservationEnd>()
        let source = Slot(ObserverRegistry<Int>())
        let token = source.value!.observe { _ in }
        token.onEnd { ends.append($0) }
        source.clear()
        try eventually("the end") { ends.count == 1 }
        #expect(ends.entries == [.sourceDeleted])
        try stuck.release()
    }

    @Test("P7 Everybody is removed while a callback is stuck: its own capture lives until it returns")
    func removedWhileStuck() throws {
        let stuck = try Stuck(neighbours: 3)
        let ended = Counter()
        stuck.token.onEnd { _ in ended.increment() }
        stuck.registry.cancelAllObservations()
        #expect(stuck.registry.observationCount == 0)
        #expect(ConcurrentObserveDiagnostics.drain(deadline: .now + glance) == .timedOut)
        #expect(stuck.lives.alive == 1)
        #expect(ended.value == 0)
        try stuck.release()
        try stuck.lives.waitUntilNoneIsLeft()
        try eventually("the end") { ended.value == 1 }
        try Process.settle()
    }

    @Test("P7 Memory stays bounded behind a stuck callback")
    func memory() throws {
        let stuck = try Stuck(neighbours: 100)
        let elsewhere = ObserverRegistry<Int>()
        let lives = Lives()
        let churn = { (pairs: Int) in
            for _ in 0..<pairs {
                let life = lives.make()
                stuck.registry.observe { _ in life.touch() }.cancel()
                elsewhere.observe { _ in life.touch() }.cancel()
            }
        }
        churn(20_000)
        try lives.waitUntilNoneIsLeft()
        let before = Process.residentBytes
        churn(100_000)
        try lives.waitUntilNoneIsLeft()
        #expect(Process.residentBytes - before < 16 << 20)
        // The table that the stuck pass pins, with its hundred neighbours' shells, and little else.
        try eventually("a small backlog") { ConcurrentObserveDiagnostics.current().backlog < 10 }
        try stuck.release()
        try Process.settle()
    }

    @Test("P7 The diagnostics report how old the oldest running callback is")
    func age() throws {
        try eventually("quiet") { ConcurrentObserveDiagnostics.current().oldestCallbackAge == nil }
        let stuck = try Stuck()
        let first = try #require(ConcurrentObserveDiagnostics.current().oldestCallbackAge)
        try eventually("a greater age") {
            (ConcurrentObserveDiagnostics.current().oldestCallbackAge ?? .zero) > first + .milliseconds(10)
        }
        try stuck.release()
        #expect(ConcurrentObserveDiagnostics.current().oldestCallbackAge == nil)
    }
}
