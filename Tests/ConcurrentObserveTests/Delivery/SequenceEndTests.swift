// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P8 P11 P12 P14 Asynchronous sequences: the end", .timeLimit(.minutes(2)))
    struct SequenceEndTests {}
}

// MARK: - Cancellation

extension Promises.SequenceEndTests {
    @Test(
        "P8 Cancelling the task that waits ends its iteration at once and removes its observer, and no other",
        arguments: Origin.allCases
    )
    func cancellation(origin: Origin) async throws {
        let stage = Stage(origin)
        try Process.settle()
        let before = stage.observationCount
        let consumers = try (0..<3).map { _ in try Consumer(stage.numbers()) }
        stage.send(1)
        try await eventuallyAsync("the first number") { consumers.allSatisfy { $0.elements == [1] } }
        consumers[1].cancel()
        try await consumers[1].wait()
        stage.send(2)
        try await eventuallyAsync("the second number") {
            consumers[0].elements == [1, 2] && consumers[2].elements == [1, 2]
        }
        #expect(consumers[1].elements == [1])
        consumers[0].cancel()
        consumers[2].cancel()
        for consumer in consumers { try await consumer.wait() }
        try Process.settle()
        #expect(stage.observationCount == before)
    }

    @Test(
        "P8 In a task that is cancelled already, next is nil, and what has gathered is dropped",
        arguments: Origin.allCases
    )
    func cancelledBefore(origin: Origin) async throws {
        let stage = Stage(origin)
        let hasFirst = Signal("the first number")
        let task = Task.detached {
            var iterator = stage.numbers().makeAsyncIterator()
            for number in 1...5 { stage.send(number) }
            let first = await iterator.next()
            hasFirst.happen()
            while !Task.isCancelled { await Task.yield() }
            let (second, third) = (await iterator.next(), await iterator.next())
            stage.send(6)
            return ([first, second, third], iterator.deliveryCounts.parts)
        }
        try await hasFirst.arrival()
        task.cancel()
        let result = await task.value
        #expect(result.0 == [1, nil, nil])
        #expect(result.1 == [5, 1, 4])
        try Process.settle()
    }

    @Test("P8 What an iterator has left when all observations are removed is not returned", arguments: Origin.allCases)
    func removalOfTheRest(origin: Origin) async throws {
        let stage = Stage(origin)
        for policy in [Buffering.unbounded, .droppingNewest(8)] {
            var iterator = stage.numbers(buffering: policy).makeAsyncIterator()
            let consumer = try Consumer(stage.numbers(buffering: policy))
            for number in 1...5 { stage.send(number) }
            #expect(await iterator.next() == 1)
            stage.cancelAll()
            // Before the library has come to it.
            #expect(await iterator.next() == nil)
            #expect(iterator.deliveryCounts.parts == [5, 1, 4])
            stage.send(6)
            #expect(await iterator.next() == nil)
            try await consumer.wait()
            #expect(!consumer.elements.contains(6))
        }
        try Process.settle()
    }

    @Test("P8 Cancelled at any moment, while others change the source: it ends", arguments: Origin.allCases)
    func race(origin: Origin) async throws {
        let stage = Stage(origin)
        try Process.settle()
        let before = stage.observationCount
        let writers = Hammer(threads: 1) { stage.send(1) }
        try writers.waitUntilWarm()
        for _ in 0..<300 {
            let consumer = try Consumer(stage.numbers(buffering: .latest))
            consumer.cancel()
            try await consumer.wait()
        }
        try writers.stop()
        try Process.settle()
        #expect(stage.observationCount == before)
    }

    @Test("P8 P10 An iterator that is released removes its observer; a copy keeps it", arguments: Origin.allCases)
    func letGo(origin: Origin) async throws {
        let stage = Stage(origin)
        try Process.settle()
        let before = stage.observationCount
        let sequence = stage.numbers()
        #expect(stage.observationCount == before)
        var kept = [sequence.makeAsyncIterator(), sequence.makeAsyncIterator()]
        kept.append(kept[0])
        let during = stage.observationCount
        #expect(during > before)
        kept.remove(at: 0)
        try Process.settle()
        #expect(stage.observationCount == during)
        stage.send(1)
        #expect(await kept[1].next() == 1)
        kept = []
        try Process.settle()
        #expect(stage.observationCount == before)
    }

    @Test(
        "P8 Removing the source's observers ends the iterations; what has gathered is dropped",
        arguments: Origin.allCases
    )
    func removal(origin: Origin) async throws {
        let stage = Stage(origin)
        let consumer = try Consumer(stage.numbers())
        var iterator = stage.numbers().makeAsyncIterator()
        stage.send(1)
        try await eventuallyAsync("the first number") { consumer.elements == [1] }
        stage.cancelAll()
        stage.send(2)
        try await consumer.wait()
        try Process.settle()
        #expect(consumer.elements == [1])
        #expect(await iterator.rest() == [])
        #expect(iterator.deliveryCounts.parts == [1, 0, 1])
    }
}

// MARK: - The source's end

extension Promises.SequenceEndTests {
    @Test(
        "P12 When the source is gone an iterator returns what it has left, then nil, for good",
        arguments: Origin.allCases
    )
    func sourceDies(origin: Origin) async throws {
        for buffering in [Buffering.unbounded, .latest, .droppingOldest(2)] {
            let stage = Stage(origin)
            let sequence = stage.numbers(buffering: buffering)
            var iterator = sequence.makeAsyncIterator()
            for number in 1...3 { stage.send(number) }
            let isAlive = stage.isAlive
            stage.die()
            #expect(!isAlive())
            let expected = buffering == .latest ? [3] : buffering == .unbounded ? [1, 2, 3] : [2, 3]
            #expect(await iterator.rest() == expected)
            #expect(await iterator.next() == nil)
            #expect(await iterator.next() == nil)
            #expect(iterator.deliveryCounts.pending == 0)
            // One that is made too late ends at once.
            var late = sequence.makeAsyncIterator()
            #expect(await late.next() == nil)
            #expect(late.deliveryCounts.parts == [0, 0, 0])
        }
    }

    @Test(
        "P12 The changes end with the last one that the policy has kept, and the end takes no other's place",
        arguments: Origin.versioned
    )
    func lastChange(origin: Origin) async {
        let policies: [(Buffering, [Int])] = [(.unbounded, [1, 2, 3]), (.latest, [3]), (.droppingNewest(1), [1])]
        for (buffering, kept) in policies {
            let stage = Stage(origin)
            var iterator = stage.changes(buffering: buffering).makeAsyncIterator()
            for number in 1...3 { stage.send(number) }
            stage.die()
            let changes = await iterator.rest()
            #expect(changes.map(\.new) == kept)
            #expect(changes.map(\.version) == kept.map { UInt64($0) })
            #expect(changes.map(\.old) == [0] + kept.dropLast())
            #expect(changes.allSatisfy { $0.reason == .valueChanged })
            #expect(await iterator.next() == nil)
            #expect(iterator.deliveryCounts.parts == [3, UInt64(kept.count), 3 - UInt64(kept.count)])
        }
    }

    @Test("P12 Who is waiting when the source dies goes on with the end", arguments: Origin.allCases)
    func whileWaiting(origin: Origin) async throws {
        for _ in 0..<50 {
            let stage = Stage(origin)
            let consumers = try (0..<2).map { _ in try Consumer(stage.numbers()) }
            stage.send(1)
            try await eventuallyAsync("the first number") { consumers.allSatisfy { $0.elements == [1] } }
            stage.die()
            for consumer in consumers { try await consumer.wait() }
            #expect(consumers.allSatisfy { $0.elements == [1] })
        }
    }

    @Test(
        "P11 Neither a sequence nor an iterator retains its source, not even one in whose next a task waits",
        arguments: Origin.allCases
    )
    func notRetained(origin: Origin) async throws {
        let stage = Stage(origin)
        let (sequence, isAlive) = (stage.numbers(), stage.isAlive)
        let iterator = sequence.makeAsyncIterator()
        let consumer = try Consumer(sequence)
        stage.send(1)
        try await eventuallyAsync("the first number") { consumer.elements == [1] }
        stage.die()
        #expect(!isAlive())
        try await consumer.wait()
        #expect(iterator.deliveryCounts.sent == 1)
        withExtendedLifetime((sequence, iterator)) {}
    }
}

// MARK: - Memory

extension Promises.SequenceEndTests {
    @Test("P14 What is dropped, what is left at the end, and what was returned: all values are destroyed")
    func values() async throws {
        let lives = Lives()
        for buffering in [Buffering.unbounded, .latest, .droppingOldest(2), .droppingNewest(2)] {
            let shelf = Shelf(Thing(0))
            do {
                var iterators = [
                    shelf.box.value.thing.changes(buffering: buffering).makeAsyncIterator(),
                    shelf.property(\.box.thing).changes(buffering: buffering).makeAsyncIterator(),
                ]
                for number in 1...6 { shelf.box.value.thing.value = Thing(number, life: lives.make()) }
                for index in iterators.indices { _ = await iterators[index].next() }
                shelf.box.value.thing.value = Thing(7)
                if buffering == .unbounded { #expect(lives.alive == 6) }
            }
            try lives.waitUntilNoneIsLeft()
        }
        try Process.settle()
    }

    @Test("P14 With the source's end nothing is left of a sequence that was not iterated to its end")
    func abandoned() async throws {
        let (lives, registry) = (Lives(), Slot(ObserverRegistry<Life>()))
        var iterator = Optional(registry.value!.events().makeAsyncIterator())
        for _ in 0..<5 { registry.value!.notify(lives.make()) }
        registry.clear()
        #expect(await iterator!.next() != nil)
        try await eventuallyAsync("the end of the first") { lives.alive == 4 }
        iterator = nil
        try lives.waitUntilNoneIsLeft()
        try Process.settle()
    }
}
