// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch
import Testing

extension Promises {
    @Suite("P5 P6 Deliveries that are not inline: no lock held, re-entrancy")
    struct P05DeliveryLocksTests {}
}

// MARK: - Callbacks

extension Promises.P05DeliveryLocksTests {
    @Test(
        "P6 A callback may set, observe, cancel, and release its own token",
        arguments: Route.blocking,
        Origin.allCases
    )
    func anything(route: Route, origin: Origin) throws {
        let (stage, room, audience) = (Stage(origin), Room(route), Audience())
        let (inner, token) = (Slot<ObservationToken>(), Slot<ObservationToken>())
        let (innerRoom, innerAudience) = (Room(route), Audience())
        token.put(
            stage.observe(in: room) { received in
                audience.receive(received)
                switch received.number {
                case 1: inner.put(stage.observe(in: innerRoom) { innerAudience.receive($0) })
                case 2..<10: stage.send(received.number + 1)
                case 10:
                    inner.value!.cancel()
                    token.clear()
                    stage.send(11)
                default: break
                }
            }
        )
        stage.send(1)
        try audience.wait(for: 1)
        try eventually("the inner observation") { inner.value != nil }
        stage.send(2)
        try audience.wait(for: 10)
        try room.perform {}
        try Process.settle()
        #expect(audience.numbers == Array(1...10))
        // Not for the change that was being delivered when it was added; and not after its end.
        #expect(innerAudience.numbers.allSatisfy { (2...10).contains($0) })
        #expect(stage.observationCount == 0)
        inner.clear()
    }

    @Test(
        "P6 Serial: a change that the callback makes is delivered after it has returned, before the outer set returns",
        arguments: Origin.allCases
    )
    func serialOrder(origin: Origin) throws {
        let (stage, room) = (Stage(origin), Room(.serial))
        let order = Log<String>()
        let token = stage.observe(in: room) { received in
            order.append("begin \(received.number)")
            if received.number < 3 { stage.send(received.number + 1) }
            order.append("end \(received.number)")
        }
        stage.send(1)
        #expect(order.entries == ["begin 1", "end 1", "begin 2", "end 2", "begin 3", "end 3"])
        withExtendedLifetime(token) {}
    }

    @Test("P6 An observer that an inline one has cancelled earlier in the same pass is not called later in it")
    func cancelledInThePass() throws {
        let property = Observed(0)
        let audience = Audience()
        let victim = Slot<ObservationToken>()
        let first = property.observe { (_: Change<Int>) in victim.value!.cancel() }
        victim.put(
            property.observe(delivery: .serial()) { (change: Change<Int>) in audience.receive(ReceivedEvent(change)) }
        )
        property.value = 1
        try Process.settle()
        #expect(audience.count == 0)
        #expect(victim.value!.counts.parts == [1, 0, 1])
        withExtendedLifetime(first) {}
        victim.clear()
    }
}

// MARK: - What is dropped

extension Promises.P05DeliveryLocksTests {
    @Test("P5 A value that a policy drops may set the same property when it is destroyed", arguments: Route.blocking)
    func settingDeinit(route: Route) throws {
        for buffering in [Buffering.latest, .droppingOldest(2), .droppingNewest(1)] {
            let property = Observed(Thing(0))
            let (lives, room) = (Lives(), Room(route))
            let (entered, exit) = (Signal("the callback"), Signal("the callback's release"))
            let numbers = Log<Int>()
            let body: @Sendable (Change<Thing>) -> Void = { change in
                numbers.append(change.new.number)
                if change.new.number == -1 {
                    entered.happen()
                    exit.hold()
                }
            }
            let token = property.observe(in: room, buffering: buffering, body)
            let blocked = TestThread { property.value = Thing(-1) }
            try entered.wait()
            let goesOn = anotherThreadFinishes {
                for number in 1...6 {
                    property.value = Thing(
                        number,
                        life: lives.make { if number < 4 { property.value = Thing(10 + number) } }
                    )
                }
            }
            #expect(goesOn)
            exit.happen()
            try blocked.join()
            property.value = Thing(20)
            try eventually("the values' end") { lives.alive == 0 }
            try token.waitUntilIdle()
            #expect(property.version == 11)
            #expect(token.counts.sent == 11)
        }
    }

    @Test(
        "P5 A value that a policy drops is destroyed elsewhere: who sets may hold a lock that its deinit takes",
        arguments: Origin.versioned
    )
    func lockingDeinit(origin: Origin) throws {
        let shelf = Shelf(Thing(0))
        let queue = DispatchQueue(label: "held up")
        let lives = Lives()
        let lock = Guarded()
        let token =
            origin == .property
            ? shelf.box.value.thing.observe(delivery: .queue(queue, buffering: .droppingOldest(2))) {
                (_: Change<Thing>) in
            }
            : shelf.observe(\.box.thing, delivery: .queue(queue, buffering: .droppingOldest(2))) {
                (_: Change<Thing>) in
            }
        queue.suspend()
        shelf.box.value.thing.value = Thing(1, life: lives.make { lock.enter {} })
        shelf.box.value.thing.value = Thing(2)
        // The mailbox is the last to hold the first value.
        try Process.settle()
        #expect(lives.alive == 1)
        #expect(
            anotherThreadFinishes {
                lock.enter {
                    shelf.box.value.thing.value = Thing(3)
                    // The second change has the first value, too: its old one.
                    shelf.box.value.thing.value = Thing(4)
                }
            }
        )
        try lives.waitUntilNoneIsLeft()
        queue.resume()
        try token.waitUntilIdle()
        #expect(token.counts.parts == [4, 2, 2])
    }

    @Test("P5 So is what came too early for its version, on a path")
    func early() throws {
        let shelf = Shelf(Thing(0))
        let queue = DispatchQueue(label: "held up")
        let (entered, exit) = (Signal("the inline callback"), Signal("its release"))
        let inline = shelf.box.value.thing.observe { (change: Change<Thing>) in
            guard change.new.number == 1 else { return }
            entered.happen()
            exit.hold()
        }
        let lives = Lives()
        let token = shelf.observe(\.box.thing, delivery: .queue(queue, buffering: .droppingNewest(1))) {
            (_: Change<Thing>) in
        }
        queue.suspend()
        let first = TestThread { shelf.box.value.thing.value = Thing(1) }
        try entered.wait()
        try onNewThread {
            shelf.box.value.thing.value = Thing(2, life: lives.make { shelf.box.value.thing.value = Thing(4) })
            shelf.box.value.thing.value = Thing(3)
        }
        try Process.settle()
        // The first change makes room for none of the others, which are dropped; one is destroyed,
        // and sets the same property.
        exit.happen()
        try first.join()
        try lives.waitUntilNoneIsLeft()
        try eventually("the last change") { shelf.box.value.thing.version == 4 && token.counts.sent == 4 }
        #expect(token.counts.parts == [4, 0, 3])
        queue.resume()
        try token.waitUntilIdle()
        withExtendedLifetime(inline) {}
    }
}

/// A lock that belongs to a user.
private final class Guarded: Sendable {
    private let semaphore = DispatchSemaphore(value: 1)

    func enter(_ body: () -> Void) {
        semaphore.wait()
        body()
        semaphore.signal()
    }
}

// MARK: - Traps

extension Promises.P05DeliveryLocksTests {
    /// The observations that get a buffer without room.
    enum Roomless: String, CaseIterable, Codable, Sendable {
        case serial, queue, actor, isolated, registry, path, changes, values, events, pathValues, observationActor

        func begin(_ buffering: Buffering) {
            let (property, registry, car) = (Observed(0), ObserverRegistry<Int>(), Car(0))
            switch self {
            case .serial: _ = property.observe(delivery: .serial(buffering: buffering)) { (_: Change<Int>) in }
            case .queue: _ = property.observe(delivery: .queue(.global(), buffering: buffering)) { (_: Change<Int>) in }
            case .actor: _ = property.observe(on: Listener(), buffering: buffering) { _, _ in }
            case .isolated: _ = property.observeIsolated(buffering: buffering) { @MainActor _ in }
            case .registry: _ = registry.observe(delivery: .serial(buffering: buffering)) { (_: Int) in }
            case .path:
                _ = car.observe(\.axle.wheel.pressure, delivery: .serial(buffering: buffering)) { (_: Change<Int>) in }
            case .changes: _ = property.changes(buffering: buffering)
            case .values: _ = property.values(buffering: buffering)
            case .events: _ = registry.events(buffering: buffering)
            case .pathValues: _ = car.property(\.axle.wheel.pressure).values(buffering: buffering)
            case .observationActor: _ = ObservationActor(buffering: buffering)
            }
        }
    }

    @Test("P5 A buffer without room traps where it is given, and says why", arguments: Roomless.allCases)
    func roomless(place: Roomless) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [place] in
            Process.limitLife(seconds: 20)
            place.begin(place == .queue ? .droppingNewest(-1) : .droppingOldest(0))
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(
            text.contains("ConcurrentObserve: a buffer of \(place == .queue ? -1 : 0) events holds none. Give it"),
            "\(text.prefix(500))"
        )
    }

    /// The ways to observe a property in a place where that is not possible.
    enum Misplaced: String, CaseIterable, Codable, Sendable {
        case serial, queue, actor, isolated, oneStepPath, changes, values, pathValues, observationActor

        func begin(_ car: Car) {
            let property = car.mileage
            switch self {
            case .serial: _ = property.observe(options: .initial, delivery: .serial()) { (_: Change<Int>) in }
            case .queue: _ = property.observe(delivery: .queue(.global())) { (_: Change<Int>) in }
            case .actor: _ = property.observe(on: Listener()) { _, _ in }
            case .isolated: _ = property.observeIsolated(buffering: .latest) { @MainActor _ in }
            case .oneStepPath: _ = car.observe(\.mileage, delivery: .serial()) { (_: Change<Int>) in }
            case .changes: _ = property.changes().makeAsyncIterator()
            case .values: _ = property.values(options: .initial).makeAsyncIterator()
            case .pathValues: _ = car.property(\.mileage).values().makeAsyncIterator()
            case .observationActor: _ = property.observe(delivery: .actor(ObservationActor())) { _ in }
            }
        }
    }

    @Test("P5 Observing in the body of the property's own modify traps, and says why", arguments: Misplaced.allCases)
    func misplaced(how: Misplaced) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [how] in
            Process.limitLife(seconds: 20)
            let car = Car(0)
            car.mileage.modify { _ in how.begin(car) }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(
            text.contains("ConcurrentObserve: a property was observed inside the body of its own modify or commit."),
            "\(text.prefix(500))"
        )
    }
}
