// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P8 Removal by property, object and owner")
    struct PathRemovalTests {}
}

extension Promises.PathRemovalTests {
    @Test("P8 By property: exactly its observers; paths that lead to it or through it go on")
    func byProperty() {
        let car = Car(1)
        let wheel = car.axle.value.wheel.value
        let (own, other, path) = (Told<Int>(), Told<Int>(), Told<Int>())
        let axles = Counter()
        let tokens = [
            wheel.pressure.observe(own), wheel.pressure.observe(own), car.mileage.observe(other),
            car.observe(\.axle.wheel.pressure, path), car.axle.observe { (_: Change<Axle>) in axles.increment() },
        ]
        #expect(wheel.pressure.observerCount == 2)
        #expect(car.axle.observerCount == 1)
        wheel.pressure.removeAllObservers()
        car.axle.removeAllObservers()
        #expect(wheel.pressure.observerCount == 0)
        #expect(car.axle.observerCount == 0)
        #expect(tokens.map(\.isActive) == [false, false, true, true, false])
        wheel.pressure.value = 2
        car.axle.value = Axle(3)
        car.mileage.value = 4
        #expect(own.count == 0)
        #expect(axles.value == 0)
        #expect(other.count == 1)
        #expect(path.chain.map(\.new) == [2, 3])
    }

    @Test("P8 By object: its properties' observers, its registries', and paths that begin there; not others'")
    func byObject() throws {
        let (car, neighbour) = (Car(1), Car(2))
        let model = Horned()
        let (own, others) = (Told<Int>(), Told<Int>())
        let horns = Counter()
        let ends = Log<ObservationEnd>()
        let gone = [
            car.mileage.observe(own), car.observe(\.mileage, own), car.observe(\.axle.wheel.pressure, own),
            car.observe(all: \.mileage, \.axle.wheel.pressure) { _, mileage, _ in horns.increment() },
            model.horn.observe { horns.increment() },
        ]
        for token in gone { token.onEnd { ends.append($0) } }
        let axle = car.axle.value
        let kept = [
            axle.observe(\.wheel.pressure, others), axle.wheel.value.pressure.observe(others),
            neighbour.observe(\.axle.wheel.pressure, others), neighbour.mileage.observe(others),
        ]
        car.removeAllObservers()
        model.removeAllObservers()
        #expect(gone.allSatisfy { !$0.isActive })
        #expect(kept.allSatisfy { $0.isActive })
        car.mileage.value = 3
        car.setPressure(4)
        model.horn.notify(())
        neighbour.setPressure(5)
        neighbour.mileage.value = 6
        #expect(own.count == 0)
        #expect(horns.value == 0)
        #expect(others.count == 4)
        car.axle.value = Axle(7)
        #expect(own.count == 0)
        // The object goes on: it can be observed again.
        let again = car.observe(\.axle.wheel.pressure, own)
        car.setPressure(8)
        #expect(own.chain.map(\.new) == [8])
        try eventually("the ends") { ends.count == 5 }
        #expect(ends.entries.allSatisfy { $0 == .cancelled })
        withExtendedLifetime(again) {}
    }

    @Test("P8 A path through an object whose observers are removed goes on, at every step")
    func throughAnObject() {
        let fleet = Fleet(Car(1))
        let told = Told<Int>()
        let token = fleet.observe(\.car.axle.wheel.pressure, told)
        let car = fleet.car.value
        car.removeAllObservers()
        car.axle.value.removeAllObservers()
        car.axle.value.wheel.value.removeAllObservers()
        car.setPressure(2)
        car.axle.value.wheel.value = Wheel(3)
        car.axle.value = Axle(4)
        fleet.car.value = Car(5)
        #expect(told.chain.map(\.new) == [2, 3, 4, 5])
        fleet.removeAllObservers()
        fleet.car.value.setPressure(6)
        #expect(told.count == 4)
        #expect(!token.isActive)
    }

    @Test("P8 By owner: everywhere, registries too; by owner and property: there alone", arguments: [false, true])
    func byOwner(everywhere: Bool) {
        let (owner, other) = (Lives().make(), Lives().make())
        let car = Car(1)
        let horn = ObserverRegistry<Int>()
        let log = Log<String>()
        func observe(_ owner: Life, _ name: String) -> [ObservationToken] {
            [
                car.mileage.observe(owner: owner) { _, _ in log.append("\(name) mileage") },
                car.observe(\.name, owner: owner) { _, _ in log.append("\(name) name") },
                car.observe(\.axle.wheel.pressure, owner: owner) { _, _ in log.append("\(name) path") },
                horn.observe(owner: owner) { _, _ in log.append("\(name) registry") },
            ]
        }
        let (gone, kept) = (observe(owner, "gone"), observe(other, "kept"))
        if everywhere {
            ObservationToken.cancelAll(ownedBy: owner)
        } else {
            car.mileage.removeAllObservers(ownedBy: owner)
        }
        #expect(gone.map(\.isActive) == (everywhere ? [false, false, false, false] : [false, true, true, true]))
        #expect(kept.allSatisfy { $0.isActive })
        car.mileage.value = 2
        car.name.value = "Golf"
        car.setPressure(3)
        horn.notify(4)
        #expect(log.entries.filter { $0.hasPrefix("gone") }.count == (everywhere ? 0 : 3))
        #expect(log.entries.filter { $0.hasPrefix("kept") }.count == 4)
    }

    /// What is removed.
    enum Removal: String, CaseIterable, Sendable {
        case object, owner, property

        func run(_ car: Car, _ owner: Life) {
            switch self {
            case .object: car.removeAllObservers()
            case .owner: ObservationToken.cancelAll(ownedBy: owner)
            case .property: car.mileage.removeAllObservers()
            }
        }
    }

    @Test("P6 P8 In a callback: those removed are not called later in the same pass", arguments: Removal.allCases)
    func inACallback(removal: Removal) {
        let car = Car(1)
        let owner = Lives().make()
        let later = Counter()
        let first = car.mileage.observe { (_: Change<Int>) in removal.run(car, owner) }
        let tokens = [
            car.mileage.observe(owner: owner) { _, _ in later.increment() },
            car.observe(\.mileage, owner: owner) { _, _ in later.increment() },
        ]
        car.mileage.value = 2
        car.mileage.value = 3
        #expect(later.value == 0)
        #expect(tokens.allSatisfy { !$0.isActive })
        withExtendedLifetime(first) {}
    }

    @Test(
        "P6 P8 A path's own callback removes it, by its object and by its owner",
        arguments: [Removal.object, .owner]
    )
    func itsOwnCallback(removal: Removal) throws {
        let car = Car(1)
        let lives = Lives()
        let owner = lives.make()
        let calls = Counter()
        let token = car.observe(\.axle.wheel.pressure, owner: owner) { owner, _ in
            calls.increment()
            removal.run(car, owner)
        }
        car.axle.value = Axle(2)
        car.setPressure(3)
        #expect(calls.value == 1)
        #expect(!token.isActive)
        try Process.settle()
    }

    @Test("P8 Removal among writers and registrations: nothing that it has ended is heard of changes that come later")
    func amongWriters() throws {
        let car = Car(0)
        let lives = Lives()
        let writers = Hammer(threads: 1) {
            car.axle.value = Axle(1)
            car.setPressure(2)
        }
        try writers.waitUntilWarm()
        for _ in 0..<100 {
            let life = lives.make()
            let tokens = (0..<3).map { _ in
                car.observe(\.axle.wheel.pressure) { (_: Change<Int>) in life.touch() }
            }
            car.removeAllObservers()
            #expect(tokens.allSatisfy { !$0.isActive })
        }
        try writers.stop()
        try lives.waitUntilNoneIsLeft()
    }
}

/// A model with a registry.
private final class Horned: ConcurrentObservable {
    let horn = ObserverRegistry<Void>()
}
