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
        let receive: @Sendable (Int, ReceivedEvent) -> Void = { index, received in
            actor.preconditionIsolated()
            all.receive(received)
            each[index].receive(received)
        }
        var tokens = properties.enumerated().map { index, property in
            property.observe(delivery: .actor(actor)) { receive(index, ReceivedEvent($0)) }
        }
        tokens.append(
            car.property(\.axle.wheel.pressure).observe(delivery: .actor(actor)) { receive(3, ReceivedEvent($0)) }
        )
        tokens.append(registry.observe(delivery: .actor(actor)) { receive(4, ReceivedEvent(event: $0)) })
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
            property.observe(options: .initial, delivery: .actor(actor)) { audience.receive(ReceivedEvent($0)) }
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
                property.observe(delivery: .actor(actor)) { change in
                    audience.receive(ReceivedEvent(change))
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
            property.value!.observe(delivery: .actor(actor.value!)) { audience.receive(ReceivedEvent($0)) },
            other.observe(delivery: .actor(actor.value!)) { audience.receive(ReceivedEvent($0)) },
        ]
        for token in tokens { token.onEnd { ends.append($0) } }
        property.clear()
        try eventually("the property's end") { ends.entries == [.sourceDeleted] }
        let weak = Weak(actor.value!)
        actor.clear()
        try eventually("the actor's end") { weak.object == nil }
        other.value = 1
        try eventually("the second end") { ends.entries == [.sourceDeleted, .ownerDeleted] }
        #expect(audience.count == 0)
        withExtendedLifetime(tokens) {}
    }
}

// MARK: - Of anything that can be observed

extension Promises.ObservationActorTests {
    @Test("P1 P2 It observes anything, in order, on the actor, and counts it", arguments: ObservableKind.allCases)
    func anything(kind: ObservableKind) throws {
        let (actor, thing, numbers) = (ObservationActor(), ObservableThing(kind), Log<Int>())
        let token = thing.with(
            Delivered(.actor(actor)) {
                actor.preconditionIsolated()
                numbers.append($0)
            }
        )
        for number in 1...300 { thing.send(number) }
        try token.waitUntilIdle()
        try eventually("the last callback's return") { numbers.count == 300 }
        #expect(numbers.entries == Array(1...300))
        #expect(token.counts.parts == [300, 300, 0])
        #expect(actor.deliveryCounts == token.counts)
    }

    @Test(
        "P1 Its sum has what observations were sent that have ended, in whatever way",
        arguments: ObservableKind.allCases
    )
    func sumOfTheEnded(kind: ObservableKind) throws {
        let actor = ObservationActor(buffering: .droppingNewest(2))
        let other = Observed(0)
        let (entered, exit) = (Signal("the callback"), Signal("the callback's release"))
        var sent: UInt64 = 1
        let blocking = other.observe(delivery: .actor(actor)) { _ in
            entered.happen()
            exit.hold()
        }
        other.value = 1
        try entered.wait()
        for number in 1...5 {
            let thing = ObservableThing(kind)
            let token = Slot(thing.with(Delivered(.actor(actor)) { _ in }))
            for number in 1...4 { thing.send(number) }
            sent += 4
            #expect(actor.deliveryCounts.sent == sent)
            // Ended while two events wait, and released.
            if number.isMultiple(of: 2) { token.value!.cancel() }
            token.clear()
        }
        exit.happen()
        try eventually("all to be dropped: \(actor.deliveryCounts)") { actor.deliveryCounts.pending == 0 }
        try Process.settle()
        #expect(actor.deliveryCounts.parts == [21, 1, 20])
        #expect(waitsForTheEnd(of: blocking))
        try Process.settle()
        #expect(actor.deliveryCounts.parts == [21, 1, 20])
    }

    @Test(
        "P11 It is not retained: without it the observation of anything ends with ownerDeleted",
        arguments: ObservableKind.allCases
    )
    func notRetained(kind: ObservableKind) throws {
        let (thing, actor) = (ObservableThing(kind), Slot(ObservationActor()))
        let (calls, ends) = (Counter(), Log<ObservationEnd>())
        let token = thing.with(Delivered(.actor(actor.value!)) { _ in calls.increment() }).onEnd { ends.append($0) }
        thing.send(1)
        try eventually("the first callback") { calls.value == 1 }
        let weak = Weak(actor.value!)
        actor.clear()
        try eventually("the actor's end") { weak.object == nil }
        thing.send(2)
        try eventually("the end") { ends.count == 1 }
        #expect(ends.entries == [.ownerDeleted])
        #expect(!token.isActive)
        thing.send(3)
        #expect(calls.value == 1)
        try token.waitUntilIdle()
    }

    @Test("P13 A dead observation actor is noticed without a change", arguments: ["isActive", "count", "drain"])
    func deathIsNoticed(by look: String) throws {
        let (property, actor, ends) = (Observed(0), Slot(ObservationActor()), Log<ObservationEnd>())
        let token = property.observe(delivery: .actor(actor.value!)) { _ in }.onEnd { ends.append($0) }
        #expect(property.observationCount == 1)
        actor.clear()
        switch look {
        case "isActive": #expect(!token.isActive)
        case "count": #expect(property.observationCount == 0)
        default: try Process.settle()
        }
        try eventually("the end") { ends.count == 1 }
        #expect(ends.entries == [.ownerDeleted])
    }
}
