// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P2 P3 Deliveries that are not inline: order")
    struct P02DeliveryOrderTests {}
}

extension Promises.P02DeliveryOrderTests {
    @Test(
        "P2 With several writers, also such that relink a path, versions come one after the other, never two callbacks at once",
        arguments: Route.allCases,
        Origin.versioned
    )
    func versions(route: Route, origin: Origin) throws {
        let (stage, room, audience) = (Stage(origin), Room(route), Audience())
        let token = stage.observe(in: room) { audience.receive($0) }
        try onThreads(4) { thread in for round in 1...250 { stage.sendVaried(thread * 1_000 + round) } }
        // Replacements that keep racing are delivered by a thread of the library.
        try Process.settle()
        try audience.waitUntilIdle(token)
        #expect(audience.overlaps == 0)
        #expect(audience.mistakes.isEmpty)
        #expect(audience.received.first?.version == 1)
        #expect(audience.received.last?.number == stage.number)
        // Racing replacements on a path may be delivered as one change.
        #expect(origin == .path || audience.count == 1_000)
    }

    @Test(
        "P3 Whatever the policy drops, the last that is delivered carries the source's value, and versions never go back",
        arguments: Route.allCases,
        Origin.versioned
    )
    func convergence(route: Route, origin: Origin) throws {
        for buffering in [Buffering.latest, .droppingOldest(3)] {
            for _ in 0..<10 {
                let (stage, room, audience) = (Stage(origin), Room(route), Audience())
                let token = stage.observe(in: room, buffering: buffering) { audience.receive($0) }
                try onThreads(3) { thread in for round in 1...50 { stage.sendVaried(thread * 1_000 + round) } }
                try Process.settle()
                try audience.waitUntilIdle(token)
                let received = audience.received
                #expect(received.last?.number == stage.number)
                #expect(zip(received, received.dropFirst()).allSatisfy { $0.version < $1.version })
                #expect(audience.overlaps == 0)
                #expect(token.counts.received == UInt64(received.count))
            }
        }
    }

    @Test("P2 Two observers of a registry on different routes receive one notifier's events in its order")
    func registryOrder() throws {
        let stage = Stage(.registry)
        let rooms = Route.allCases.map { Room($0) }
        let audiences = rooms.map { _ in Audience() }
        let tokens = zip(rooms, audiences).map { room, audience in stage.observe(in: room) { audience.receive($0) } }
        for number in 1...3_000 { stage.send(number) }
        for (token, audience) in zip(tokens, audiences) {
            try audience.waitUntilIdle(token)
            #expect(audience.numbers == Array(1...3_000))
        }
    }

    @Test("P2 With each operation the change is put in under the lock: set, exchange, modify, compareExchange")
    func operations() throws {
        let property = Observed(0)
        let received = ReceivedChanges<Int>()
        let token = property.observe(delivery: .queue(.global())) { (change: Change<Int>) in received.append(change) }
        try onThreads(4) { thread in
            for round in 1...200 {
                switch thread {
                case 0: property.value = round
                case 1: property.exchange(round)
                case 2: property.modify { $0 += 1 }
                default: while !property.compareExchange(expected: property.value, desired: -round).exchanged {}
                }
            }
        }
        try eventually("all changes") { received.count == 800 }
        #expect(received.changes.map(\.version) == Array(1...800))
        #expect(received.mistakes(from: 0).isEmpty)
        #expect(token.counts.parts == [800, 800, 0])
    }
}
