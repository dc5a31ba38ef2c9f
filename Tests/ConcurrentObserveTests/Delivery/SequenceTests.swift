// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P1 P2 P4 Asynchronous sequences: what they return", .timeLimit(.minutes(2)))
    struct SequenceTests {}
}

// MARK: - Everything, in order

extension Promises.SequenceTests {
    @Test(
        "P1 P2 Each of several iterators returns each of several writers' changes once, in order",
        arguments: Origin.allCases
    )
    func everything(origin: Origin) async throws {
        let stage = Stage(origin)
        let sequence = stage.numbers()
        var iterators = (0..<3).map { _ in sequence.makeAsyncIterator() }
        let consumer = try Consumer(sequence)
        try onThreads(4) { thread in for round in 1...200 { stage.send(thread * 1_000 + round) } }
        try await eventuallyAsync("all numbers") { consumer.elements.count == 800 }
        for index in iterators.indices {
            #expect(iterators[index].deliveryCounts.parts == [800, 0, 0])
            #expect(iterators[index].deliveryCounts.pending == 800)
            let numbers = await iterators[index].next(800)
            #expect(origin == .registry || numbers == consumer.elements)
            for thread in 0..<4 {
                #expect(numbers.filter { $0 / 1_000 == thread } == (1...200).map { thread * 1_000 + $0 })
            }
            #expect(iterators[index].deliveryCounts.parts == [800, 800, 0])
        }
        stage.die()
        try await consumer.wait()
    }

    @Test(
        "P2 The changes come in the order of their versions, also of a path that is relinked",
        arguments: Origin.versioned
    )
    func versions(origin: Origin) async throws {
        let stage = Stage(origin)
        let consumer = try Consumer(stage.changes())
        try onThreads(4) { thread in for round in 1...200 { stage.sendVaried(thread * 1_000 + round) } }
        try Process.settle()
        let last = stage.number
        stage.die()
        try await consumer.wait()
        let audience = Audience()
        for change in consumer.elements { audience.receive(ReceivedEvent(change)) }
        #expect(audience.mistakes.isEmpty)
        #expect(audience.received.first?.version == 1)
        #expect(audience.received.last?.number == last)
    }

    @Test("P1 sent = received + dropped + pending: what a slow consumer finds, by policy", arguments: Origin.allCases)
    func policies(origin: Origin) async throws {
        let policies: [(Buffering, [Int])] = [
            (.unbounded, Array(1...10)), (.latest, [10]), (.droppingOldest(3), [8, 9, 10]),
            (.droppingNewest(3), [1, 2, 3]),
        ]
        for (buffering, kept) in policies {
            let stage = Stage(origin)
            var iterator = stage.numbers(buffering: buffering).makeAsyncIterator()
            for number in 1...10 { stage.send(number) }
            let (count, dropped) = (UInt64(kept.count), UInt64(10 - kept.count))
            #expect(iterator.deliveryCounts.parts == [10, 0, dropped])
            #expect(await iterator.next(kept.count) == kept)
            #expect(iterator.deliveryCounts.parts == [10, count, dropped])
            #expect(iterator.deliveryCounts.pending == 0)
            stage.send(11)
            #expect(await iterator.next() == 11)
        }
    }

    @Test("P3 In a group of tasks each consumer of the latest value sees the last one", arguments: Origin.versioned)
    func group(origin: Origin) async throws {
        let stage = Stage(origin)
        let sequence = stage.numbers(options: .initial, buffering: .latest)
        let last = await withTaskGroup(of: Int?.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    for await number in sequence where number == 5_000 { return number }
                    return nil
                }
            }
            group.addTask {
                for number in 1...5_000 {
                    stage.send(number)
                    if number.isMultiple(of: 500) { await Task.yield() }
                }
                return 5_000
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(last == [5_000, 5_000, 5_000, 5_000])
    }
}

// MARK: - The initial value

extension Promises.SequenceTests {
    @Test(
        "P4 Each iterator begins with the value that was present when it was made, if asked to",
        arguments: Origin.versioned
    )
    func initial(origin: Origin) async {
        let stage = Stage(origin)
        let sequence = stage.numbers(options: .initial)
        var first = sequence.makeAsyncIterator()
        stage.send(1)
        var second = sequence.makeAsyncIterator()
        var later = stage.numbers().makeAsyncIterator()
        stage.send(2)
        #expect(await first.next(3) == [0, 1, 2])
        #expect(await second.next(2) == [1, 2])
        #expect(await later.next() == 2)
        #expect(second.deliveryCounts.parts == [2, 2, 0])
    }

    @Test("P4 It comes first, with writers racing; every later version follows", arguments: Origin.versioned)
    func initialOfMany(origin: Origin) async throws {
        let stage = Stage(origin)
        let writers = Hammer(threads: 2) { stage.send(Int.random(in: 0..<1_000)) }
        try writers.waitUntilWarm()
        for _ in 0..<100 {
            var iterator = stage.changes(options: .initial).makeAsyncIterator()
            let audience = Audience()
            for change in await iterator.next(5) { audience.receive(ReceivedEvent(change)) }
            #expect(audience.received[0].kind == .initial)
            #expect(audience.received.filter { $0.kind == .initial }.count == 1)
            #expect(audience.mistakes.isEmpty)
        }
        try writers.stop()
    }

    @Test("P4 A path of one step has the versions of its property, which may have changed before")
    func oneStep() async throws {
        let car = Car(0)
        for mileage in 1...4 { car.mileage.value = mileage }
        var values = car.property(\.mileage).values(options: .initial).makeAsyncIterator()
        var changes = car.property(\.mileage).changes().makeAsyncIterator()
        car.mileage.value = 5
        // Or `next` would wait for ever.
        try #require(values.deliveryCounts.pending == 2)
        try #require(changes.deliveryCounts.pending == 1)
        #expect(await values.next(2) == [4, 5])
        #expect(await changes.next()?.version == 5)
    }

    @Test("P1 The values of an optional property: nil is a value, and not the end")
    func optional() async {
        let property = Observed<Int?>(nil)
        var iterator = property.values(options: .initial).makeAsyncIterator()
        property.value = 1
        property.value = nil
        #expect(await iterator.next(3) == [nil, 1, nil])
        let car = Car(0)
        var path = car.property(\.second.wheel.pressure).values(options: .initial).makeAsyncIterator()
        car.second.value = Axle(3)
        car.second.value = nil
        #expect(await path.next(3) == [nil, 3, nil])
    }

    @Test("P1 Iterated on an actor, the loop's body never leaves it")
    @MainActor
    func onAnActor() async {
        let property = Observed(0)
        let sequence = property.values(options: .initial)
        let writer = Task.detached { for number in 1...20 { property.value = number } }
        for await number in sequence {
            MainActor.preconditionIsolated()
            if number == 20 { break }
        }
        await writer.value
    }
}
