// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Glibc
import Testing

extension Promises {
    @Suite("P16 A source whose destruction is blocked")
    struct P16BlockedSourceTests {}
}

extension Promises.P16BlockedSourceTests {
    @Test("P16 A thread that retires for a blocked source pauses, so that memory grows slowly; other threads do not")
    func pauses() async {
        await #expect(processExitsWith: .success) {
            let registry = ObserverRegistry<Int>()
            try block(registry, times: 300)
            let (retired, isOver) = (Counter(), Flag())
            let thread = TestThread {
                while !isOver.isSet {
                    registry.observe { _ in }.cancel()
                    retired.increment()
                }
            }
            // Half of the room that all sources share. Long looks: on a busy machine a thread may
            // get no processor for a while, which is no pause.
            try eventually("the pause") {
                let before = retired.value
                usleep(200_000)
                return before > 30_000 && retired.value - before < 30
            }
            let (begin, before) = (ContinuousClock.now, retired.value)
            let other = ObserverRegistry<Int>()
            let lives = Lives()
            var longest = Duration.zero
            for number in 0..<20_000 {
                let life = number % 100 == 0 ? lives.make() : nil
                let token = other.observe { _ in life?.touch() }
                let start = ContinuousClock.now
                token.cancel()
                longest = max(longest, ContinuousClock.now - start)
            }
            try lives.waitUntilNoneIsLeft()
            while ContinuousClock.now - begin < .milliseconds(200) { briefPause() }
            let (time, others) = (ContinuousClock.now - begin, retired.value - before)
            // A hundred a second.
            check(others <= Int(time / .milliseconds(10)) + 2, "\(others) for the blocked source within \(time)")
            // Four thousand wait at most with each thread, and as many are on their way.
            let backlog = ConcurrentObserveDiagnostics.current().backlog
            check(backlog < 32_768 + 300 + 4 * 4_096 + others, "\(backlog) wait")
            isOver.set()
            try thread.join()
        }
    }

    @Test("P8 Removing all observers of a blocked source pauses once, not for each")
    func removal() async {
        await #expect(processExitsWith: .success) {
            let registry = Slot(ObserverRegistry<Int>())
            try block(registry.value!, times: 200)
            let tokens = (0..<40_000).map { _ in registry.value!.observe { _ in } }
            // Each for itself they would take more than a minute.
            let begin = ContinuousClock.now
            registry.value!.cancelAllObservations()
            check(tokens.allSatisfy { !$0.isActive }, "some go on")
            let others = (0..<1_000).map { _ in registry.value!.observe { _ in } }
            // And so does the source's death.
            registry.clear()
            let time = ContinuousClock.now - begin
            check(others.allSatisfy { !$0.isActive }, "some outlive the source")
            check(time < .seconds(5), "it took \(time)")
        }
    }

    @Test("P14 A closure that waits behind a blocked one of its own source is destroyed by another thread")
    func behindABlockedOne() throws {
        let release = Signal("the release of the blocked")
        let (blocked, others) = (Lives(), Lives())
        let begun = Flag()
        let registry = ObserverRegistry<Int>()
        // Many observations end at once, so that a deinit thread takes several of them. The first
        // one blocks until all others are destroyed.
        let first = Slot(
            blocked.make {
                begun.set()
                release.hold()
            }
        )
        _ = registry.observe(taking: first)
        let tokens = Slot(
            (0..<2_000).map { _ in
                let life = others.make()
                return registry.observe { _ in life.touch() }
            }
        )
        tokens.clear()
        try eventually("the blocked closure") { begun.isSet }
        try others.waitUntilNoneIsLeft()
        release.happen()
        try blocked.waitUntilNoneIsLeft()
    }

    @Test("P16 However many sources are blocked, another's closures are destroyed", arguments: [1, 3, 30])
    func manyBlocked(sources: Int) throws {
        let release = Signal("the release of the blocked")
        let (blocked, free) = (Lives(), Lives())
        let begun = Counter()
        let registries = (0..<sources).map { _ in ObserverRegistry<Int>() }
        for number in 0..<sources * max(2, 180 / sources) {
            let life = Slot(
                blocked.make {
                    begun.increment()
                    release.hold()
                }
            )
            registries[number % sources].observe(taking: life).cancel()
        }
        // Each of them has a thread.
        try eventually("a blocked closure of each source") { begun.value >= sources }
        let registry = ObserverRegistry<Int>()
        for _ in 0..<100 {
            let life = free.make()
            registry.observe { _ in life.touch() }.cancel()
        }
        try free.waitUntilNoneIsLeft()
        #expect(blocked.dead == 0)
        #expect(ConcurrentObserveDiagnostics.drain(deadline: .now + glance) == .timedOut)
        release.happen()
        try blocked.waitUntilNoneIsLeft()
        try Process.settle()
    }
}

/// Leaves closures at a source whose destruction does not end.
private func block(_ registry: ObserverRegistry<Int>, times: Int) throws {
    let (lives, begun) = (Lives(), Counter())
    for _ in 0..<times {
        let life = Slot(
            lives.make {
                begun.increment()
                while true { sleep(100) }
            }
        )
        registry.observe(taking: life).cancel()
    }
    try eventually("as many blocked threads as one source may have") { begun.value >= 128 }
}

extension ObserverRegistry<Int> {
    /// Observes with a closure that has the only reference to an object. The object's `deinit`
    /// never runs on the calling thread, however long this thread is delayed after the
    /// cancellation.
    fileprivate func observe(taking life: Slot<Life>) -> ObservationToken {
        observe { [life = life.take()] _ in life?.touch() }
    }
}
