// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P1 Deliveries that are not inline: exactly once")
    struct P01DeliveryTests {}
}

// MARK: - Everything

extension Promises.P01DeliveryTests {
    @Test("P1 Of several writers' changes each is delivered exactly once", arguments: Route.allCases, Origin.allCases)
    func everyChange(route: Route, origin: Origin) throws {
        let (stage, room) = (Stage(origin), Room(route))
        let audiences = [Audience(), Audience()]
        let tokens = audiences.map { audience in stage.observe(in: room) { audience.receive($0) } }
        try onThreads(4) { thread in for round in 1...500 { stage.send(thread * 1_000 + round) } }
        for (audience, token) in zip(audiences, tokens) {
            try audience.waitUntilIdle(token)
            #expect(token.counts.parts == [2_000, 2_000, 0])
            // Each writer's in the order in which it made them, and none twice.
            for thread in 0..<4 {
                let numbers = audience.numbers.filter { $0 / 1_000 == thread }
                #expect(numbers == (1...500).map { thread * 1_000 + $0 })
            }
            #expect(audience.overlaps == 0)
        }
        #expect(stage.origin == .registry || audiences[0].mistakes.isEmpty)
    }

    @Test(
        "P1 A closure that was registered twice is called twice; its callbacks know where they are",
        arguments: Route.allCases
    )
    func twice(route: Route) throws {
        for origin in Origin.allCases {
            let (stage, room, audience) = (Stage(origin), Room(route), Audience())
            let body: @Sendable (ReceivedEvent) -> Void = {
                room.check()
                audience.receive($0)
            }
            let tokens = (0..<2).map { _ in stage.observe(in: room, body) }
            stage.send(1)
            try audience.wait(for: 2)
            tokens[0].cancel()
            stage.send(2)
            try audience.wait(for: 3)
            #expect(audience.numbers.sorted() == [1, 1, 2])
            tokens[1].cancel()
            stage.send(3)
            #expect(audience.count == 3)
        }
    }

    @Test(
        "P1 The forms with a handle and with an owner are delivered alike",
        arguments: Route.named
    )
    func forms(route: Route) throws {
        for origin in Origin.allCases {
            let (stage, room) = (Stage(origin), Room(route))
            let (handled, owned) = (Audience(), Audience())
            let owner = Lives().make()
            let tokens = [
                stage.observeWithHandle(in: room) { received, observation in
                    handled.receive(received)
                    if received.number == 100 { observation.cancel() }
                },
                stage.observe(in: room, owner: owner) { found, received in
                    #expect(found === owner)
                    owned.receive(received)
                },
            ]
            for number in 1...150 { stage.send(number) }
            try owned.waitUntilIdle(tokens[1])
            try eventually("the end") { tokens[0].counts.pending == 0 && !tokens[0].isActive }
            #expect(handled.numbers == Array(1...100))
            #expect(owned.numbers == Array(1...150))
            #expect(tokens[1].counts.parts == [150, 150, 0])
            #expect(tokens[0].counts.received == 100)
        }
    }

    @Test("P1 What an observer received inline is not counted")
    func inline() {
        let property = Observed(0)
        #expect(property.observe(delivery: .inline) { (_: Change<Int>) in }.deliveryCounts == nil)
    }
}

// MARK: - Policies

/// The policies, each with the numbers that it keeps if 1 to 10 come while the observer is busy.
private let policies: [(Buffering, [Int])] = [
    (.unbounded, Array(1...10)), (.latest, [10]), (.droppingOldest(1), [10]), (.droppingOldest(3), [8, 9, 10]),
    (.droppingNewest(1), [1]), (.droppingNewest(3), [1, 2, 3]), (.droppingOldest(10), Array(1...10)),
]

extension Promises.P01DeliveryTests {
    @Test(
        "P1 sent = received + dropped + pending, to the last, while the observer is busy and at rest",
        arguments: Route.blocking,
        Origin.allCases
    )
    func policy(route: Route, origin: Origin) throws {
        for (buffering, kept) in policies {
            let (stage, room, audience) = (Stage(origin), Room(route), Audience())
            let token = stage.observe(in: room, buffering: buffering) { audience.receive($0) }
            #expect(token.counts.parts == [0, 0, 0])
            let blocked = try audience.block(by: stage)
            for number in 1...10 {
                stage.send(number)
                #expect(token.counts.sent == UInt64(number) + 1)
                #expect(token.counts.received == 1)
            }
            let dropped = UInt64(10 - kept.count)
            #expect(token.counts.parts == [11, 1, dropped], "\(buffering)")
            #expect(token.counts.pending == UInt64(kept.count))
            audience.release()
            try blocked.join()
            try audience.waitUntilIdle(token)
            #expect(audience.numbers == [Audience.blockingNumber] + kept, "\(buffering)")
            #expect(token.counts.parts == [11, 11 - dropped, dropped])
            // And it goes on.
            stage.send(11)
            try audience.waitUntilIdle(token)
            #expect(audience.numbers.last == 11)
        }
    }

    @Test("P1 The counts never report more than was sent, on any thread that reads them", arguments: Origin.allCases)
    func countsAtAnyTime(origin: Origin) throws {
        for buffering in [Buffering.unbounded, .latest, .droppingNewest(2)] {
            let (stage, room) = (Stage(origin), Room(.queue))
            let token = stage.observe(in: room, buffering: buffering) { _ in }
            let writers = Hammer(threads: 2) { stage.send(1) }
            try writers.waitUntilWarm()
            var last = token.counts
            for _ in 0..<20_000 {
                let counts = token.counts
                guard
                    counts.received + counts.dropped <= counts.sent, counts.sent >= last.sent,
                    counts.received >= last.received, counts.dropped >= last.dropped
                else { throw WaitedInVain(for: "\(counts) after \(last) to agree") }
                last = counts
            }
            try writers.stop()
            try token.waitUntilIdle()
        }
    }

    @Test("P1 More events than one job delivers: delivered once, in order", arguments: Route.blocking)
    func manyJobs(route: Route) throws {
        for origin in Origin.allCases {
            let (stage, room, audience) = (Stage(origin), Room(route), Audience())
            let token = stage.observe(in: room) { audience.receive($0) }
            let blocked = try audience.block(by: stage)
            for number in 1...1_500 { stage.send(number) }
            audience.release()
            try blocked.join()
            try audience.waitUntilIdle(token)
            #expect(audience.numbers == [Audience.blockingNumber] + Array(1...1_500))
            #expect(audience.overlaps == 0)
        }
    }
}
