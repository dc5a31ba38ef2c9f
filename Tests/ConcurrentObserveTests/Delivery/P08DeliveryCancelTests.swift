// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P8 P9 P10 The end of observations that are not inline")
    struct P08DeliveryCancelTests {}
}

// MARK: - cancel()

extension Promises.P08DeliveryCancelTests {
    /// The way in which an observation is ended.
    enum Ending: String, CaseIterable, Sendable {
        case cancel, release, removeAll, removeOwned, cancelAllOwned
    }

    @Test(
        "P8 However it is ended: what has not begun is dropped and counted, and nothing comes any more",
        arguments: Route.namedBlocking,
        Ending.allCases
    )
    func endings(route: Route, ending: Ending) throws {
        for origin in Origin.allCases {
            for buffering in [Buffering.unbounded, .droppingOldest(3)] {
                let (stage, room, audience) = (Stage(origin), Room(route), Audience())
                let owner = Lives().make()
                let ends = Log<ObservationEnd>()
                let token = Slot(
                    stage.observe(in: room, owner: owner, buffering: buffering) { _, received in
                        audience.receive(received)
                    }
                )
                let handle = Slot<DeliveryCounts>()
                token.value!.onEnd { ends.append($0) }
                let blocked = try audience.block(by: stage)
                for number in 1...5 { stage.send(number) }
                switch ending {
                case .cancel: token.value!.cancel()
                case .release:
                    handle.put(token.value!.counts)
                    token.clear()
                case .removeAll: stage.cancelAll()
                case .removeOwned: stage.cancelAll(ownedBy: owner)
                case .cancelAllOwned: ObservationToken.cancelAll(ownedBy: owner)
                }
                #expect(token.value?.isActive != true)
                stage.send(6)
                audience.release()
                try blocked.join()
                try eventually("the end") { ends.count == 1 }
                try token.value?.waitUntilIdle()
                #expect(ends.entries == [.cancelled])
                #expect(audience.numbers == [Audience.blockingNumber])
                if let token = token.value { #expect(token.counts.parts == [6, 1, 5]) }
            }
        }
    }

    @Test(
        "P8 An actor's too: removing all observers, cancelling, letting go",
        arguments: [Route.actor, .isolated],
        Origin.allCases
    )
    func endingsOnActors(route: Route, origin: Origin) throws {
        for ending in [Ending.cancel, .release, .removeAll] {
            let (stage, room, audience) = (Stage(origin), Room(route), Audience())
            let token = Slot(stage.observe(in: room) { audience.receive($0) })
            let blocked = try audience.block(by: stage)
            for number in 1...5 { stage.send(number) }
            switch ending {
            case .cancel: token.value!.cancel()
            case .release: token.clear()
            default: stage.cancelAll()
            }
            #expect(token.value?.isActive != true)
            audience.release()
            try blocked.join()
            try token.value?.waitUntilIdle()
            try room.perform {}
            try Process.settle()
            #expect(audience.numbers == [Audience.blockingNumber])
            if let token = token.value { #expect(token.counts.parts == [6, 1, 5]) }
        }
    }

    @Test(
        "P8 Cancelled where its callbacks run, it is silent at once",
        arguments: [Route.queue, .actor, .isolated, .observationActor],
        Origin.allCases
    )
    func atOnce(route: Route, origin: Origin) throws {
        let (stage, room) = (Stage(origin), Room(route))
        let late = Counter()
        let writers = Hammer(threads: 1) { stage.send(1) }
        try writers.waitUntilWarm()
        for round in 0..<100 {
            let isOver = Flag()
            let audience = Counter()
            let token = stage.observe(in: room) { _ in
                audience.increment()
                if isOver.isSet { late.increment() }
            }
            while audience.value == 0 { briefPause() }
            try room.perform {
                if round.isMultiple(of: 2) { token.cancel() } else { stage.cancelAll() }
                isOver.set()
            }
        }
        try writers.stop()
        try room.perform {}
        #expect(late.value == 0)
        try Process.settle()
    }

    @Test(
        "P8 In its own callback, by its handle: it was the last",
        arguments: Route.namedBlocking
    )
    func byItself(route: Route) throws {
        for origin in Origin.allCases {
            let (stage, room, audience) = (Stage(origin), Room(route), Audience())
            let token = stage.observeWithHandle(in: room) { received, observation in
                audience.receive(received)
                if received.number == 1 {
                    #expect(observation.isActive)
                    observation.cancel()
                    #expect(!observation.isActive)
                }
            }
            let blocked = try audience.block(by: stage)
            for number in 1...5 { stage.send(number) }
            audience.release()
            try blocked.join()
            try token.waitUntilIdle()
            #expect(audience.numbers == [Audience.blockingNumber, 1])
            #expect(token.counts.parts == [6, 2, 4])
        }
    }
}

// MARK: - cancelAndWait()

extension Promises.P08DeliveryCancelTests {
    @Test(
        "P9 It waits for the callback; then nothing runs, and the closure is destroyed",
        arguments: Route.blocking,
        Origin.allCases
    )
    func waits(route: Route, origin: Origin) throws {
        let (stage, room, lives) = (Stage(origin), Room(route), Lives())
        let (audience, life) = (Audience(), Slot(lives.make()))
        let token = stage.observe(in: room) { [life = life.take()] in
            life?.touch()
            audience.receive($0)
        }
        let blocked = try audience.block(by: stage)
        for number in 1...5 { stage.send(number) }
        let mistakes = Log<String>()
        let returned = Signal("a return")
        let waiters = (0..<2).map { index in
            TestThread {
                if token.cancelAndWaitBlocking() != .finished { mistakes.append("caller \(index): not finished") }
                if lives.alive > 0 { mistakes.append("caller \(index): the closure exists") }
                returned.happen()
            }
        }
        // A busy machine may not have begun with the waiters yet.
        try eventually("an end") { !token.isActive }
        #expect(!returned.happens(within: glance))
        #expect(lives.alive == 1)
        audience.release()
        for thread in waiters + [blocked] { try thread.join() }
        #expect(mistakes.entries.isEmpty)
        #expect(audience.numbers == [Audience.blockingNumber])
        #expect(lives.alive == 0)
        try token.waitUntilIdle()
        #expect(token.counts.parts == [6, 1, 5])
    }

    @Test("P9 The asynchronous form waits for the callback, too", arguments: Route.blocking)
    func asynchronous(route: Route) async throws {
        for origin in Origin.allCases {
            let (stage, room, lives) = (Stage(origin), Room(route), Lives())
            let (audience, life) = (Audience(), Slot(lives.make()))
            let token = stage.observe(in: room) { [life = life.take()] in
                life?.touch()
                audience.receive($0)
            }
            let blocked = try audience.block(by: stage)
            let waiting = Task { await token.cancelAndWait() }
            try await eventuallyAsync("the cancellation") { !token.isActive }
            #expect(lives.alive == 1)
            audience.release()
            #expect(await waiting.value == .finished)
            #expect(lives.alive == 0)
            try blocked.join()
        }
    }

    @Test(
        "P9 While writers go on: after it has returned, nothing is delivered",
        arguments: Route.allCases,
        Origin.allCases
    )
    func nothingRuns(route: Route, origin: Origin) throws {
        let (stage, room, late) = (Stage(origin), Room(route), Counter())
        let writers = Hammer(threads: 2) { stage.send(1) }
        try writers.waitUntilWarm()
        for _ in 0..<40 {
            let (isOver, calls) = (Flag(), Counter())
            let token = stage.observe(in: room, buffering: .droppingOldest(8)) { _ in
                calls.increment()
                if isOver.isSet { late.increment() }
            }
            while calls.value < 2 { briefPause() }
            #expect(token.cancelAndWaitBlocking() == .finished)
            isOver.set()
        }
        try writers.stop()
        try Process.settle()
        #expect(late.value == 0)
    }

    @Test("P9 In its own callback it is deferred", arguments: Route.blocking, Origin.allCases)
    func deferred(route: Route, origin: Origin) throws {
        let (stage, room, lives) = (Stage(origin), Room(route), Lives())
        let (token, outcome) = (Slot<ObservationToken>(), Slot<WaitOutcome>())
        do {
            let life = lives.make()
            token.put(
                stage.observe(in: room) { _ in
                    life.touch()
                    outcome.put(token.value!.cancelAndWaitBlocking())
                }
            )
        }
        try onNewThread { stage.send(1) }
        try lives.waitUntilNoneIsLeft()
        #expect(outcome.value == .deferred)
        #expect(token.value!.cancelAndWaitBlocking() == .finished)
        token.clear()
    }

    @Test(
        "P10 Releasing the token in its own callback ends the observation",
        arguments: Route.blocking,
        Origin.allCases
    )
    func letGoInside(route: Route, origin: Origin) throws {
        let (stage, room, lives, calls) = (Stage(origin), Room(route), Lives(), Counter())
        let token = Slot<ObservationToken>()
        do {
            let life = lives.make()
            token.put(
                stage.observe(in: room) { _ in
                    life.touch()
                    calls.increment()
                    token.clear()
                }
            )
        }
        stage.send(1)
        try lives.waitUntilNoneIsLeft()
        stage.send(2)
        #expect(calls.value == 1)
    }

    @Test(
        "P8 Cancelled right after the start, while others change the source",
        arguments: Route.allCases,
        Origin.allCases
    )
    func rightAfterTheStart(route: Route, origin: Origin) throws {
        let (stage, room, lives) = (Stage(origin), Room(route), Lives())
        let before = ConcurrentObserveDiagnostics.current().liveObservers
        let writers = Hammer(threads: 1) { stage.send(1) }
        try writers.waitUntilWarm()
        for _ in 0..<300 {
            let life = lives.make()
            let token = stage.observe(in: room, options: .initial, buffering: .latest) { _ in life.touch() }
            token.cancel()
        }
        try writers.stop()
        try lives.waitUntilNoneIsLeft()
        try Process.settle()
        #expect(ConcurrentObserveDiagnostics.current().liveObservers == before)
    }
}
