// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P9 cancelAndWait(): properties")
    struct P09PropertyCancelAndWaitTests {}
}

extension Promises.P09PropertyCancelAndWaitTests {
    /// The callback that is running.
    enum Delivery: String, CaseIterable, Sendable { case prior, change }

    @Test(
        "P9 It waits for this observation's callback, of whatever delivery, and the closure is destroyed",
        arguments: Delivery.allCases
    )
    func waits(delivery: Delivery) throws {
        let property = Slot(Observed(0))
        let lives = Lives()
        let (entered, exit, hasReturned) = (Signal("the callback"), Signal("the callback's release"), Flag())
        let token: ObservationToken
        do {
            let life = lives.make()
            token = property.value!.observe(options: delivery == .prior ? .prior : []) { (_: Change<Int>) in
                life.touch()
                entered.happen()
                exit.hold()
                hasReturned.set()
            }
        }
        let caller = TestThread { property.value!.value = 1 }
        try entered.wait()
        let mistakes = Log<String>()
        let returned = Signal("a return")
        let waiters = (0..<2).map { index in
            TestThread {
                if token.cancelAndWaitBlocking() != .finished { mistakes.append("caller \(index): not finished") }
                if !hasReturned.isSet { mistakes.append("caller \(index): the callback is running") }
                if lives.alive > 0 { mistakes.append("caller \(index): the closure exists") }
                returned.happen()
            }
        }
        #expect(!returned.happens(within: glance))
        #expect(lives.alive == 1)
        exit.happen()
        for thread in waiters + [caller] { try thread.join() }
        #expect(mistakes.entries.isEmpty)
        property.clear()
    }

    @Test("P9 After cancelAndWait a flag that is looked at a million times never sees a callback")
    func nothingRuns() throws {
        let property = Observed(Row(number: 0))
        let writers = Hammer(threads: 2) { property.modify { $0 = Row(number: $0.number + 1) } }
        try writers.waitUntilWarm()
        let late = Counter()
        for _ in 0..<200 {
            let (isOver, calls) = (Flag(), Counter())
            let token = property.observe(options: [.initial, .prior]) { (change: Change<Row>) in
                calls.increment()
                if isOver.isSet || !change.new.isWhole { late.increment() }
            }
            while calls.value < 2 { briefPause() }
            token.cancelAndWaitBlocking()
            isOver.set()
        }
        let calls = Counter()
        let token = property.observe { (_: Change<Row>) in calls.increment() }
        while calls.value == 0 { briefPause() }
        token.cancelAndWaitBlocking()
        let last = calls.value
        let isQuiet = (0..<1_000_000).allSatisfy { _ in calls.value == last }
        try writers.stop()
        #expect(isQuiet)
        #expect(late.value == 0)
        try Process.settle()
    }

    @Test("P9 In its own callback it is deferred, in each delivery, and the end comes when the callback has returned")
    func deferred() throws {
        let property = Slot(Observed(0))
        let lives = Lives()
        let outcomes = Log<String>()
        for options in [ObservationOptions.prior, []] {
            let token = Slot<ObservationToken>()
            do {
                let life = lives.make()
                token.put(
                    property.value!.observe(options: options) { (change: Change<Int>) in
                        life.touch()
                        outcomes.append("\(change.reason) \(token.value!.cancelAndWaitBlocking())")
                    }
                )
            }
            // On a thread of its own: one that waits for itself hangs, and the test does not.
            try onNewThread { property.value!.value = 1 }
            try lives.waitUntilNoneIsLeft()
            #expect(token.value?.cancelAndWaitBlocking() == .finished)
            token.clear()
        }
        // The body of onEnd counts as inside a callback, too: it does not wait for itself.
        let (token, ended) = (property.value!.observe { _ in }, Signal("the end"))
        token.onEnd { [weak token] end in
            outcomes.append("\(end) \(token!.cancelAndWaitBlocking())")
            ended.happen()
        }
        try onNewThread { property.clear() }
        try ended.wait()
        #expect(outcomes.entries == ["prior deferred", "valueChanged deferred", "sourceDeleted deferred"])
        withExtendedLifetime(token) {}
    }

    @Test("P9 Two properties' callbacks that cancel each other do not deadlock")
    func eachOther() throws {
        for _ in 0..<50 {
            let properties = [Observed(0), Observed(0)]
            let tokens = [Slot<ObservationToken>(), Slot<ObservationToken>()]
            let entered = [Signal("one callback"), Signal("the other callback")]
            let outcomes = Log<WaitOutcome>()
            for index in 0..<2 {
                tokens[index].put(
                    properties[index].observe { (_: Change<Int>) in
                        entered[index].happen()
                        entered[1 - index].hold()
                        outcomes.append(tokens[1 - index].value!.cancelAndWaitBlocking())
                    }
                )
            }
            try onThreads(2) { properties[$0].value = 1 }
            #expect(outcomes.entries == [.deferred, .deferred])
            for token in tokens { token.clear() }
        }
    }

    @Test("P9 The asynchronous form suspends until the callback has returned, then the closure is destroyed")
    func asynchronous() async throws {
        let property = Observed(0)
        let lives = Lives()
        let (entered, exit) = (Signal("the callback"), Signal("the callback's release"))
        let life = Slot(lives.make())
        let token = property.observe { [life = life.take()] (_: Change<Int>) in
            life?.touch()
            entered.happen()
            exit.hold()
        }
        let writer = TestThread { property.value = 1 }
        try await entered.arrival()
        let waiting = Task { await token.cancelAndWait() }
        try await eventuallyAsync("the cancellation") { !token.isActive }
        #expect(lives.alive == 1)
        exit.happen()
        #expect(await waiting.value == .finished)
        #expect(lives.alive == 0)
        try writer.join()
        #expect(await property.observe { (_: Change<Int>) in }.cancelAndWait() == .finished)
    }
}
