// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Observation

/// A model of the service: any thread reads and sets it.
final class Car: ConcurrentObservable {
    let speed = Observed(0)
    let name = Observed("no name")
}

/// The part of a car that a user interface shows: an `@Observable` class on the main actor, as
/// SwiftUI expects it.
///
/// The car's changes arrive on the main actor. While the main actor is busy, the latest change
/// replaces the waiting ones, so a fast model does not flood a slow interface.
@MainActor @Observable
final class CarView {
    private(set) var speed: Int
    private(set) var title: String

    /// Sets the car's name. The view shows it when the change has arrived here.
    func rename(to name: String) { car.name.value = name }

    @ObservationIgnored private let car: Car
    @ObservationIgnored private let bag = ObservationBag()

    init(_ car: Car) {
        self.car = car
        speed = car.speed.value
        title = car.name.value
        // With `.initial`, so that a change between the reads above and here is not missed. The
        // observations do not retain the view: `owner` is weak, and the bag ends with the view.
        let delivery = Delivery.actor(MainActor.shared, buffering: .latest)
        car.speed.observe(owner: self, options: .initial, delivery: delivery) { view, change in
            MainActor.assumeIsolated { if view.speed != change.new { view.speed = change.new } }
        }.store(in: bag)
        car.name.observe(owner: self, options: .initial, delivery: delivery) { view, change in
            MainActor.assumeIsolated { if view.title != change.new { view.title = change.new } }
        }.store(in: bag)
    }
}
