// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P7 Blocking callbacks, not inline")
    struct P07DeliveryBlockingTests {}
}

// MARK: - One blocks

extension Promises.P07DeliveryBlockingTests {
    @Test(
        "P7 A callback that blocks holds up neither who makes changes nor the others' deliveries, registered before or after",
        arguments: Route.blocking,
        Origin.allCases
    )
    func others(route: Route, origin: Origin) throws {
        let (stage, room, audience) = (Stage(origin), Room(route), Audience())
        let others = (0..<2).flatMap { _ in Route.allCases.map { (Room($0), Audience(blocks: false)) } }
        func observe(_ others: ArraySlice<(Room, Audience)>) -> [ObservationToken] {
            others.map { room, audience in stage.observe(in: room) { audience.receive($0) } }
        }
        var tokens = observe(others[..<Route.allCases.count])
        let blockedToken = stage.observe(in: room, buffering: .latest) { audience.receive($0) }
        tokens += observe(others[Route.allCases.count...])
        let blocked = try audience.block(by: stage)
        #expect(anotherThreadFinishes { for number in 1...100 { stage.send(number) } })
        func receiveAll(_ others: ArraySlice<(Room, Audience)>) throws {
            for (_, other) in others {
                try eventually("all that was sent") { other.numbers.filter { $0 > 0 } == Array(1...100) }
            }
        }
        try receiveAll(others[..<Route.allCases.count])
        // Not yet: the thread that is in a serial callback has not notified the paths after it of
        // its change, and these wait for that version.
        if (route, origin) != (.serial, .path) { try receiveAll(others[Route.allCases.count...]) }
        // Others begin, are called and waited for.
        let goesOn = anotherThreadFinishes {
            for route in Route.blocking {
                let (other, room) = (Audience(), Room(route))
                let token = stage.observe(in: room) { other.receive($0) }
                stage.send(101)
                _ = try? other.wait(for: 1)
                #expect(token.cancelAndWaitBlocking() == .finished)
                #expect(other.numbers == [101])
            }
        }
        #expect(goesOn)
        #expect(audience.count == 1)
        audience.release()
        try blocked.join()
        try audience.waitUntilIdle(blockedToken)
        #expect(audience.numbers == [Audience.blockingNumber, 101])
        for (index, (_, other)) in others.enumerated() { try other.waitUntilIdle(tokens[index]) }
    }

    @Test("P7 While it blocks, a policy keeps the memory bounded", arguments: Route.blocking)
    func bounded(route: Route) throws {
        let (property, room, lives) = (Observed(Thing(0)), Room(route), Lives())
        let (entered, exit) = (Signal("the callback"), Signal("the callback's release"))
        let body: @Sendable (Change<Thing>) -> Void = { change in
            guard change.new.number == -1 else { return }
            entered.happen()
            exit.hold()
        }
        let token = property.observe(in: room, buffering: .droppingOldest(3), body)
        let blocked = TestThread { property.value = Thing(-1) }
        try entered.wait()
        for number in 1...1_000 { property.value = Thing(number, life: lives.make()) }
        // Three changes. The old value of the first is that which was received last.
        try eventually("the end of what was dropped") { lives.alive == 3 }
        exit.happen()
        try blocked.join()
        property.value = Thing(0)
        try token.waitUntilIdle()
        try lives.waitUntilNoneIsLeft()
    }

    @Test(
        "P7 The end of an inline callback is not waited for: the mailboxes have been seen to before",
        arguments: Route.allCases
    )
    func afterAnInlineOne(route: Route) throws {
        let (property, room, audience) = (Observed(0), Room(route), Audience())
        let (entered, exit) = (Signal("the inline callback"), Signal("its release"))
        let inline = property.observe { (_: Change<Int>) in
            entered.happen()
            exit.hold()
        }
        let token = property.observe(in: room) { audience.receive(ReceivedEvent($0)) }
        let blocked = TestThread { property.value = 1 }
        try entered.wait()
        // Serial: after the inline one.
        if route != .serial { try audience.wait(for: 1) }
        exit.happen()
        try blocked.join()
        try audience.wait(for: 1)
        withExtendedLifetime((inline, token)) {}
    }
}

extension Promises.P07DeliveryBlockingTests {
    @Test(
        "P7 A callback of the last property that blocks does not stand between its changes and a path's mailbox"
    )
    func pathBehindABlockedCallback() throws {
        let (stage, room, audience) = (Stage(.path), Room(.queue), Audience(blocks: false))
        let (entered, exit, received) = (
            Signal("the inline callback"), Signal("its release"), Signal("the later change")
        )
        let inline = stage.car.value!.axle.value.wheel.value.pressure.observe { (change: Change<Int>) in
            guard change.new == 1 else { return }
            entered.happen()
            exit.hold()
        }
        // Registered later, and so notified later, by the thread that blocks.
        let token = stage.observe(in: room) {
            audience.receive($0)
            if $0.number == 2 { received.happen() }
        }
        let blocked = TestThread { stage.send(1) }
        try entered.wait()
        try onNewThread { stage.send(2) }
        try received.wait()
        exit.happen()
        try blocked.join()
        #expect(audience.numbers == [1, 2])
        withExtendedLifetime((inline, token)) {}
    }
}

// MARK: - A flood

extension Promises.P07DeliveryBlockingTests {
    @Test(
        "P7 Serial: after 64 changes of others a thread goes on, and the library delivers the rest",
        arguments: Origin.allCases
    )
    func share(origin: Origin) throws {
        let (stage, audience) = (Stage(origin), Audience())
        let token = stage.observe(in: Room(.serial)) { audience.receive($0) }
        let (thread, blocking) = (Slot<Int>(), Slot<TestThread>())
        blocking.put(
            TestThread {
                thread.put(threadNumber())
                stage.send(Audience.blockingNumber)
            }
        )
        try audience.waitUntilBlocked()
        for number in 1...500 { stage.send(number) }
        audience.release()
        try blocking.take()!.join()
        try audience.waitUntilIdle(token)
        #expect(audience.numbers == [Audience.blockingNumber] + Array(1...500))
        #expect(audience.callbackThreads.prefix(65).allSatisfy { $0 == thread.value! })
        #expect(audience.callbackThreads.dropFirst(65).allSatisfy { $0 != thread.value! })
        #expect(audience.overlaps == 0)
    }

    @Test("P7 Serial: no thread is kept by a flood of the others' changes")
    func flood() throws {
        let property = Observed(0)
        let received = Counter()
        let here = Log<Int>()
        let token = property.observe(delivery: .serial()) { (change: Change<Int>) in
            received.increment()
            if change.new < 0 { here.append(threadNumber()) }
            // Slower than two threads make changes.
            for _ in 0..<200 { _ = received.value }
        }
        let writers = Hammer(threads: 2) { if token.counts.pending < 20_000 { property.value = 1 } }
        try writers.waitUntilWarm()
        // Each of these returns while the others go on.
        #expect(anotherThreadFinishes { for round in 1...50 { property.value = -round } })
        try writers.stop()
        try token.waitUntilIdle()
        #expect(here.count == 50)
    }
}
