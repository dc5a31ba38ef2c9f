// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P4 The initial delivery, not inline")
    struct P04DeliveryInitialTests {}
}

extension Promises.P04DeliveryInitialTests {
    @Test(
        "P4 It comes first, with writers racing; every later version follows, none twice",
        arguments: Route.allCases,
        Origin.versioned
    )
    func first(route: Route, origin: Origin) throws {
        let (stage, room) = (Stage(origin), Room(route))
        let writers = Hammer(threads: 2) { stage.send(Int.random(in: 0..<1_000)) }
        try writers.waitUntilWarm()
        for _ in 0..<60 {
            let audience = Audience()
            let token = stage.observe(in: room, options: .initial) { audience.receive($0) }
            try audience.wait(for: 5)
            #expect(waitsForTheEnd(of: token))
            #expect(audience.received[0].kind == .initial)
            #expect(audience.received.filter { $0.kind == .initial }.count == 1)
            #expect(audience.mistakes.isEmpty)
        }
        try writers.stop()
        try Process.settle()
    }

    @Test("P4 Nothing of a change that has a prior delivery comes before that delivery", arguments: Origin.versioned)
    func beforeThePrior(origin: Origin) throws {
        let (stage, room) = (Stage(origin), Room(.queue))
        let writers = Hammer(threads: 2) { stage.send(Int.random(in: 0..<1_000)) }
        try writers.waitUntilWarm()
        for _ in 0..<3_000 {
            let audience = Audience()
            let token = stage.observe(in: room, options: [.initial, .prior]) { audience.receive($0) }
            try audience.wait(for: 1)
            token.cancel()
            #expect(audience.received[0].kind == .initial)
        }
        try writers.stop()
        try Process.settle()
    }

    @Test("P4 It is put in before observe returns, and counts as an event", arguments: Route.allCases, Origin.versioned)
    func enqueued(route: Route, origin: Origin) throws {
        let (stage, room, audience) = (Stage(origin), Room(route), Audience())
        stage.send(7)
        let token = stage.observe(in: room, options: .initial) { audience.receive($0) }
        #expect(token.counts.sent == 1)
        stage.send(8)
        try audience.waitUntilIdle(token)
        #expect(audience.numbers == [7, 8])
        #expect(token.counts.parts == [2, 2, 0])
        #expect(audience.received[0].old == nil)
    }

    @Test("P4 While another thread is in the property's modify, the initial value is the earlier one")
    func duringModify() throws {
        let property = Observed(1)
        let received = ReceivedChanges<Int>()
        let (entered, exit) = (Signal("the body"), Signal("the body's release"))
        let modifying = TestThread {
            property.modify {
                entered.happen()
                exit.hold()
                $0 = 2
            }
        }
        try entered.wait()
        let tokens = [Delivery.serial(), .queue(.global())].map {
            property.observe(options: .initial, delivery: $0) { (change: Change<Int>) in
                received.append(change)
            }
        }
        exit.happen()
        try modifying.join()
        try eventually("all changes") { received.count == 4 }
        #expect(
            received.lines.sorted() == [
                "initial - → 1 @0", "initial - → 1 @0", "valueChanged 1 → 2 @1", "valueChanged 1 → 2 @1",
            ]
        )
        withExtendedLifetime(tokens) {}
    }
}
