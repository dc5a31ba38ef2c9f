// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Glibc
import Testing

extension Promises {
    @Suite("The environment as an enemy")
    struct EnvironmentTests {}
}

extension Promises.EnvironmentTests {
    @Test("A process exits while threads notify, register and cancel", arguments: 0..<4)
    func exitInTheMiddle(attempt: Int) async {
        // Not captured: the code runs in another process.
        await #expect(processExitsWith: .exitCode(7)) {
            let registry = ObserverRegistry<Int>()
            let property = Observed("the first value, which is longer than fifteen bytes")
            let begun = Counter()
            let tokens = (0..<20).map { _ in registry.observe { _ in begun.increment() } }
            for thread in 0..<4 {
                _ = TestThread {
                    while true {
                        registry.notify(thread)
                        registry.observe { _ in begun.increment() }.cancel()
                        property.value = "another value, as long, from \(thread)"
                    }
                }
            }
            while begun.value < 20_000 { briefPause() }
            withExtendedLifetime(tokens) { exit(7) }
        }
    }

    @Test("Twenty thousand short-lived threads leave no records behind", .timeLimit(.minutes(2)))
    func manyThreads() throws {
        let registry = ObserverRegistry<Int>()
        let calls = Counter()
        let token = registry.observe { _ in calls.increment() }
        registry.notify(0)
        let before = ConcurrentObserveDiagnostics.current().threadRecords
        for _ in 0..<2_500 {
            let threads = (0..<8).map { _ in TestThread { registry.notify(1) } }
            for thread in threads { try thread.join() }
        }
        #expect(calls.value == 20_001)
        #expect(ConcurrentObserveDiagnostics.current().threadRecords <= before + 16)
        #expect(token.cancelAndWaitBlocking() == .finished)
    }
}
