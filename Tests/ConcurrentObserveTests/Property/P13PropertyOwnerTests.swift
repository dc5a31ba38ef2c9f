// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P13 Owners of observations of properties")
    struct P13PropertyOwnerTests {}
}

// MARK: - Delivery

extension Promises.P13PropertyOwnerTests {
    @Test("P13 The closure receives its owner with every delivery, for as long as the owner lives")
    func receivesOwner() {
        let lives = Lives()
        let property = Slot(Observed(0))
        let received = ReceivedChanges<Int>()
        let owner = Slot(lives.make())
        let identity = ObjectIdentifier(owner.value!)
        let token = property.value!.observe(owner: owner.value!, options: [.initial, .prior]) {
            owner,
            change in
            if ObjectIdentifier(owner) == identity { received.append(change) }
        }
        property.value!.value = 1
        #expect(received.lines == ["initial - → 0 @0", "prior - → 0 @0", "valueChanged 0 → 1 @1"])
        owner.clear()
        #expect(lives.alive == 0)
        property.value!.value = 2
        property.clear()
        #expect(received.count == 3)
        #expect(!token.isActive)
    }

    @Test("P13 A living owner's observation ends with the property; so does a dead one's that was not noticed, once")
    func end() throws {
        let property = Slot(Observed("a"))
        let owners = (0..<2).map { _ in Slot(Lives().make()) }
        let received = (0..<2).map { _ in ReceivedChanges<String>() }
        let tokens = (0..<2).map { index in
            property.value!.observe(owner: owners[index].value!) { _, change in received[index].append(change) }
                .recordEnd(to: received[index])
        }
        owners[1].clear()
        property.clear()
        for received in received { try received.ended.wait() }
        #expect(received.map(\.lines) == [["sourceDeleted"], ["sourceDeleted"]])
        #expect(tokens.allSatisfy { !$0.isActive })
        owners[0].clear()
    }

    @Test("P13 Once the owner's deinit has begun it is not called any more, not even by it")
    func notDuringDeinit() {
        let property = Observed(0)
        let begun = Flag()
        let (late, onTime) = (Counter(), Counter())
        let owner = Slot(
            Lives().make {
                begun.set()
                property.value = 1
                property.modify { $0 += 1 }
            }
        )
        let token = property.observe(owner: owner.value!, options: .prior) { _, _ in
            if begun.isSet { late.increment() } else { onTime.increment() }
        }
        property.value = 0
        owner.clear()
        property.value = 3
        #expect(onTime.value == 2)
        #expect(late.value == 0)
        #expect(property.version == 4)
        withExtendedLifetime(token) {}
    }

    @Test("P13 Nor is it while other threads change the property")
    func notDuringDeinitOnOtherThreads() throws {
        let property = Observed(Pair(number: 0))
        let (late, calls) = (Counter(), Counter())
        let writers = Hammer(threads: 2) { property.modify { $0 = Pair(number: $0.number + 1) } }
        try writers.waitUntilWarm()
        var tokens: [ObservationToken] = []
        for _ in 0..<300 {
            let begun = Flag()
            let owner = Slot(Lives().make { begun.set() })
            tokens.append(
                property.observe(owner: owner.value!, options: .prior) { _, _ in
                    if begun.isSet { late.increment() }
                    calls.increment()
                }
            )
            let before = calls.value
            while calls.value == before { briefPause() }
            owner.clear()
        }
        try writers.stop()
        #expect(late.value == 0)
        #expect(tokens.allSatisfy { !$0.isActive })
        try Process.settle()
    }

    @Test("P13 The owner is kept for as long as its callback runs")
    func keptDuringCallback() throws {
        let lives = Lives()
        let property = Observed(0)
        let (entered, exit) = (Signal("the callback"), Signal("the callback's release"))
        let owner = Slot(lives.make())
        let token = property.observe(owner: owner.value!) { owner, _ in
            entered.happen()
            exit.hold()
            owner.touch()
        }
        let writer = TestThread { property.value = 1 }
        try entered.wait()
        owner.clear()
        #expect(lives.alive == 1)
        exit.happen()
        try writer.join()
        #expect(lives.alive == 0)
        #expect(!token.isActive)
    }
}

// MARK: - Noticing the death

extension Promises.P13PropertyOwnerTests {
    /// An operation that notices a dead owner.
    struct Look: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let look: @Sendable (Observed<Int>, ObservationToken) -> Void

        static let all = [
            Look(testDescription: "the next change") { property, _ in property.value = 1 },
            Look(testDescription: "the next modify") { property, _ in property.modify { _ in } },
            Look(testDescription: "isActive") { _, token in #expect(!token.isActive) },
            Look(testDescription: "drain") { _, _ in ConcurrentObserveDiagnostics.drain(deadline: .now + patience) },
            Look(testDescription: "registrations") { property, _ in
                for _ in 0..<64 { property.observe { (_: Change<Int>) in }.cancel() }
            },
        ]
    }

    @Test("P13 A dead owner is noticed, its closure destroyed and ownerDeleted delivered once", arguments: Look.all)
    func noticed(by look: Look) throws {
        let lives = Lives()
        let property = Observed(0)
        let ends = Log<ObservationEnd>()
        let received = ReceivedChanges<Int>()
        let owner = Slot(Lives().make())
        let token: ObservationToken
        do {
            let life = lives.make()
            token = property.observe(owner: owner.value!) { _, change in
                life.touch()
                received.append(change)
            }
        }
        token.onEnd { ends.append($0) }
        owner.clear()
        #expect(lives.alive == 1)
        look.look(property, token)
        try lives.waitUntilNoneIsLeft()
        try eventually("the end") { ends.count > 0 }
        #expect(!token.isActive)
        try Process.settle()
        #expect(ends.entries == [.ownerDeleted])
        #expect(received.count == 0)
    }

    @Test("P13 A property that never changes does not collect the dead: registrations sweep")
    func doesNotCollect() throws {
        let lives = Lives()
        let property = Observed(0)
        let before = ConcurrentObserveDiagnostics.current().liveObservers
        var tokens: [ObservationToken] = []
        var most = 0
        for _ in 0..<2_000 {
            let life = lives.make()
            tokens.append(property.observe(owner: Lives().make()) { _, _ in life.touch() })
            most = max(most, ConcurrentObserveDiagnostics.current().liveObservers - before)
        }
        #expect(most <= 128)
        try Process.settle()
        #expect(lives.alive == 0)
        #expect(tokens.allSatisfy { !$0.isActive })
    }
}
