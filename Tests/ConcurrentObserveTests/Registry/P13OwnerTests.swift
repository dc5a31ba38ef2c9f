// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P13 Owners")
    struct P13OwnerTests {}
}

// MARK: - Delivery

extension Promises.P13OwnerTests {
    @Test("P13 The closure receives its owner with every event, for as long as the owner lives")
    func receivesOwner() {
        let lives = Lives()
        let registry = ObserverRegistry<String>()
        let received = Log<String>()
        let owner = Slot(lives.make())
        let identity = ObjectIdentifier(owner.value!)
        let token = registry.observe(owner: owner.value!) { owner, event in
            received.append(ObjectIdentifier(owner) == identity ? event : "another owner")
        }
        registry.notify("one")
        owner.clear()
        registry.notify("two")
        #expect(received.entries == ["one"])
        #expect(!token.isActive)
    }

    @Test("P13 Once the owner's deinit has begun it is not called any more")
    func notDuringDeinit() throws {
        let lives = Lives()
        let registry = ObserverRegistry<Int>()
        let begun = Flag()
        let late = Counter()
        let onTime = Counter()
        let owner = Slot(
            lives.make {
                begun.set()
                // On the dying owner's own thread, in the middle of its deinit.
                registry.notify(1)
            }
        )
        let token = registry.observe(owner: owner.value!) { _, _ in
            if begun.isSet { late.increment() } else { onTime.increment() }
        }
        registry.notify(0)
        owner.clear()
        registry.notify(2)
        #expect(onTime.value == 1)
        #expect(late.value == 0)
        withExtendedLifetime(token) {}
    }

    @Test("P13 Nor is it while other threads notify")
    func notDuringDeinitOnOtherThreads() throws {
        let registry = ObserverRegistry<Int>()
        let late = Counter()
        let calls = Counter()
        let notifiers = Hammer(threads: 2) { registry.notify(1) }
        try notifiers.waitUntilWarm()
        var tokens: [ObservationToken] = []
        for _ in 0..<300 {
            let begun = Flag()
            let lives = Lives()
            let owner = Slot(lives.make { begun.set() })
            tokens.append(
                registry.observe(owner: owner.value!) { _, _ in
                    if begun.isSet { late.increment() }
                    calls.increment()
                }
            )
            let before = calls.value
            while calls.value == before { briefPause() }
            owner.clear()
        }
        try notifiers.stop()
        #expect(late.value == 0)
        #expect(tokens.allSatisfy { !$0.isActive })
    }

    @Test("P13 The owner is kept for as long as its callback runs")
    func keptDuringCallback() throws {
        let lives = Lives()
        let registry = ObserverRegistry<Int>()
        let entered = Signal("the callback")
        let release = Signal("the callback's release")
        let owner = Slot(lives.make())
        let token = registry.observe(owner: owner.value!) { owner, _ in
            entered.happen()
            release.hold()
            owner.touch()
        }
        let notifier = TestThread { registry.notify(1) }
        try entered.wait()
        owner.clear()
        #expect(lives.alive == 1)
        release.happen()
        try notifier.join()
        #expect(lives.alive == 0)
        #expect(!token.isActive)
    }
}

// MARK: - Noticing the death

extension Promises.P13OwnerTests {
    /// An operation that notices a dead owner.
    struct Look: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let look: @Sendable (ObserverRegistry<Int>, ObservationToken) -> Void

        static let all = [
            Look(testDescription: "the next event") { registry, _ in registry.notify(1) },
            Look(testDescription: "count") { registry, _ in #expect(registry.observationCount == 1) },
            Look(testDescription: "isActive") { _, token in #expect(!token.isActive) },
            Look(testDescription: "drain") { _, _ in ConcurrentObserveDiagnostics.drain(deadline: .now + patience) },
            Look(testDescription: "registrations") { registry, _ in
                for _ in 0..<64 { registry.observe { _ in }.cancel() }
            },
        ]
    }

    @Test("P13 A dead owner is noticed, its closure destroyed and ownerDeleted delivered once", arguments: Look.all)
    func noticed(by look: Look) throws {
        let lives = Lives()
        let registry = ObserverRegistry<Int>()
        let ends = Log<ObservationEnd>()
        let received = Counter()
        let bystander = registry.observe { _ in }
        let owner = Slot(Lives().make())
        let token: ObservationToken
        do {
            let life = lives.make()
            token = registry.observe(owner: owner.value!) { _, _ in
                life.touch()
                received.increment()
            }
        }
        token.onEnd { ends.append($0) }
        #expect(registry.observationCount == 2)
        owner.clear()
        #expect(lives.alive == 1)
        look.look(registry, token)
        try lives.waitUntilNoneIsLeft()
        try eventually("the end") { ends.count > 0 }
        #expect(!token.isActive)
        #expect(registry.observationCount == 1)
        try Process.settle()
        #expect(ends.entries == [.ownerDeleted])
        #expect(received.value == 0)
        withExtendedLifetime(bystander) {}
    }

    @Test("P13 A registry that never notifies does not collect the dead: registrations sweep", arguments: [0, 1, 100])
    func doesNotCollect(survivors: Int) throws {
        let lives = Lives()
        let registry = ObserverRegistry<Int>()
        let living = (0..<survivors).map { _ in Lives().make() }
        var tokens = living.map { owner in registry.observe(owner: owner) { _, _ in } }
        let before = ConcurrentObserveDiagnostics.current().liveObservers
        var most = 0
        for _ in 0..<5_000 {
            let owner = lives.make()
            let life = lives.make()
            tokens.append(registry.observe(owner: owner) { _, _ in life.touch() })
            most = max(most, ConcurrentObserveDiagnostics.current().liveObservers - before)
        }
        // A sweep is due after as many registrations as observers were alive, or a few dozen.
        #expect(most <= 2 * max(survivors, 64))
        try eventually("the end of all but the last few") { lives.alive <= 2 * max(survivors, 64) }
        #expect(registry.observationCount == survivors)
        try lives.waitUntilNoneIsLeft()
        #expect(tokens.filter { $0.isActive }.count == survivors)
        withExtendedLifetime(living) {}
    }

    @Test("P13 Living owners survive every sweep")
    func livingOwners() throws {
        let lives = Lives()
        let registry = ObserverRegistry<Int>()
        let received = Counter()
        let owners = (0..<50).map { _ in lives.make() }
        let tokens = owners.map { owner in registry.observe(owner: owner) { _, _ in received.increment() } }
        for _ in 0..<500 { registry.observe { _ in }.cancel() }
        try Process.settle()
        #expect(registry.observationCount == 50)
        registry.notify(1)
        #expect(received.value == 50)
        withExtendedLifetime((owners, tokens)) {}
    }

    @Test("P13 Cancelled before the owner's death: cancelled is delivered, once")
    func cancelledBefore() throws {
        let registry = ObserverRegistry<Int>()
        let ends = Log<ObservationEnd>()
        let owner = Slot(Lives().make())
        let token = registry.observe(owner: owner.value!) { _, _ in }
        token.onEnd { ends.append($0) }
        token.cancelAndWaitBlocking()
        owner.clear()
        #expect(registry.observationCount == 0)
        #expect(!token.isActive)
        try Process.settle()
        #expect(ends.entries == [.cancelled])
    }

    @Test("P13 An owner's deinit may use the registry that observes for it")
    func deinitUsesTheRegistry() throws {
        let registry = ObserverRegistry<Int>()
        let lives = Lives()
        let counts = Log<Int>()
        let token = Slot<ObservationToken>()
        let owner = Slot(
            lives.make {
                registry.notify(1)
                counts.append(registry.observationCount)
                token.value?.cancel()
            }
        )
        token.put(registry.observe(owner: owner.value!) { _, _ in counts.append(-1) })
        owner.clear()
        #expect(counts.entries == [0])
        #expect(lives.alive == 0)
        token.clear()
    }

    @Test("P13 An ended observation, whose token is kept, keeps nothing of its owner's memory", arguments: 0..<4)
    func endedKeepsNoMemory(form: Int) throws {
        let (registry, property, lives) = (ObserverRegistry<Int>(), Observed(0), Lives())
        let owner = lives.make()
        // Each unowned reference keeps the object's memory, so they are counted.
        let before = _getUnownedRetainCount(owner)
        let token =
            switch form {
            case 0: registry.observe(owner: owner) { _, _ in }
            case 1: property.observe(owner: owner) { _, _ in }
            case 2: registry.observe(owner: owner, delivery: .serial()) { _, _ in }
            default: property.observe(owner: owner, delivery: .queue(.global())) { _, _ in }
            }
        #expect(_getUnownedRetainCount(owner) > before)
        token.cancelAndWaitBlocking()
        try eventually("the last of its references") { _getUnownedRetainCount(owner) == before }
        withExtendedLifetime(token) {}
    }

    @Test("P13 So with a binding and its destination, a path and its owner", arguments: 0..<3)
    func endedKeepsNoMemoryAbove(form: Int) throws {
        let (source, destination, train) = (Observed(0), Observed(0), Train())
        let life = Lives().make()
        let owner: any AnyObject & Sendable = form == 2 ? life : destination
        let before = _getUnownedRetainCount(owner)
        let token =
            switch form {
            case 0: source.bind(to: destination)
            case 1: source.bindBidirectionally(with: destination)
            default: train.property(\.engine.speed).observe(owner: life) { _, _ in }
            }
        token.cancelAndWaitBlocking()
        try eventually("the last of its references") { _getUnownedRetainCount(owner) == before }
        withExtendedLifetime(token) {}
    }
}

private final class Train: ConcurrentObservable {
    final class Engine: ConcurrentObservable { let speed = Observed(0) }
    let engine = Observed(Engine())
}
