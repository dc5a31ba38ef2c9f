// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Synchronization
import Testing

extension Promises {
    @Suite("P5 No user code under our locks")
    struct P05NoUserCodeUnderLocksTests {}
}

// MARK: - Captures re-enter the library

extension Promises.P05NoUserCodeUnderLocksTests {
    @Test("P5 The deinit of a capture may observe, notify, cancel and ask, whatever the end", arguments: Ending.all)
    func deinitReenters(ending: Ending) throws {
        let other = ObserverRegistry<Int>()
        let bystander = other.observe { _ in }
        let received = Counter()
        let answers = Log<String>()
        let lives = Lives()
        let registry = Slot(ObserverRegistry<Int>())
        let weak = Weak(registry.value!)
        let token = Slot<ObservationToken>()
        do {
            let life = lives.make {
                // The same registry, if it still exists, and another one.
                if let registry = weak.object {
                    let inner = registry.observe { _ in received.increment() }
                    registry.notify(1)
                    inner.cancel()
                    _ = registry.observationCount
                    registry.cancelAllObservations()
                }
                let inner = other.observe { _ in received.increment() }
                other.notify(1)
                inner.cancel()
                answers.append("\(inner.cancelAndWaitBlocking()) \(ConcurrentObserveDiagnostics.drain())")
                bystander.cancel()
                inner.onEnd { _ in received.increment() }
                _ = ConcurrentObserveDiagnostics.current()
            }
            token.put(registry.value!.observe { _ in life.touch() })
        }
        ending.end(token, of: registry)
        try lives.waitUntilNoneIsLeft()
        #expect(answers.entries == ["deferred deferred"])
        let expected = weak.object == nil ? 2 : 3
        try eventually("the end of the inner observations") { received.value == expected }
        #expect(!bystander.isActive)
        #expect(other.observationCount == 0)
        registry.clear()
        try Process.settle()
    }

    @Test("P5 A thread that ends an observation may hold a lock that a capture's deinit takes", arguments: Ending.all)
    func endingUnderALock(ending: Ending) throws {
        guard ending.name != "cancelAndWait" else { return }
        let lock = Slot<Int>(0)
        let userLock = Mutex(())
        let lives = Lives()
        let registry = Slot(ObserverRegistry<Int>())
        let token = Slot<ObservationToken>()
        let shared = Shared(userLock)
        do {
            let life = lives.make {
                shared.withLock { lock.put(1) }
            }
            token.put(registry.value!.observe { _ in life.touch() })
        }
        try onNewThread { shared.withLock { ending.end(token, of: registry) } }
        try lives.waitUntilNoneIsLeft()
        #expect(lock.value == 1)
    }

    /// A lock that belongs to a user.
    final class Shared: Sendable {
        private let mutex: Mutex<Void>
        init(_ mutex: consuming sending Mutex<Void>) { self.mutex = mutex }
        func withLock(_ body: () -> Void) { mutex.withLock { _ in body() } }
    }
}

// MARK: - Callbacks hold nothing

extension Promises.P05NoUserCodeUnderLocksTests {
    @Test("P5 While a callback, an onEnd or a capture's deinit runs, other threads do everything on the same registry")
    func nothingIsHeld() throws {
        let registry = ObserverRegistry<Int>()
        let finished = Log<String>()
        /// Runs every operation on another thread; the caller waits for it inside user code.
        let everything: @Sendable (String) -> Void = { place in
            let done = Signal("another thread's operations")
            let thread = TestThread {
                let token = registry.observe { _ in }
                registry.notify(-1)
                _ = registry.observationCount
                _ = token.isActive
                token.onEnd { _ in }
                if token.cancelAndWaitBlocking() == .finished { done.happen() }
            }
            if done.happens(within: patience) { finished.append(place) }
            try? thread.join()
        }
        let lives = Lives()
        var token: ObservationToken
        do {
            let life = lives.make { everything("deinit") }
            token = registry.observe { event in
                life.touch()
                if event > 0 { everything("callback") }
            }
        }
        token.onEnd { _ in everything("onEnd") }
        registry.notify(1)
        token.cancel()
        try eventually("the end") { finished.count == 3 }
        #expect(finished.entries == ["callback", "deinit", "onEnd"])
    }
}

// MARK: - Where captures are destroyed

extension Promises.P05NoUserCodeUnderLocksTests {
    @Test(
        "P5 No thread that ends or notifies destroys a capture; cancelAndWait destroys its own",
        arguments: Ending.all
    )
    func threadOfDestruction(ending: Ending) throws {
        let enders = Log<Int>()
        let lives = Lives()
        let rounds = 20
        try onNewThread {
            enders.append(threadNumber())
            for _ in 0..<rounds {
                let registry = Slot(ObserverRegistry<Int>())
                let token = Slot<ObservationToken>()
                do {
                    let life = lives.make()
                    token.put(registry.value!.observe { _ in life.touch() })
                }
                ending.end(token, of: registry)
                registry.value?.notify(1)
            }
            // Until all have died this thread must exist: otherwise its number could be given to
            // another.
            _ = try? lives.waitUntilNoneIsLeft()
        }
        #expect(lives.dead == rounds)
        let onTheEndersThread = lives.deathThreads.filter { $0 == enders.entries[0] }.count
        #expect(onTheEndersThread == (ending.name == "cancelAndWait" ? rounds : 0))
    }

    @Test("P5 A notification does not destroy the captures of an observation that ended during its callback")
    func notifierDestroysNothing() throws {
        let lives = Lives()
        let registry = ObserverRegistry<Int>()
        let entered = Signal("the callback")
        let release = Signal("the callback's release")
        let token: ObservationToken
        do {
            let life = lives.make()
            token = registry.observe { _ in
                life.touch()
                entered.happen()
                release.hold()
            }
        }
        let notifiers = Log<Int>()
        let notifier = TestThread {
            notifiers.append(threadNumber())
            registry.notify(1)
            _ = try? lives.waitUntilNoneIsLeft()
        }
        try entered.wait()
        token.cancel()
        release.happen()
        try notifier.join()
        #expect(lives.alive == 0)
        #expect(lives.deathThreads != notifiers.entries)
    }
}

// MARK: - Captures that block

extension Promises.P05NoUserCodeUnderLocksTests {
    @Test("P5 A deinit that blocks holds up no other destruction", arguments: [1, 30])
    func blockingDeinits(count: Int) throws {
        let registry = ObserverRegistry<Int>()
        let release = Signal("the release of the blocked")
        let blocked = Lives()
        let begun = Counter()
        var tokens: [ObservationToken] = []
        for _ in 0..<count {
            let life = blocked.make {
                begun.increment()
                release.hold()
            }
            tokens.append(registry.observe { _ in life.touch() })
        }
        for token in tokens { token.cancel() }

        // Behind them, and mixed with them: single ones and many.
        let free = Lives()
        for _ in 0..<200 {
            let life = free.make()
            _ = registry.observe { _ in life.touch() }
        }
        try free.waitUntilNoneIsLeft()
        try eventually("the beginning of all blocked ones") { begun.value == count }
        #expect(blocked.dead == 0)

        // Grace periods, tables and waits go on as well.
        let life = Slot(free.make())
        let token = registry.observe { [life = life.take()] _ in life?.touch() }
        #expect(token.cancelAndWaitBlocking() == .finished)
        #expect(free.alive == 0)
        #expect(ConcurrentObserveDiagnostics.drain(deadline: .now + glance) == .timedOut)

        release.happen()
        try blocked.waitUntilNoneIsLeft()
        try Process.settle()
    }
}

// MARK: - Support

/// One of the ways to end an observation.
struct Ending: Sendable, CustomTestStringConvertible {
    let name: String
    private let action: @Sendable (Slot<ObservationToken>, Slot<ObserverRegistry<Int>>) -> Void

    var testDescription: String { name }

    func end(_ token: Slot<ObservationToken>, of registry: Slot<ObserverRegistry<Int>>) { action(token, registry) }

    static let all = [
        Ending(name: "cancel") { token, _ in token.value?.cancel() },
        Ending(name: "cancelAndWait") { token, _ in token.value?.cancelAndWaitBlocking() },
        Ending(name: "release of the token") { token, _ in token.clear() },
        Ending(name: "removeAll") { _, registry in registry.value?.cancelAllObservations() },
        Ending(name: "release of the source") { _, registry in registry.clear() },
    ]
}
