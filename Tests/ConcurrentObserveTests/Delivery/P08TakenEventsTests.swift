// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch
import Testing

extension Promises {
    @Suite("P8 Events that the delivering thread has taken", .timeLimit(.minutes(2)))
    struct P08TakenEventsTests {}
}

extension Promises.P08TakenEventsTests {
    /// The routes that block threads in different ways.
    private static let routes = [Route.serial, .queue, .concurrentQueue, .actor]

    @Test(
        "P8 They are dropped, and destroyed, when cancelAndWait returns; a flush has nothing to wait for",
        arguments: routes
    )
    func cancelAndWait(route: Route) async throws {
        let (taken, lives, returned) = (TakenEvents(route, .unbounded), Lives(), Signal("the return of cancelAndWait"))
        let notifier = try await taken.enterFirst()
        taken.registry.notify(lives.make())
        // The first that is dropped takes its time to be destroyed.
        taken.registry.notify(lives.make { _ = returned.happens(within: glance) })
        for _ in 0..<198 { taken.registry.notify(lives.make()) }
        try await taken.enterSecond()
        let token = taken.token!
        let canceller = TestThread {
            token.cancelAndWaitBlocking()
            returned.happen()
        }
        try eventually("the end") { !token.isActive }
        taken.leaveSecond()
        try await returned.arrival()
        // The delivering thread may still have the one whose callback has just returned.
        #expect(lives.alive <= 1)
        #expect(token.counts.parts == [201, 2, 199])
        #expect(await token.flush())
        try canceller.join()
        try notifier.join()
        try lives.waitUntilNoneIsLeft()
    }

    @Test("P8 After another thread's cancel, too, they are dropped when cancelAndWait returns")
    func cancelElsewhere() throws {
        let queue = DispatchQueue(label: "P8")
        for round in 0..<2_000 {
            let registry = ObserverRegistry<Int>()
            let token = registry.observe(delivery: .queue(queue)) { _ in }
            for event in 0..<8 { registry.notify(event) }
            let canceller = TestThread { token.cancel() }
            token.cancelAndWaitBlocking()
            #expect(token.deliveryCounts?.pending == 0, "round \(round)")
            try canceller.join()
        }
    }

    @Test(
        "P8 A flush that waits at the end returns when all of them are destroyed",
        arguments: routes,
        [Buffering.unbounded, .droppingOldest(256)]
    )
    func flush(route: Route, buffering: Buffering) async throws {
        let (taken, lives) = (TakenEvents(route, buffering), Lives())
        let notifier = try await taken.enterFirst()
        for _ in 0..<200 { taken.registry.notify(lives.make()) }
        try await taken.enterSecond()
        let token = taken.token!
        let flush = Task.immediate { await token.flush() }
        token.cancel()
        taken.leaveSecond()
        #expect(await flush.value)
        // As above.
        #expect(lives.alive <= 1)
        #expect(token.counts.parts == [201, 2, 199])
        try notifier.join()
        try lives.waitUntilNoneIsLeft()
    }

    @Test("P8 A sequence's event that is being compared at the end is pending: a flush waits for it, and it is dropped")
    func comparedEvent() async throws {
        let (property, lives, order) = (Observed(Compared(0)), Lives(), Log<String>())
        let (isReady, entered, exit) = (Signal("the iterator"), Signal("the comparison"), Signal("its release"))
        let flushed = Signal("the return of the flush")
        let values = property.removingDuplicates().values()
        let task = Task.detached { () -> (value: Compared?, counts: DeliveryCounts) in
            var iterator = values.makeAsyncIterator()
            isReady.happen()
            let value = await iterator.next()
            return (value, iterator.deliveryCounts)
        }
        try await isReady.arrival()
        property.value = Compared(1) {
            entered.happen()
            exit.hold()
            order.append("compared")
        }
        try await entered.arrival()
        // Only what waits behind it keeps the life.
        property.value = Compared(2, life: lives.make())
        property.value = Compared(3)
        let flush = Task.immediate {
            #expect(await values.flush())
            order.append("flushed")
            flushed.happen()
        }
        property.cancelAllObservations()
        // Then the mailbox is closed, and the comparison alone is left.
        try lives.waitUntilNoneIsLeft()
        let late = Task.immediate { await values.flush() }
        #expect(!flushed.happens(within: glance))
        exit.happen()
        await flush.value
        #expect(await late.value)
        let end = await task.value
        #expect(end.value == nil)
        #expect(end.counts.parts == [3, 0, 3])
        #expect(order.entries == ["compared", "flushed"])
    }
}

/// An observer whose first two callbacks block. The events that come during the first one are taken
/// together when it returns.
private final class TakenEvents: Sendable {
    /// A registry that keeps no event: an event that a mailbox drops is gone.
    let registry = ObserverRegistry<Life?>()
    private let room: Room
    private let calls = Counter()
    private let entered = [Signal("the first callback"), Signal("the second callback")]
    private let exits = [Signal("the release of the first"), Signal("the release of the second")]
    private let slot = Slot<ObservationToken>()

    var token: ObservationToken? { slot.value }

    init(_ route: Route, _ buffering: Buffering) {
        room = Room(route)
        let body: @Sendable (Life?) -> Void = { [calls, entered, exits] _ in
            let index = calls.increment() - 1
            guard index < 2 else { return }
            entered[index].happen()
            exits[index].hold()
        }
        slot.put(
            route == .actor
                ? registry.observe(on: room.listener, buffering: buffering) { _, event in body(event) }
                : registry.observe(delivery: room.delivery(buffering), body)
        )
    }

    /// Sends the first event. Returns the thread that sends it.
    func enterFirst() async throws -> TestThread {
        let notifier = TestThread { [registry] in registry.notify(nil) }
        try await entered[0].arrival()
        return notifier
    }

    func enterSecond() async throws {
        exits[0].happen()
        try await entered[1].arrival()
    }

    func leaveSecond() { exits[1].happen() }
}
