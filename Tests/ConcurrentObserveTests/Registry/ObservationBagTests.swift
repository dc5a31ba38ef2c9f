// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P8, P9, P10 Bags of tokens")
    struct ObservationBagTests {}
}

extension Promises.ObservationBagTests {
    /// The ways to end the observations in a bag.
    enum Way: String, CaseIterable, Sendable { case cancelAll, cancelAllAndWait, release }

    @Test("P8 P9 P10 It keeps what it is given, of any source, and ends all of it at once", arguments: Way.allCases)
    func ends(way: Way) throws {
        let car = Car(1)
        let horn = ObserverRegistry<Int>()
        let lives = Lives()
        let calls = Counter()
        let bag = Slot(ObservationBag())
        #expect(bag.value!.isEmpty)
        do {
            let life = lives.make()
            bag.value!.insert(
                horn.observe { _ in
                    life.touch(); calls.increment()
                }
            )
            car.mileage.observe { (_: Change<Int>) in
                life.touch(); calls.increment()
            }.store(in: bag.value!)
            car.observe(\.axle.wheel.pressure) { (_: Change<Int>) in
                life.touch(); calls.increment()
            }
            .store(in: bag.value!)
        }
        #expect(bag.value!.count == 3)
        func change() {
            horn.notify(1)
            car.mileage.value += 1
            car.axle.value = Axle(2)
        }
        change()
        #expect(calls.value == 3)
        switch way {
        case .cancelAll: bag.value!.cancelAll()
        case .cancelAllAndWait:
            #expect(bag.value!.cancelAllAndWaitBlocking() == .finished)
            #expect(lives.alive == 0)
        case .release: bag.clear()
        }
        change()
        #expect(calls.value == 3)
        #expect(bag.value?.isEmpty ?? true)
        try lives.waitUntilNoneIsLeft()
    }

    @Test("P9 The asynchronous form waits for all; inside a callback the blocking one is deferred")
    func waiting() async throws {
        let property = Observed(0)
        let bag = ObservationBag()
        let lives = Lives()
        let (entered, exit) = (Signal("the callback"), Signal("the callback's release"))
        for index in 0..<3 {
            let life = lives.make()
            property.observe { (_: Change<Int>) in
                life.touch()
                guard index == 1 else { return }
                entered.happen()
                exit.hold()
            }.store(in: bag)
        }
        let writer = TestThread { property.value = 1 }
        try await entered.arrival()
        let wait = Task { (await bag.cancelAllAndWait(), lives.alive) }
        try await eventuallyAsync("the cancellation") { bag.isEmpty && property.observationCount == 0 }
        #expect(lives.alive > 0)
        exit.happen()
        let (outcome, left) = await wait.value
        #expect(outcome == .finished)
        #expect(left == 0)
        try writer.join()
    }

    @Test("P9 Inside a callback the blocking form is deferred, and all ends when it has returned")
    func deferred() throws {
        let property = Observed(0)
        let bag = ObservationBag()
        let lives = Lives()
        let outcomes = Log<WaitOutcome>()
        do {
            let life = lives.make()
            bag.insert(
                property.observe { (_: Change<Int>) in
                    life.touch()
                    outcomes.append(bag.cancelAllAndWaitBlocking())
                }
            )
        }
        try onNewThread { property.value = 1 }
        try lives.waitUntilNoneIsLeft()
        #expect(outcomes.entries == [.deferred])
        #expect(bag.isEmpty)
    }

    @Test("P6 It is used from any thread and in callbacks: every token is kept or ended, none is lost")
    func threads() throws {
        let property = Observed(0)
        let bag = ObservationBag()
        try onThreads(3) { thread in
            for _ in 0..<200 {
                property.observe { (_: Change<Int>) in }.store(in: bag)
                if thread == 0, bag.count > 50 { bag.cancelAll() }
            }
        }
        #expect(property.observationCount == bag.count)
        let token = property.observe { (_: Change<Int>) in
            bag.cancelAll()
            bag.insert(property.observe { (_: Change<Int>) in })
        }
        property.value = 1
        #expect(bag.count == 1)
        #expect(property.observationCount == 2)
        withExtendedLifetime(token) {}
    }
}
