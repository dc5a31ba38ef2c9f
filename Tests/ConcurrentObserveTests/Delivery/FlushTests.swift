// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch
import Testing

extension Promises {
    @Suite("P1 Flushing a delivery", .timeLimit(.minutes(2)))
    struct FlushTests {}
}

extension Promises.FlushTests {
    @Test(
        "P1 After flush, every callback of an earlier change has returned",
        arguments: Route.allCases,
        Origin.allCases
    )
    func returned(route: Route, origin: Origin) async throws {
        let (stage, room) = (Stage(origin), Room(route))
        let returned = Counter()
        let token = stage.observe(in: room) { _ in
            // Long enough for a flush that does not wait for the return.
            for _ in 0..<2_000 { briefWork() }
            returned.increment()
        }
        for round in 1...20 {
            try onThreads(2) { _ in for number in 1...3 { stage.send(round * 10 + number) } }
            #expect(await token.flush())
            #expect(returned.value == 6 * round)
            #expect(token.counts.pending == 0)
        }
        token.cancel()
        #expect(await token.flush())
    }

    @Test("P1 Flush does not wait for later changes", arguments: [Buffering.unbounded, .droppingOldest(8)])
    func laterChanges(buffering: Buffering) async throws {
        let (property, queue) = (Observed(0), DispatchQueue(label: "held"))
        let (entered, exit) = (Signal("the second callback"), Signal("its release"))
        let token = property.observe(delivery: .queue(queue, buffering: buffering)) { change in
            guard change.new == 2 else { return }
            entered.happen()
            exit.hold()
        }
        queue.suspend()
        property.value = 1
        let flush = Task.immediate { await token.flush() }
        property.value = 2
        queue.resume()
        try await entered.arrival()
        // The second callback goes on.
        #expect(await flush.value)
        #expect(token.counts.received == 2)
        exit.happen()
        #expect(await token.flush())
    }

    @Test("P1 A flush that begins in a callback ends when that has returned", arguments: Route.allCases)
    func insideACallback(route: Route) async throws {
        let (stage, room) = (Stage(.property), Room(route))
        let (order, slot) = (Log<String>(), Slot<ObservationToken>())
        let flushed = Signal("the flush")
        let token = stage.observe(in: room) { _ in
            let token = slot.value!
            Task.immediate {
                #expect(await token.flush())
                order.append("flushed")
                flushed.happen()
            }
            order.append("returned")
        }
        slot.put(token)
        stage.send(1)
        try await flushed.arrival()
        #expect(order.entries == ["returned", "flushed"])
        slot.clear()
        token.cancel()
    }

    @Test("P1 What an observation has left at its end is dropped: a flush ends then")
    func ended() async throws {
        let (property, queue) = (Observed(0), DispatchQueue(label: "held"))
        queue.suspend()
        let token = property.observe(delivery: .queue(queue)) { _ in }
        for number in 1...3 { property.value = number }
        let flush = Task.immediate { await token.flush() }
        token.cancel()
        #expect(await flush.value)
        #expect(await token.flush())
        #expect(token.counts.parts == [3, 0, 3])
        queue.resume()
    }

    @Test("P1 A flush ends with the actor, too")
    func actorIsGone() async throws {
        let property = Observed(0)
        var listener: Listener? = Listener()
        listener!.suspend()
        let token = property.observe(on: listener!) { _, _ in }
        property.value = 1
        let flush = Task.immediate { await token.flush() }
        listener!.resume()
        listener = nil
        #expect(await flush.value)
        property.value = 2
        #expect(await token.flush())
        #expect(token.counts.pending == 0)
    }

    @Test("P1 Cancelling the task that waits ends its wait alone")
    func cancelledTask() async throws {
        let (property, queue) = (Observed(0), DispatchQueue(label: "held"))
        queue.suspend()
        let token = property.observe(delivery: .queue(queue)) { _ in }
        property.value = 1
        let other = Task.immediate { await token.flush() }
        for _ in 0..<50 {
            let flush = Task.immediate { await token.flush() }
            flush.cancel()
            #expect(await flush.value == false)
        }
        let late = Task {
            while !Task.isCancelled { await Task.yield() }
            return await token.flush()
        }
        late.cancel()
        #expect(await late.value == false)
        queue.resume()
        #expect(await other.value)
        #expect(token.counts.pending == 0)
    }

    @Test("P1 An inline observation has nothing to flush")
    func inline() async {
        let token = Observed(0).observe { (_: Change<Int>) in }
        #expect(await token.flush())
    }

    @Test("P1 A sequence is flushed when its iterators ask for the next element, or end", arguments: Origin.allCases)
    func sequence(origin: Origin) async throws {
        let stage = Stage(origin)
        let numbers = stage.numbers()
        #expect(await numbers.flush())
        let (entered, exit) = (Signal("the second element"), Signal("its release"))
        let done = Counter()
        var iterator = numbers.makeAsyncIterator()
        let isReady = Signal("the other iterator")
        let task = Task {
            var iterator = numbers.makeAsyncIterator()
            isReady.happen()
            while let number = await iterator.next() {
                if number == 2 {
                    entered.happen()
                    try? await exit.arrival()
                }
                done.increment()
            }
        }
        try await isReady.arrival()
        for number in 1...3 { stage.send(number) }
        let flush = Task.immediate { await numbers.flush() }
        #expect(await iterator.next(3) == [1, 2, 3])
        try await entered.arrival()
        #expect(done.value == 1)
        exit.happen()
        // It has not come back for the fourth: what it holds counts as in use until it is let go.
        iterator = numbers.makeAsyncIterator()
        #expect(await flush.value)
        #expect(done.value == 3)
        stage.send(4)
        task.cancel()
        await task.value
        stage.cancelAll()
        #expect(await iterator.next() == nil)
        #expect(await numbers.flush())
    }
}

/// Does work that the optimiser does not remove.
@inline(never)
private func briefWork() { withExtendedLifetime(ContinuousClock.now) {} }
