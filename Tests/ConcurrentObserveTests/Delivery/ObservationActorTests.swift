// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P1 P2 The observation actor")
    struct ObservationActorTests {}
}

extension Promises.ObservationActorTests {
    @Test("P2 One callback at a time, on the actor, whatever it observes; each in its own order")
    func oneAtATime() throws {
        let actor = ObservationActor()
        let properties = (0..<3).map { _ in Observed(0) }
        let (car, registry) = (Car(0), ObserverRegistry<Int>())
        let all = Audience()
        let each = (0..<5).map { _ in Audience() }
        let hear: @Sendable (Int, Heard) -> Void = { index, heard in
            actor.preconditionIsolated()
            all.hear(heard)
            each[index].hear(heard)
        }
        var tokens = properties.enumerated().map { index, property in
            actor.observe(property) { hear(index, Heard($0)) }
        }
        tokens.append(actor.observe(car, \.axle.wheel.pressure) { hear(3, Heard($0)) })
        tokens.append(actor.observe(registry) { hear(4, Heard(event: $0)) })
        try onThreads(4) { thread in
            for round in 1...200 {
                for property in properties { property.modify { $0 += 1 } }
                car.setPressure(round)
                registry.notify(thread)
            }
        }
        try eventually("all changes") { all.count == 4_000 && actor.deliveryCounts.pending == 0 }
        #expect(actor.deliveryCounts.parts == [4_000, 4_000, 0])
        #expect(all.overlaps == 0)
        for audience in each[..<4] { #expect(audience.mistakes.isEmpty) }
        #expect(each.allSatisfy { $0.count == 800 })
        for token in tokens { token.cancel() }
        try Process.settle()
        // They stay.
        #expect(actor.deliveryCounts.parts == [4_000, 4_000, 0])
    }

    @Test("P1 Its policy is each observer's, and its counter says what was dropped")
    func policy() throws {
        let actor = ObservationActor(buffering: .latest)
        let properties = (0..<2).map { _ in Observed(0) }
        let audiences = properties.map { _ in Audience() }
        let tokens = zip(properties, audiences).map { property, audience in
            actor.observe(property, options: .initial) { audience.hear(Heard($0)) }
        }
        for audience in audiences { try audience.wait(for: 1) }
        let blocked = TestThread { properties[0].value = Audience.blockingNumber }
        try audiences[0].waitUntilBlocked()
        for number in 1...10 { for property in properties { property.value = number } }
        #expect(actor.deliveryCounts.parts == [23, 3, 18])
        #expect(actor.deliveryCounts.pending == 2)
        audiences[0].release()
        try blocked.join()
        for (audience, token) in zip(audiences, tokens) { try audience.waitUntilIdle(token) }
        #expect(audiences.map { $0.numbers.last! } == [10, 10])
        #expect(actor.deliveryCounts.parts == [23, 5, 18])
    }

    @Test("P1 What an observation drops after its end is counted, too")
    func countsAfterTheEnd() throws {
        for _ in 0..<5 {
            let (actor, property, audience) = (ObservationActor(), Observed(0), Audience())
            let token = Slot<ObservationToken>()
            token.put(
                actor.observe(property) { change in
                    audience.hear(Heard(change))
                    if change.new == 1 { token.value!.cancel() }
                }
            )
            let blocked = TestThread { property.value = Audience.blockingNumber }
            try audience.waitUntilBlocked()
            for number in 1...100_000 { property.value = number }
            audience.release()
            try blocked.join()
            try eventually("all to be dropped: \(actor.deliveryCounts)") { actor.deliveryCounts.pending == 0 }
            #expect(actor.deliveryCounts.parts == [100_001, 2, 99_999])
            #expect(audience.count == 2)
            token.clear()
        }
        try Process.settle()
    }

    @Test("P11 Neither it nor what it observes is retained; without it the observations end")
    func lifetimes() throws {
        let (actor, property) = (Slot(ObservationActor()), Slot(Observed(0)))
        let other = Observed(0)
        let audience = Audience()
        let ends = Log<ObservationEnd>()
        let tokens = [
            actor.value!.observe(property.value!) { audience.hear(Heard($0)) },
            actor.value!.observe(other) { audience.hear(Heard($0)) },
        ]
        for token in tokens { token.onEnd { ends.append($0) } }
        property.clear()
        try eventually("the property's end") { ends.entries == [.sourceDeleted] }
        #expect(audience.heard.map(\.kind) == [.end])
        let weak = Weak(actor.value!)
        actor.clear()
        try eventually("the actor's end") { weak.object == nil }
        other.value = 1
        try eventually("the second end") { ends.entries == [.sourceDeleted, .ownerDeleted] }
        #expect(audience.count == 1)
        withExtendedLifetime(tokens) {}
    }
}
