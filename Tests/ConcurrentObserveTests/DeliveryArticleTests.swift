// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch
import Testing

extension Promises {
    @Suite("The article about deliveries")
    struct DeliveryArticleTests {}
}

// MARK: - The article

extension Promises.DeliveryArticleTests {
    @Test("Each line of its code stands in the code below, which compiles and runs")
    func code() throws { try expectArticle("ChoosingADelivery", in: #filePath) }
}

// MARK: - The model

extension Promises.DeliveryArticleTests {
    fileprivate final class Car: ConcurrentObservable {
        let name = Observed("Beetle")
        let mileage = Observed(0)
    }

    fileprivate final class Meter: Sendable {
        let received = Observed(0)

        func add(_ miles: Int) { received.value = miles }
        func note(_ name: String) { received.modify { $0 += name.count } }
    }

    fileprivate actor Dashboard {
        let meter: Meter

        init(_ meter: Meter) { self.meter = meter }

        // Each traps elsewhere: the compiler lets a method reference lose its isolation.
        func show(_ miles: Int) {
            preconditionIsolated()
            meter.add(miles)
        }
        func store(_ miles: Int) {
            preconditionIsolated()
            meter.add(miles)
        }
    }

    @MainActor fileprivate final class Screen {
        let meter: Meter

        nonisolated init(_ meter: Meter) { self.meter = meter }

        func show(_ miles: Int) {
            MainActor.preconditionIsolated()
            meter.add(miles)
        }
    }

    /// Changes the car. Returns when the change was delivered.
    private func receivesChange(_ car: Car, _ meter: Meter) async {
        let values = meter.received.values(options: .initial)
        car.mileage.value = 7
        for await received in values where received == 7 { break }
        meter.received.value = 0
    }
}

// MARK: - The article's code

// swift-format-ignore
extension Promises.DeliveryArticleTests.Dashboard {
    func follow(_ car: Promises.DeliveryArticleTests.Car) -> ObservationToken {
        car.mileage.observeIsolated(buffering: .latest) { change in
            self.show(change.new)
        }
    }

    func followAll(_ car: Promises.DeliveryArticleTests.Car) -> ObservationToken {
        car.mileage.observeIsolated(note)
    }

    func note(_ change: Change<Int>) { show(change.new) }
}

// swift-format-ignore
extension Promises.DeliveryArticleTests.Screen {
    func follow(_ car: Promises.DeliveryArticleTests.Car) -> ObservationToken {
        car.mileage.observeIsolated(buffering: .latest) { change in
            self.show(change.new)
        }
    }
}

// swift-format-ignore
extension Promises.DeliveryArticleTests {
    @Test("Inline, serial, queue")
    func threads() async {
        let (car, meter, queue) = (Car(), Meter(), DispatchQueue(label: "meter"))
        do {
            let token = car.mileage.observe { change in meter.add(change.new) }
            await receivesChange(car, meter)
            token.cancel()
        }
        do {
            let token = car.mileage.observe(delivery: .serial()) { change in
                meter.add(change.new)
            }
            await receivesChange(car, meter)
            token.cancel()
        }
        do {
            let delivery = Delivery.queue(queue, buffering: .droppingOldest(100))
            let token = car.mileage.observe(delivery: delivery) { change in
                meter.add(change.new)
            }
            await receivesChange(car, meter)
            token.cancel()
        }
    }

    @Test("An actor, an isolated closure, the serialising actor")
    func actors() async {
        let (car, meter) = (Car(), Meter())
        let (dashboard, screen) = (Dashboard(meter), Screen(meter))
        do {
            let token = car.mileage.observe(on: dashboard, buffering: .latest) {
                dashboard, change in dashboard.show(change.new)
            }
            await receivesChange(car, meter)
            token.cancel()
        }
        do {
            let token = car.mileage.observeIsolated { @MainActor change in
                screen.show(change.new)
            }
            await receivesChange(car, meter)
            token.cancel()
        }
        for token in [await dashboard.follow(car), await dashboard.followAll(car), await screen.follow(car)] {
            await receivesChange(car, meter)
            token.cancel()
        }
        do {
            let token = car.mileage.observe(on: dashboard, buffering: .latest) {
                dashboard, change in dashboard.show(change.new)
            }
            car.mileage.value = 7
            await token.flush()
            #expect(meter.received.value == 7)
            meter.received.value = 0
        }
        let log = ObservationActor(buffering: .droppingNewest(1_000))
        let tokens = [
            car.mileage.observe(delivery: .actor(log)) { change in
                meter.add(change.new)
            },
            car.observe(\.name, delivery: .actor(log)) { change in
                meter.note(change.new)
            },
        ]
        await receivesChange(car, meter)
        for token in tokens { token.cancel() }
    }

    @Test("A sequence")
    func sequence() async {
        let (car, meter) = (Car(), Meter())
        let dashboard = Dashboard(meter)
        let task = Task {
            for await miles in car.mileage.values(buffering: .latest) {
                await dashboard.store(miles)
            }
        }
        while meter.received.value == 0 {
            car.mileage.modify { $0 += 1 }
            await Task.yield()
        }
        task.cancel()
        await task.value
    }
}
