// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P1 What deliveryCounts counts as what", .timeLimit(.minutes(2)))
    struct P01DeliveryCountsTests {}
}

extension Promises.P01DeliveryCountsTests {
    @Test(
        "P1 A change that removingDuplicates leaves out is neither received nor dropped, and no longer sent",
        arguments: Route.allCases
    )
    func leftOut(route: Route) throws {
        let (property, room, calls) = (Observed(0), Room(route), Counter())
        let token = property.removingDuplicates().observe(in: room, options: .initial) { _ in calls.increment() }
        for number in [0, 1, 1, 2, 2, 2] { property.value = number }
        try token.waitUntilIdle()
        #expect(token.counts.parts == [3, 3, 0])
        try eventually("the last callback") { calls.value == 3 }
    }

    @Test("P1 A change that a sequence leaves out is not counted as returned, either")
    func leftOutOfASequence() async {
        let property = Observed(0)
        var values = property.removingDuplicates().values().makeAsyncIterator()
        for number in [1, 1, 2] { property.value = number }
        #expect(values.deliveryCounts.parts == [3, 0, 0])
        #expect(await values.next() == 1)
        #expect(values.deliveryCounts.parts == [3, 1, 0])
        #expect(await values.next() == 2)
        #expect(values.deliveryCounts.parts == [2, 2, 0])
    }

    @Test(
        "P1 P13 An event whose owner dies when the closure is about to be called is dropped, not received",
        arguments: Route.named
    )
    func deadOwner(route: Route) throws {
        let (property, room, calls) = (Observed(Compared(0)), Room(route), Counter())
        let (lives, ends) = (Lives(), Log<ObservationEnd>())
        let owner = Slot(lives.make())
        let token = property.removingDuplicates()
            .observe(owner: owner.value!, delivery: room.delivery(.unbounded)) { _, _ in calls.increment() }
        token.onEnd { ends.append($0) }
        // Compared when the library has found the owner alive.
        property.value = Compared(1) { owner.clear() }
        try eventually("the end") { ends.count == 1 }
        try token.waitUntilIdle()
        #expect(lives.alive == 0)
        #expect(ends.entries == [.ownerDeleted])
        #expect(calls.value == 0)
        #expect(token.counts.parts == [1, 0, 1])
    }

    @Test("P1 The end of the source is no event: nothing counts it")
    func end() async throws {
        let property = Slot(Observed(0))
        let token = property.value!.observe(options: .initial, delivery: .serial()) { _ in }
        let ended = Signal("the end")
        token.onEnd { _ in ended.happen() }
        var values = property.value!.values().makeAsyncIterator()
        property.value!.value = 1
        property.clear()
        try await ended.arrival()
        #expect(token.counts.parts == [2, 2, 0])
        #expect(await values.next() == 1)
        #expect(await values.next() == nil)
        #expect(values.deliveryCounts.parts == [1, 1, 0])
    }

    @Test("P1 The numbers add up at any time, with writers racing; what is received or dropped only grows")
    func addUp() throws {
        let (property, room, calls) = (Observed(0), Room(.queue), Counter())
        let token = property.removingDuplicates().observe(in: room, buffering: .droppingOldest(4)) { _ in
            calls.increment()
        }
        let writers = Hammer(threads: 2) { property.modify { $0 = ($0 + 1) & ~1 } }
        try writers.waitUntilWarm()
        var (last, mistakes) = (token.counts, 0)
        for _ in 0..<20_000 {
            let counts = token.counts
            let isRight =
                counts.received + counts.dropped <= counts.sent && counts.received >= last.received
                && counts.dropped >= last.dropped
            if !isRight { mistakes += 1 }
            last = counts
        }
        try writers.stop()
        #expect(mistakes == 0)
        try token.waitUntilIdle()
        try eventually("the last callback") { calls.value == Int(token.counts.received) }
        #expect(token.counts.pending == 0)
    }
}
