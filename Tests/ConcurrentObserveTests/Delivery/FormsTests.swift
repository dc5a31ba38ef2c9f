// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch
import Testing

extension Promises {
    @Suite("P1 P2 Every form of observing, in every delivery")
    struct FormsTests {}
}

extension Promises.FormsTests {
    @Test(
        "P1 P8 A closure of two parameters receives each change and its own observation, which it can end",
        arguments: [nil] + Route.named.map(Optional.some),
        ObservableKind.allCases
    )
    func handle(route: Route?, kind: ObservableKind) throws {
        let room = route.map { Room($0) }
        let (thing, numbers, ends) = (ObservableThing(kind), Log<Int>(), Log<ObservationEnd>())
        let body: @Sendable (Int, ObservationHandle) -> Void = { number, observation in
            room?.check()
            numbers.append(number)
            if number == 3 {
                #expect(observation.isActive)
                observation.cancel()
                #expect(!observation.isActive)
            }
        }
        let token = thing.with(Handled(room?.delivery(.unbounded) ?? .inline, body)).onEnd { ends.append($0) }
        for number in 1...5 { thing.send(number) }
        try eventually("the end") { ends.count == 1 }
        #expect(ends.entries == [.cancelled])
        #expect(numbers.entries == [1, 2, 3])
        #expect(!token.isActive)
        #expect((token.deliveryCounts == nil) == (route == nil))
        if route != nil { #expect(token.counts.received == 3) }
    }

    @Test(
        "P1 P4 observeValues delivers the values alone, where the delivery says",
        arguments: Route.named,
        Origin.versioned
    )
    func values(route: Route, origin: Origin) throws {
        for includesInitial in [false, true] {
            let (stage, room, numbers) = (Stage(origin), Room(route), Log<Int>())
            stage.send(7)
            let token = stage.observed.observeValues(
                options: includesInitial ? .initial : [],
                delivery: room.delivery(.unbounded)
            ) { number in
                room.check()
                numbers.append(number)
            }
            try onNewThread { for number in 8...60 { stage.send(number) } }
            try token.waitUntilIdle()
            try eventually("the last value") { numbers.entries.last == 60 }
            #expect(numbers.entries == Array((includesInitial ? 7 : 8)...60))
            token.cancel()
            stage.send(61)
            #expect(numbers.entries.last == 60)
        }
    }

    @Test("P4 observeValues inline runs on this thread, then on the changing one", arguments: Origin.versioned)
    func inlineValues(origin: Origin) throws {
        let (stage, threads, numbers) = (Stage(origin), Log<Int>(), Log<Int>())
        let token = stage.observed.observeValues(options: .initial) { number in
            threads.append(threadNumber())
            numbers.append(number)
        }
        #expect(numbers.entries == [0])
        let changing = Log<Int>()
        try onNewThread {
            changing.append(threadNumber())
            stage.send(1)
            #expect(numbers.entries == [0, 1])
        }
        #expect(threads.entries == [threadNumber(), changing.entries[0]])
        #expect(token.deliveryCounts == nil)
    }
}

// MARK: - Prior deliveries

extension Promises.FormsTests {
    @Test(
        "P2 In order, each change comes after its prior one, which has the value and the version before",
        arguments: Route.allCases,
        Origin.versioned
    )
    func prior(route: Route, origin: Origin) throws {
        let (stage, room, audience) = (Stage(origin), Room(route), Audience())
        let token = stage.observe(in: room, options: [.initial, .prior]) { audience.receive($0) }
        for number in 1...50 { stage.send(number) }
        try audience.waitUntilIdle(token)
        let expected = (0..<50).flatMap { number in
            ["prior - → \(number) @\(number)", "change \(number) → \(number + 1) @\(number + 1)"]
        }
        #expect(audience.received.map(\.description) == ["initial - → 0 @0"] + expected)
        #expect(audience.overlaps == 0)
        #expect(token.counts.parts == [101, 101, 0])
    }

    @Test("P2 With writers racing, priors change nothing of the order of the changes", arguments: Route.allCases)
    func priorOfMany(route: Route) throws {
        for origin in Origin.versioned {
            let (stage, room, audience) = (Stage(origin), Room(route), Audience())
            let token = stage.observe(in: room, options: .prior) { audience.receive($0) }
            try onThreads(3) { thread in for round in 1...100 { stage.send(thread * 1_000 + round) } }
            try Process.settle()
            try audience.waitUntilIdle(token)
            #expect(audience.mistakes.isEmpty)
            #expect(audience.overlaps == 0)
            let changes = audience.received.filter { $0.kind == .change }
            #expect(changes.map(\.version) == Array(1...300))
            #expect(audience.count == 600)
            // Each is the value and the version of one change, or of the beginning.
            for prior in audience.received where prior.kind == .prior {
                let number = prior.version == 0 ? 0 : changes[Int(prior.version) - 1].number
                #expect(prior.number == number && prior.old == nil)
            }
        }
    }
}

extension Promises.FormsTests {
    private actor Plain {}

    @Test("P1 P2 `.actor` takes any actor, the main one among them: the calls come on it, in order")
    func anyActor() async {
        let (property, plain) = (Observed(0), Plain())
        let (onPlain, onMain) = (Log<Int>(), Log<Int>())
        let tokens = [
            property.observe(delivery: .actor(plain)) { change in
                plain.preconditionIsolated()
                onPlain.append(change.new)
            },
            property.observe(options: .initial, delivery: .actor(MainActor.shared, buffering: .droppingOldest(4))) {
                MainActor.preconditionIsolated()
                onMain.append($0.new)
            },
        ]
        for number in 1...3 { property.value = number }
        for token in tokens { #expect(await token.flush()) }
        #expect(onPlain.entries == [1, 2, 3])
        #expect(onMain.entries == [0, 1, 2, 3])
    }

    @Test("P11 `.actor` does not retain the actor: the observation ends with it; its own policy is kept")
    func actorIsNotRetained() throws {
        let property = Observed(0)
        var plain: Plain? = Plain()
        let (token, ends) = (property.observe(delivery: .actor(plain!)) { _ in }, Log<ObservationEnd>())
        token.onEnd { ends.append($0) }
        plain = nil
        property.value = 1
        try eventually("the end") { ends.count == 1 }
        #expect(ends.entries == [.ownerDeleted])
        let serialising = ObservationActor(buffering: .latest)
        let counted = property.observe(delivery: .actor(serialising)) { _ in }
        property.value = 2
        #expect(serialising.deliveryCounts.sent == 1)
        withExtendedLifetime(counted) {}
    }

    @Test("P4 Values of a property take `.initial` as changes do, and no prior deliveries")
    func valuesWithOptions() async {
        let (property, values) = (Observed(1), Log<Int>())
        let token = property.observeValues(options: [.initial, .prior]) { values.append($0) }
        var sequence = property.values(options: [.initial, .prior]).makeAsyncIterator()
        property.value = 2
        #expect(values.entries == [1, 2])
        #expect(await sequence.next() == 1)
        #expect(await sequence.next() == 2)
        withExtendedLifetime(token) {}
    }
}
