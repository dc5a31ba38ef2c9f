// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch
import Testing

extension Promises {
    @Suite("P8 observationCount while the closures of ended observations are still there")
    struct P08ObservationCountTests {}
}

/// An observation whose closure is not destroyed before the test allows it.
private final class Lingering: Sendable {
    private let lives = Lives()
    private let destruction = Signal("the destruction of the closure")
    let token: Slot<ObservationToken>

    init(_ thing: ObservableThing, _ delivery: Delivery) {
        let life = Slot(lives.make { [destruction] in destruction.hold() })
        token = Slot(thing.with(Delivered(delivery) { [life = life.take()] _ in life?.touch() }))
    }

    var isClosureThere: Bool { lives.alive == 1 }

    /// Lets the closure be destroyed, and waits until it is.
    func leave() throws {
        destruction.happen()
        try lives.waitUntilNoneIsLeft()
    }
}

extension Promises.P08ObservationCountTests {
    /// The way in which an observation is ended.
    enum Ending: CaseIterable { case cancel, release }

    @Test(
        "P8 An observation counts until it ends, in every delivery, and not until its closure is destroyed",
        arguments: ObservableKind.allCases
    )
    func untilItsEnd(kind: ObservableKind) throws {
        let actor = ObservationActor()
        let deliveries = [Delivery.inline, .serial(), .queue(DispatchQueue(label: "a room")), .actor(actor)]
        for (number, delivery) in deliveries.enumerated() {
            for ending in Ending.allCases {
                let thing = ObservableThing(kind)
                let lingering = Lingering(thing, delivery)
                let sources = thing.observationCounts.count
                #expect(thing.observationCounts == Array(repeating: 1, count: sources), "delivery \(number)")
                switch ending {
                case .cancel: lingering.token.value!.cancel()
                case .release: lingering.token.clear()
                }
                #expect(thing.observationCounts == Array(repeating: 0, count: sources), "delivery \(number)")
                #expect(lingering.isClosureThere)
                try lingering.leave()
                #expect(thing.observationCounts == Array(repeating: 0, count: sources), "delivery \(number)")
            }
        }
        withExtendedLifetime(actor) {}
    }

    @Test("P8 A registry counts inline and other observations together, and those alone that go on")
    func together() {
        let registry = ObserverRegistry<Int>()
        let deliveries = [Delivery.inline, .serial(), .inline, .queue(DispatchQueue(label: "a room")), .serial()]
        var tokens = deliveries.map { delivery in registry.observe(delivery: delivery) { _ in } }
        let iterator = registry.events().makeAsyncIterator()
        var expected = 6
        #expect(registry.observationCount == expected)
        while let token = tokens.popLast() {
            token.cancel()
            expected -= 1
            #expect(registry.observationCount == expected)
        }
        withExtendedLifetime(iterator) {}
    }

    @Test("P8 With the observations of one member, a group's end before the call returns, and no member counts them")
    func members() throws {
        for delivery in [Delivery.inline, .serial(), .queue(DispatchQueue(label: "a room"))] {
            let car = Car(1)
            let inner = Group(car.mileage, car.property(\.axle.wheel.pressure))
            let token = Group(car.name, inner).observe(delivery: delivery) { _ in }
            let counts = { [car.name.observationCount, car.mileage.observationCount, car.axle.observationCount] }
            #expect(counts() == [1, 1, 1])
            car.axle.cancelAllObservations()
            #expect(!token.isActive)
            #expect(counts() == [0, 0, 0])
            #expect(token.cancelAndWaitBlocking() == .finished)
        }
    }
}

/// Observes with a closure that runs another one when it is destroyed.
private func observeUntilDeath(
    _ registry: ObserverRegistry<Int>,
    _ atDeath: @escaping @Sendable () -> Void
) -> ObservationToken {
    let life = Lives().make(atDeath: atDeath)
    return registry.observe(delivery: .serial()) { _ in life.touch() }
}
