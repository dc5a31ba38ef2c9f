// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch
import Testing

extension Promises {
    @Suite("P11 P12 P13 P14 Lifetimes of what is not inline")
    struct P12DeliveryLifetimeTests {}
}

// MARK: - The source

extension Promises.P12DeliveryLifetimeTests {
    @Test(
        "P11 P12 The source is not retained; when it is gone, the observation ends once, after the last callback, whatever the policy",
        arguments: Route.blocking,
        Origin.allCases
    )
    func sourceDies(route: Route, origin: Origin) throws {
        for buffering in [Buffering.unbounded, .latest, .droppingNewest(1), .droppingOldest(2)] {
            let (stage, room, audience) = (Stage(origin), Room(route), Audience())
            let token = stage.observe(in: room, buffering: buffering) { audience.receive($0) }
            audience.receiveEnd(of: token)
            let isAlive = stage.isAlive
            let blocked = try audience.block(by: stage)
            // A thread that is blocked in a serial callback keeps the source itself.
            if route != .serial { try blocked.join() }
            for number in 1...4 { stage.send(number) }
            stage.die()
            #expect(route == .serial || !isAlive())
            #expect(token.isActive)
            #expect(audience.ends.isEmpty)
            audience.release()
            if route == .serial { try blocked.join() }
            let kept: [Int] =
                switch buffering {
                case .unbounded: [1, 2, 3, 4]
                case .latest: [4]
                case .droppingNewest: [1]
                case .droppingOldest: [3, 4]
                }
            try audience.expectEnd(.sourceDeleted)
            #expect(!isAlive())
            #expect(!token.isActive)
            #expect(audience.numbers == [Audience.blockingNumber] + kept)
            #expect(audience.received.allSatisfy { $0.kind == .change })
            #expect(token.counts.pending == 0)
            #expect(token.counts.received == UInt64(audience.count))
        }
    }

    @Test(
        "P12 The end comes with any options, after what was to come, and when nothing else was",
        arguments: Route.allCases,
        Origin.versioned
    )
    func options(route: Route, origin: Origin) throws {
        for options in [ObservationOptions([]), .prior, .initial, [.initial, .prior]] {
            let (stage, room, audience) = (Stage(origin), Room(route), Audience())
            let token = stage.observe(in: room, options: options) { audience.receive($0) }
            audience.receiveEnd(of: token)
            stage.die()
            try audience.expectEnd(.sourceDeleted)
            #expect(audience.received.map(\.kind) == (options.contains(.initial) ? [.initial] : []))
            #expect(!token.isActive)
        }
    }

    @Test(
        "P12 Cancelled while the end is waiting: silence, and onEnd receives cancelled",
        arguments: Route.blocking,
        Origin.allCases
    )
    func cancelledBeforeTheEnd(route: Route, origin: Origin) throws {
        let (stage, room, audience) = (Stage(origin), Room(route), Audience())
        let token = stage.observe(in: room) { audience.receive($0) }
        audience.receiveEnd(of: token)
        // On another thread, which may be kept by what it observes: this one releases the source.
        let blocked = try audience.block(by: stage)
        stage.send(1)
        stage.die()
        token.cancel()
        audience.release()
        try blocked.join()
        try audience.expectEnd(.cancelled)
        try Process.settle()
        #expect(audience.numbers == [Audience.blockingNumber])
        try audience.expectEnd(.cancelled)
        try token.waitUntilIdle()
        #expect(token.counts.received == 1)
    }

    @Test("P12 A callback may release the source's last reference", arguments: Route.allCases, Origin.allCases)
    func dropsTheSource(route: Route, origin: Origin) throws {
        let (stage, room, audience) = (Stage(origin), Room(route), Audience())
        let token = stage.observe(in: room) { received in
            audience.receive(received)
            stage.die()
        }
        audience.receiveEnd(of: token)
        stage.send(1)
        try audience.expectEnd(.sourceDeleted)
        #expect(audience.received.map(\.kind) == [.change])
        withExtendedLifetime(token) {}
    }

    @Test(
        "P12 Cancelled at the moment of the death: it ends once, for one of the two reasons, and nothing is called",
        arguments: Route.allCases
    )
    func race(route: Route) throws {
        let room = Room(route)
        for origin in Origin.allCases {
            for _ in 0..<100 {
                let (stage, audience, ends) = (Stage(origin), Audience(), Log<ObservationEnd>())
                let token = stage.observe(in: room) { audience.receive($0) }
                token.onEnd { ends.append($0) }
                try onThreads(2) { $0 == 0 ? stage.die() : token.cancel() }
                try eventually("the end") { ends.count == 1 }
                try token.waitUntilIdle()
                #expect(ends.entries == [.sourceDeleted] || ends.entries == [.cancelled])
                #expect(audience.count == 0)
            }
        }
        try Process.settle()
    }
}

// MARK: - Actors and owners

extension Promises.P12DeliveryLifetimeTests {
    @Test(
        "P11 P13 The actor is not retained; when it is gone, the observation ends with ownerDeleted at the next change",
        arguments: Origin.allCases
    )
    func actorDies(origin: Origin) throws {
        let (lives, audience) = (Lives(), Audience())
        let (property, car, registry) = (Observed(0), Car(0), ObserverRegistry<Int>())
        let listener = Slot(Listener(life: lives.make()))
        let ends = Log<ObservationEnd>()
        let token =
            switch origin {
            case .property: property.observe(on: listener.value!) { audience.receive(ReceivedEvent($1)) }
            case .path:
                car.property(\.axle.wheel.pressure).observe(on: listener.value!) { audience.receive(ReceivedEvent($1)) }
            case .registry: registry.observe(on: listener.value!) { audience.receive(ReceivedEvent(event: $1)) }
            }
        token.onEnd { ends.append($0) }
        func send(_ number: Int) {
            property.value = number
            car.setPressure(number)
            registry.notify(number)
        }
        send(1)
        try audience.waitUntilIdle(token)
        listener.clear()
        try lives.waitUntilNoneIsLeft()
        send(2)
        try eventually("the end") { ends.count == 1 }
        #expect(ends.entries == [.ownerDeleted])
        #expect(audience.numbers == [1])
        #expect(!token.isActive)
        try token.waitUntilIdle()
        #expect(token.counts.parts == [2, 1, 1])
    }

    @Test("P13 A dead actor is noticed without a change", arguments: ["isActive", "count", "drain"])
    func deadActorIsNoticed(by look: String) throws {
        let (property, lives, ends) = (Observed(0), Lives(), Log<ObservationEnd>())
        let listener = Slot(Listener(life: lives.make()))
        let token = property.observe(on: listener.value!) { _, _ in }
        token.onEnd { ends.append($0) }
        #expect(property.observationCount == 1)
        listener.clear()
        try lives.waitUntilNoneIsLeft()
        switch look {
        case "isActive": #expect(!token.isActive)
        case "count": #expect(property.observationCount == 0)
        default: try Process.settle()
        }
        try eventually("the end") { ends.count == 1 }
        #expect(ends.entries == [.ownerDeleted])
        #expect(!token.isActive)
        #expect(property.observationCount == 0)
    }

    @Test(
        "P13 An actor that goes while more events wait than one job delivers: all is counted as dropped, and destroyed"
    )
    func actorDiesBetweenJobs() throws {
        for _ in 0..<20 {
            let (property, lives) = (Observed(Thing(0)), Lives())
            let listener = Slot(Listener())
            let calls = Counter()
            let token = property.observe(on: listener.value!) { _, _ in calls.increment() }
            listener.value!.suspend()
            for number in 1...2_000 { property.value = Thing(number, life: lives.make()) }
            listener.value!.resume()
            listener.clear()
            try eventually("nothing more to come: \(token.counts)") { token.counts.pending == 0 }
            property.value = Thing(0)
            try lives.waitUntilNoneIsLeft()
            #expect(token.counts.received == UInt64(calls.value))
        }
    }

    @Test(
        "P13 An owner that is gone receives nothing, not even of what was waiting",
        arguments: Route.namedBlocking,
        Origin.allCases
    )
    func ownerDies(route: Route, origin: Origin) throws {
        let (stage, room, audience) = (Stage(origin), Room(route), Audience())
        let (lives, ends) = (Lives(), Log<ObservationEnd>())
        let owner = Slot(lives.make())
        // Blocks the room, not the owner's callback, which would keep the owner.
        let blocker = stage.observe(in: room) { audience.receive($0) }
        let calls = Counter()
        let token = stage.observe(in: room, owner: owner.value!) { _, _ in calls.increment() }
        token.onEnd { ends.append($0) }
        if route == .queue {
            let blocked = try audience.block(by: stage)
            for number in 1...4 { stage.send(number) }
            owner.clear()
            #expect(lives.alive == 0)
            audience.release()
            try blocked.join()
        } else {
            owner.clear()
            stage.send(1)
        }
        try eventually("the end") { ends.count == 1 }
        #expect(ends.entries == [.ownerDeleted])
        #expect(calls.value == 0)
        try token.waitUntilIdle()
        #expect(token.counts.received == 0)
        withExtendedLifetime(blocker) {}
    }
}

// MARK: - Memory

extension Promises.P12DeliveryLifetimeTests {
    @Test(
        "P14 The values and the closure die, whatever is dropped, when the observation is ended",
        arguments: Route.blocking
    )
    func values(route: Route) throws {
        for buffering in [Buffering.unbounded, .latest, .droppingOldest(2), .droppingNewest(2)] {
            for usesPath in [false, true] {
                let (shelf, lives, room) = (Shelf(Thing(0)), Lives(), Room(route))
                let (entered, exit) = (Signal("the callback"), Signal("the callback's release"))
                let token: ObservationToken
                do {
                    let life = lives.make()
                    let body: @Sendable (Change<Thing>) -> Void = { change in
                        life.touch()
                        guard change.new.number == -1 else { return }
                        entered.happen()
                        exit.hold()
                    }
                    let observed: any ObservableProperty<Thing> =
                        usesPath ? shelf.property(\.box.thing) : shelf.box.value.thing
                    token = observed.observe(in: room, buffering: buffering, body)
                }
                let blocked = TestThread { shelf.box.value.thing.value = Thing(-1, life: lives.make()) }
                try entered.wait()
                for number in 1...6 { shelf.box.value.thing.value = Thing(number, life: lives.make()) }
                shelf.box.value.thing.value = Thing(7)
                token.cancel()
                exit.happen()
                try blocked.join()
                try lives.waitUntilNoneIsLeft()
                try token.waitUntilIdle()
            }
        }
        try Process.settle()
    }

    @Test("P14 The closure dies promptly after the end, without further traffic", arguments: Route.blocking)
    func promptly(route: Route) throws {
        for origin in Origin.allCases {
            let (stage, room) = (Stage(origin), Room(route))
            try expectPromptly {
                let lives = Lives()
                let life = lives.make()
                let token = stage.observe(in: room) { _ in life.touch() }
                stage.send(1)
                return (lives, token)
            }
        }
        try Process.settle()
    }
}
