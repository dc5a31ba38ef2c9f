// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    /// Tests the notify path at every depth. The check of the disassembly shows that it takes no
    /// lock.
    @Suite("P15 The notify path")
    struct P15NestingTests {}
}

extension Promises.P15NestingTests {
    @Test("P15 Notifications nest", arguments: [1, 7, 8, 9, 64, 72, 73, 200])
    func nesting(depth: Int) {
        let registry = ObserverRegistry<Int>()
        let order = Log<Int>()
        let token = registry.observe { level in
            order.append(level)
            if level < depth { registry.notify(level + 1) }
            order.append(-level)
        }
        registry.notify(1)
        #expect(order.entries == Array(1...depth) + (1...depth).reversed().map(-))
        #expect(token.cancelAndWaitBlocking() == .finished)
    }

    @Test("P15 Every level of a nesting holds what it calls", arguments: [3, 8, 9, 100, 200])
    func everyLevelHolds(depth: Int) throws {
        let registries = (0..<depth).map { _ in ObserverRegistry<Int>() }
        let lives = (0..<depth).map { _ in Lives() }
        let innermost = Signal("the innermost callback")
        let exit = Signal("the innermost callback's release")
        let ended = Counter()
        let tokens = (0..<depth).map { level in
            let life = lives[level].make()
            return registries[level].observe { event in
                if level + 1 < depth {
                    registries[level + 1].notify(event)
                } else {
                    innermost.happen()
                    exit.hold()
                }
                life.touch()
            }
        }
        let notifier = TestThread { registries[0].notify(1) }
        try innermost.wait()
        for token in tokens {
            token.onEnd { _ in ended.increment() }
            token.cancel()
        }
        #expect(ConcurrentObserveDiagnostics.drain(deadline: .now + glance) == .timedOut)
        // Both, because an unoptimised caller keeps a closure's captures by itself.
        #expect(ended.value == 0)
        #expect(lives.allSatisfy { $0.alive == 1 })
        // An observation that is not among them does not wait.
        #expect(registries[0].observe { _ in }.cancelAndWaitBlocking() == .finished)
        exit.happen()
        try notifier.join()
        for lives in lives { try lives.waitUntilNoneIsLeft() }
    }

    @Test("P15 A thread that has nested deeply serves the next notification like any other")
    func afterwards() throws {
        let registry = ObserverRegistry<Int>()
        let calls = Counter()
        let token = registry.observe { level in
            calls.increment()
            if level > 0 { registry.notify(level - 1) }
        }
        try onNewThread {
            for _ in 0..<10 {
                registry.notify(150)
                registry.notify(0)
            }
        }
        #expect(calls.value == 10 * 152)
        #expect(token.cancelAndWaitBlocking() == .finished)
        try Process.settle()
    }

    @Test("P15 Several threads nest deeply at once")
    func severalThreads() throws {
        let registry = ObserverRegistry<Int>()
        let calls = Counter()
        let token = registry.observe { level in
            calls.increment()
            if level > 0 { registry.notify(level - 1) }
        }
        try onThreads(4) { _ in for _ in 0..<50 { registry.notify(99) } }
        #expect(calls.value == 4 * 50 * 100)
        #expect(token.cancelAndWaitBlocking() == .finished)
    }
}
