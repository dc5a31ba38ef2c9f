// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P9 What a wait looks at")
    struct P09DeepNestingTests {}
}

extension Promises.P09DeepNestingTests {
    @Test("P9 A wait costs no more after a thread has nested deeply than before")
    func afterDeepNesting() async {
        // In a process of its own: no other test's threads have nested there.
        await #expect(processExitsWith: .success) {
            Process.limitLife(seconds: 60)
            let registry = ObserverRegistry<Int>()
            let nesting = registry.observe { level in if level > 1 { registry.notify(level - 1) } }
            let hasNested = Signal("the end of the nesting")
            let mayExit = Signal("the thread's release")
            let before = leastTimeOfWait()
            // The thread lives on: its frames are not another's yet.
            let thread = TestThread(stackSize: 512 << 20) {
                registry.notify(50_000)
                hasNested.happen()
                mayExit.hold()
            }
            check(hasNested.happens(within: patience), "the nesting has not ended")
            let after = leastTimeOfWait()
            mayExit.happen()
            withExtendedLifetime((nesting, thread)) {}
            // Fifty thousand frames to look at would make it a hundred times as long.
            check(after < before * 4 + .microseconds(4), "\(after) after, \(before) before")
        }
    }

    @Test("P9 A wait sees every level of a deep nesting, and none that has been left", arguments: [9, 73, 300, 3_000])
    func everyLevel(depth: Int) throws {
        let registries = (0..<3).map { _ in ObserverRegistry<Int>() }
        let innermost = Signal("the innermost callback")
        let halfway = Signal("the return to half the depth")
        let (mayReturn, mayEnd) = (Signal("the way back"), Signal("the end"))
        // Beyond the middle of the nesting another registry's observer is called.
        let inner = registries[1].observe { level in
            if level > 1 {
                registries[1].notify(level - 1)
            } else {
                innermost.happen()
                mayReturn.hold()
            }
        }
        let outer = registries[0].observe { level in
            if level > depth / 2 {
                registries[0].notify(level - 1)
            } else {
                registries[1].notify(level)
                halfway.happen()
                mayEnd.hold()
            }
        }
        let thread = TestThread(stackSize: 64 << 20) { registries[0].notify(depth) }
        try innermost.wait()
        let ends = Counter()
        for token in [inner, outer] {
            token.onEnd { _ in ends.increment() }
            token.cancel()
        }
        #expect(ConcurrentObserveDiagnostics.drain(deadline: .now + glance) == .timedOut)
        #expect(ends.value == 0)
        mayReturn.happen()
        try halfway.wait()
        // The observer of the levels that have returned is destroyed. The outer levels still use
        // theirs.
        try eventually("the end of the inner observation") { ends.value == 1 }
        #expect(inner.cancelAndWaitBlocking() == .finished)
        mayEnd.happen()
        try thread.join()
        #expect(outer.cancelAndWaitBlocking() == .finished)
        try eventually("the end of the outer observation") { ends.value == 2 }
    }
}

/// Returns the time of the fastest of many waits, in which other processes' use of the processor
/// does not show.
private func leastTimeOfWait() -> Duration {
    let registry = ObserverRegistry<Int>()
    return (0..<500).map { _ in
        let token = registry.observe { _ in }
        return ContinuousClock().measure { token.cancelAndWaitBlocking() }
    }
    .min()!
}
