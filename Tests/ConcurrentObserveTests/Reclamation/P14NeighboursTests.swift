// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Glibc
import Testing

extension Promises {
    @Suite("P14 One source's slow destruction delays that source's alone")
    struct P14NeighboursTests {}
}

extension Promises.P14NeighboursTests {
    @Test("P14 With 100,000 slow captures pending elsewhere, a closure and a value are destroyed at once")
    func promptly() async {
        await #expect(processExitsWith: .success) {
            let slow = try SlowSource(count: 100_000)
            for round in 1...5 {
                let lives = Lives()
                let registry = ObserverRegistry<Int>()
                let property = Observed(Compared(1, life: lives.make()))
                do {
                    let life = lives.make()
                    registry.observe { _ in life.touch() }.cancel()
                }
                property.value = Compared(2)
                let deathsBefore = slow.deaths
                try lives.waitUntilNoneIsLeft()
                // Behind those that wait already, it would come after all of them. The machine may
                // be slow: the source is, too.
                check(slow.deaths - deathsBefore < 8_000, "round \(round): after \(slow.deaths - deathsBefore) others")
                check(slow.pending > 20_000, "round \(round): only \(slow.pending) are pending")
            }
        }
    }

    @Test("P16 With 100,000 slow captures pending elsewhere, values without deinitialisers are set at their usual pace")
    func values() async {
        await #expect(processExitsWith: .success) {
            let strings = (0..<2).map { "a string that is too long for the property itself: \($0) \(getpid())" }
            let property = Observed(strings[0])
            @Sendable func pace() -> Int {
                let end = ContinuousClock.now + .milliseconds(200)
                var count = 0
                while ContinuousClock.now < end {
                    for _ in 0..<100 { property.value = strings[count & 1] }
                    count += 1
                }
                return count
            }
            // The best of several: other programs run, too.
            let undisturbed = (0..<5).map { _ in pace() }.max()!
            let slow = try SlowSource(count: 100_000)
            let disturbed = (0..<5).map { _ in pace() }.max()!
            check(slow.pending > 20_000, "only \(slow.pending) are pending")
            // Half of it on two processors of its own; while the reclamation thread waited for the
            // deinit threads it was less than a thirtieth.
            check(disturbed * 6 > undisturbed, "\(disturbed * 500) a second, \(undisturbed * 500) without the others")
        }
    }

    @Test("P14 Deinitialisers that compute occupy one thread of two processors, not dozens")
    func computing() async {
        await #expect(processExitsWith: .success) {
            let start = (wall: ContinuousClock.now, computed: clock())
            let (threads, waits) = (Log<Int>(), Log<Duration>())
            let lives = Lives()
            let registry = ObserverRegistry<Int>()
            for _ in 0..<200 {
                let life = lives.make {
                    let begin = (wall: ContinuousClock.now, own: Process.ownTime)
                    while Process.ownTime - begin.own < .milliseconds(1) {}
                    waits.append(ContinuousClock.now - begin.wall - .milliseconds(1))
                    threads.append(threadNumber())
                }
                registry.observe { _ in life.touch() }.cancel()
            }
            try lives.waitUntilNoneIsLeft()
            let (count, processors) = (Set(threads.entries).count, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
            // Where other programs keep the processors, a thread that computes looks as if it
            // waited: nothing can be said. If the threads wait for each other, they have all
            // processors.
            let computed = Duration.microseconds(clock() - start.computed)
            let haveAll = computed > (ContinuousClock.now - start.wall) * processors * 0.9
            if !haveAll, waits.entries.reduce(.zero, +) > .milliseconds(20) { return }
            // Where it was busy for a moment, some more. Those that wait would be 32.
            check(count < 12 + processors, "\(count) threads for \(processors) processors")
        }
    }

    @Test("P14 Sixty sources whose deinitialisers sleep delay no other source")
    func sleeping() async {
        await #expect(processExitsWith: .success) {
            let slow = (0..<60).map { _ in Observed<Life?>(nil) }
            let (lives, quick) = (Lives(), Lives())
            for _ in 0..<20 {
                for property in slow { property.value = lives.make { usleep(30_000) } }
            }
            for property in slow { property.value = nil }
            // A thread that is not scheduled looks like a delay: the third of five is judged.
            var delays: [Duration] = []
            for _ in 0..<30 {
                let property = Observed<Life?>(quick.make())
                property.value = nil
                delays.append(try quick.waitUntilNoneIsLeft())
            }
            check(lives.alive > 0, "the others have ended before")
            let late = delays.sorted()[24]
            check(late < .milliseconds(100), "a fifth of the values waited for \(late) and more")
            // These take their time, and no test waits for them.
            _exit(0)
        }
    }

    @Test("P14 A chain of closures, each of which owns the next token, is destroyed without a pause at each link")
    func chain() throws {
        let count = 1_000
        // The pause of the reclamation thread takes a millisecond; what has to be done at a link
        // takes less than a tenth of it. On a busy machine few rounds are so fast: one is enough.
        let limit = Duration.microseconds(500) * count
        var times: [Duration] = []
        repeat {
            let lives = Lives()
            let registry = ObserverRegistry<Int>()
            let token = Slot<ObservationToken>()
            for _ in 0..<count {
                let (life, next) = (lives.make(), Slot(token.take()))
                token.put(
                    registry.observe { _ in
                        life.touch()
                        _ = next
                    }
                )
            }
            token.clear()
            times.append(try lives.waitUntilNoneIsLeft())
        } while times.last! >= limit && times.count < 10
        #expect(times.last! < limit, "of \(times)")
        try Process.settle()
    }

    @Test("P14 Sources by the thousand with a slow closure each: those of others are still served")
    func manySources() throws {
        let (slow, quick) = (Lives(), Lives())
        for number in 0..<2_000 {
            // The source dies with its observations.
            let registry = ObserverRegistry<Int>()
            let life = number % 4 == 0 ? slow.make { briefPause() } : quick.make()
            _ = registry.observe { _ in life.touch() }
        }
        try quick.waitUntilNoneIsLeft()
        try slow.waitUntilNoneIsLeft()
        #expect(slow.dead == 500 && quick.dead == 1_500)
        try Process.settle()
    }
}

/// A registry whose closures each take two milliseconds to be destroyed. All have ended, or will
/// end soon.
private struct SlowSource: Sendable {
    private let ended = Counter()
    private let lives = Lives()

    init(count: Int) throws {
        let (registry, lives, ended) = (ObserverRegistry<Int>(), lives, ended)
        let tokens = (0..<count).map { _ in
            let life = lives.make { usleep(2_000) }
            return registry.observe { _ in life.touch() }
        }
        _ = TestThread {
            for token in tokens {
                token.cancel()
                ended.increment()
            }
        }
        // As many as may wait before the thread that ends them pauses.
        try eventually("many that are pending") { ended.value > 30_000 }
    }

    var deaths: Int { lives.dead }
    var pending: Int { ended.value - lives.dead }
}
