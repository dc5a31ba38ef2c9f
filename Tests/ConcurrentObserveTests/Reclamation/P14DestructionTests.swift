// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Glibc
import Testing

extension Promises {
    @Suite("P14 Destruction of closures")
    struct P14DestructionTests {}
}

extension Promises.P14DestructionTests {
    @Test("P14 The closure is destroyed exactly once, promptly, without further traffic", arguments: Ending.all)
    func promptly(ending: Ending) throws {
        // Quiet, and the library's threads asleep as after a long pause.
        try Process.settle()
        let times = try (0..<7).map { _ in
            let lives = Lives()
            let registry = Slot(ObserverRegistry<Int>())
            let token = Slot<ObservationToken>()
            do {
                let life = lives.make()
                token.put(registry.value!.observe { _ in life.touch() })
            }
            ending.end(token, of: registry)
            let time = try lives.waitUntilNoneIsLeft()
            #expect(lives.dead == 1)
            return time
        }
        // Not counting threads that are not scheduled, which a test cannot see: so most of them.
        #expect(times.sorted()[3] < .milliseconds(100))
        try Process.settle()
    }

    @Test("P14 Deinitialisers that block for a few milliseconds each do not add up")
    func slowDeinitialisers() throws {
        try Process.settle()
        let lives = Lives()
        let registry = ObserverRegistry<Int>()
        let tokens = (0..<200).map { _ in
            let life = lives.make { usleep(3_000) }
            return registry.observe { _ in life.touch() }
        }
        for token in tokens { token.cancel() }
        // One after the other they would take 600 ms.
        #expect(try lives.waitUntilNoneIsLeft() < .milliseconds(300))
        try Process.settle()
    }

    @Test("P14 After the last callback's return, promptly, without further traffic")
    func afterTheLastCallback() throws {
        let times = try (0..<7).map { _ in
            let lives = Lives()
            let registry = ObserverRegistry<Int>()
            let (entered, exit) = (Signal("the callback"), Signal("the callback's release"))
            let token: ObservationToken
            do {
                let life = lives.make()
                token = registry.observe { _ in
                    entered.happen()
                    exit.hold()
                    life.touch()
                }
            }
            let notifier = TestThread { registry.notify(1) }
            try entered.wait()
            token.cancel()
            // Held by the callback for longer than any pause of the library's.
            #expect(ConcurrentObserveDiagnostics.drain(deadline: .now + .milliseconds(100)) == .timedOut)
            #expect(lives.alive == 1)
            exit.happen()
            try notifier.join()
            return try lives.waitUntilNoneIsLeft()
        }
        #expect(times.sorted()[3] < .milliseconds(100))
    }

    @Test("P14 While the same thread goes on with other observers, the closure of an ended one dies")
    func whileThePassGoesOn() throws {
        let lives = Lives()
        let registry = ObserverRegistry<Int>()
        let first: ObservationToken
        do {
            let life = lives.make()
            first = registry.observe { _ in life.touch() }
        }
        let died = Flag()
        let second = registry.observe { _ in
            first.cancel()
            if (try? lives.waitUntilNoneIsLeft()) != nil { died.set() }
        }
        registry.notify(1)
        #expect(died.isSet)
        withExtendedLifetime(second) {}
    }

    @Test("P14 Each closure is destroyed exactly once under every way to end it at once")
    func once() throws {
        let lives = Lives()
        let registry = ObserverRegistry<Int>()
        let notifier = Hammer(threads: 1) { registry.notify(1) }
        try notifier.waitUntilWarm()
        let rounds = 300
        for _ in 0..<rounds {
            let life = Slot(lives.make())
            let token = Slot(registry.observe { [life = life.take()] _ in life?.touch() })
            try onThreads(4) { thread in
                switch thread {
                case 0: token.value?.cancel()
                case 1: token.value?.cancelAndWaitBlocking()
                case 2: registry.cancelAllObservations()
                default: token.clear()
                }
            }
        }
        try notifier.stop()
        try lives.waitUntilNoneIsLeft()
        try Process.settle()
        #expect(lives.dead == rounds)
    }

    @Test("P14 The last observers of many registries end on several threads at once: all closures die promptly")
    func manyRegistries() throws {
        let lives = Lives()
        let (threads, each) = (4, 4_000)
        let registries = (0..<threads).map { _ in (0..<each).map { _ in ObserverRegistry<Int>() } }
        let tokens = registries.map { list in
            list.map { registry in
                let life = lives.make()
                return registry.observe { _ in life.touch() }
            }
        }
        try onThreads(threads) { thread in for token in tokens[thread] { token.cancel() } }
        let time = try lives.waitUntilNoneIsLeft()
        // 16,000 of them take a while to destroy; ten milliseconds for each would take minutes.
        #expect(time < .seconds(5))
        // And the next one does not wait behind their tables.
        try expectPromptly {
            let lives = Lives()
            let registry = registries[0][0]
            let life = lives.make()
            return (lives, registry.observe { _ in life.touch() })
        }
        try Process.settle()
        #expect(registries.allSatisfy { $0.allSatisfy { $0.observationCount == 0 } })
    }

    @Test("P14 Nothing is left: every closure that was registered dies, also those of registries with none left")
    func nothingIsLeft() throws {
        let lives = Lives()
        for size in [1, 8, 9, 100] {
            let registry = ObserverRegistry<Int>()
            var tokens: [ObservationToken] = []
            for _ in 0..<size {
                let life = lives.make()
                tokens.append(registry.observe { _ in life.touch() })
            }
            registry.notify(1)
            tokens.removeAll()
            #expect(registry.observationCount == 0)
        }
        try lives.waitUntilNoneIsLeft()
        #expect(lives.dead == 118)
    }
}
