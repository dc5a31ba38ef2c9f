// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P8 cancel(): properties")
    struct P08PropertyCancelTests {}
}

extension Promises.P08PropertyCancelTests {
    @Test("P8 A change that begins after cancel() returned is not delivered, whatever the options")
    func silence() {
        let property = Slot(Observed(0))
        let received = ReceivedChanges<Int>()
        let tokens = ([[], .initial, .prior, []] as [ObservationOptions]).map {
            property.value!.observe(received, options: $0)
        }
        property.value!.value = 1
        #expect(received.count == 6)
        for token in tokens {
            token.cancel()
            token.cancel()
        }
        property.value!.value = 2
        property.value!.exchange(3)
        property.value!.modify { $0 = 4 }
        property.value!.compareExchange(expected: 4, desired: 5)
        property.clear()
        #expect(received.count == 6)
        #expect(tokens.allSatisfy { !$0.isActive })
    }

    @Test("P8 Of many, exactly those that are cancelled are silent", arguments: 0..<8)
    func exactlyThose(seed: Int) {
        let property = Observed(0)
        let calls = (0..<60).map { _ in Counter() }
        let tokens = calls.map { counter in property.observe { (_: Change<Int>) in counter.increment() } }
        var random = SplitMix(seed: UInt64(seed))
        let order = Array(tokens.indices).shuffled(using: &random)
        for (round, index) in order.enumerated() {
            tokens[index].cancel()
            property.value = round
            let expected = Set(order.dropFirst(round + 1))
            #expect(Set(calls.indices.filter { calls[$0].value == round + 1 }) == expected)
        }
    }

    @Test("P8 cancel() returns while a callback of the observation is running elsewhere, which goes on")
    func whileRunning() throws {
        let lives = Lives()
        let property = Observed(0)
        let (entered, exit) = (Signal("the callback"), Signal("the callback's release"))
        let calls = Counter()
        let token: ObservationToken
        do {
            let life = lives.make()
            token = property.observe { (_: Change<Int>) in
                calls.increment()
                entered.happen()
                exit.hold()
                life.touch()
            }
        }
        let writer = TestThread { property.value = 1 }
        try entered.wait()
        token.cancel()
        #expect(!token.isActive)
        property.value = 2
        #expect(calls.value == 1)
        #expect(lives.alive == 1)
        exit.happen()
        try writer.join()
        try lives.waitUntilNoneIsLeft()
    }

    @Test("P8 Two threads cancel at once: one effect")
    func twoThreads() throws {
        let property = Observed(0)
        let ends = Log<ObservationEnd>()
        let received = ReceivedChanges<Int>()
        let before = ConcurrentObserveDiagnostics.current().liveObservers
        for _ in 0..<200 {
            let token = property.observe(received)
            token.onEnd { ends.append($0) }
            try onThreads(2) { _ in
                token.cancel()
                property.value += 1
            }
        }
        try eventually("all ends") { ends.count >= 200 }
        try Process.settle()
        #expect(ends.entries == Array(repeating: .cancelled, count: 200))
        // Each thread changes only what it has cancelled; the other's change may still be under
        // way.
        #expect(received.count <= 200)
        #expect(ConcurrentObserveDiagnostics.current().liveObservers == before)
    }

    @Test("P8 Cancelled right after its start, 100,000 times across threads, while others change the property")
    func rightAfterTheStart() throws {
        let property = Observed(Pair(number: 0))
        let constant = ReceivedChanges<Pair>()
        let mistakes = Counter()
        let before = ConcurrentObserveDiagnostics.current().liveObservers
        let constantToken = property.observe(constant, options: [])
        try onThreads(4) { thread in
            for round in 0..<25_000 {
                let isOver = Flag()
                let token = property.observe { (change: Change<Pair>) in
                    // The change below is made by this very thread, after the cancellation.
                    if isOver.isSet, change.new.number == thread { mistakes.increment() }
                }
                token.cancel()
                guard round.isMultiple(of: 100) else { continue }
                isOver.set()
                property.value = Pair(number: thread)
            }
        }
        #expect(mistakes.value == 0)
        #expect(constant.versions == Array(1...1_000))
        constantToken.cancel()
        #expect(ConcurrentObserveDiagnostics.current().liveObservers == before)
        try Process.settle()
    }

    @Test("P8 What one thread cancels is silent in the changes that another begins afterwards")
    func silentElsewhere() throws {
        let property = Observed(0)
        let late = Counter()
        let done = Counter()
        let writers = Hammer(threads: 2) {
            // A cancellation that happened before this change began is known to it.
            let cancelled = done.value
            property.value = cancelled
        }
        try writers.waitUntilWarm()
        for round in 1...500 {
            let token = property.observeValues { if $0 >= round { late.increment() } }
            token.cancel()
            done.increment()
        }
        try writers.stop()
        #expect(late.value == 0)
        try Process.settle()
    }
}
