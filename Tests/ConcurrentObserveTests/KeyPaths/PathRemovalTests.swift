// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch
import Testing

extension Promises {
    @Suite("P8 Removal by property, object and owner")
    struct PathRemovalTests {}
}

extension Promises.PathRemovalTests {
    @Test("P8 By property: its observers and paths that begin there; paths that lead to it or through it go on")
    func byProperty() {
        let car = Car(1)
        let wheel = car.axle.value.wheel.value
        let fleet = Fleet(car)
        let (own, other, path, begun) = (
            ReceivedChanges<Int>(), ReceivedChanges<Int>(), ReceivedChanges<Int>(), ReceivedChanges<Int>()
        )
        let axles = Counter()
        let tokens = [
            wheel.pressure.observe(own), wheel.pressure.observe(own), car.mileage.observe(other),
            fleet.observe(\.car.axle.wheel.pressure, path), car.axle.observe { (_: Change<Axle>) in axles.increment() },
            car.observe(\.axle.wheel.pressure, begun),
        ]
        #expect(wheel.pressure.observationCount == 2)
        #expect(car.axle.observationCount == 2)
        wheel.pressure.cancelAllObservations()
        car.axle.cancelAllObservations()
        #expect(wheel.pressure.observationCount == 0)
        #expect(car.axle.observationCount == 0)
        #expect(tokens.map(\.isActive) == [false, false, true, true, false, false])
        wheel.pressure.value = 2
        car.axle.value = Axle(3)
        car.mileage.value = 4
        #expect(own.count == 0)
        #expect(begun.count == 0)
        #expect(axles.value == 0)
        #expect(other.count == 1)
        #expect(path.chain.map(\.new) == [2, 3])
    }

    @Test("P8 By object: its properties' observers, its registries', and paths that begin there; not others'")
    func byObject() throws {
        let (car, neighbour) = (Car(1), Car(2))
        let model = Horned()
        let (own, others) = (ReceivedChanges<Int>(), ReceivedChanges<Int>())
        let horns = Counter()
        let ends = Log<ObservationEnd>()
        let gone = [
            car.mileage.observe(own), car.observe(\.mileage, own), car.observe(\.axle.wheel.pressure, own),
            Group(car.mileage, car.property(\.axle.wheel.pressure)).observe { _ in horns.increment() },
            model.horn.observe { horns.increment() },
        ]
        for token in gone { token.onEnd { ends.append($0) } }
        let axle = car.axle.value
        let kept = [
            axle.observe(\.wheel.pressure, others), axle.wheel.value.pressure.observe(others),
            neighbour.observe(\.axle.wheel.pressure, others), neighbour.mileage.observe(others),
        ]
        car.cancelAllObservations()
        model.cancelAllObservations()
        // A group is cancelled on a thread of the library; it is silent at once.
        #expect(gone.indices.allSatisfy { $0 == 3 || !gone[$0].isActive })
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
        #expect(gone.allSatisfy { !$0.isActive })
        #expect(ends.entries.allSatisfy { $0 == .cancelled })
        withExtendedLifetime(again) {}
    }

    @Test("P8 A path through an object whose observers are removed goes on, at every step")
    func throughAnObject() {
        let fleet = Fleet(Car(1))
        let received = ReceivedChanges<Int>()
        let token = fleet.observe(\.car.axle.wheel.pressure, received)
        let car = fleet.car.value
        car.cancelAllObservations()
        car.axle.value.cancelAllObservations()
        car.axle.value.wheel.value.cancelAllObservations()
        car.setPressure(2)
        car.axle.value.wheel.value = Wheel(3)
        car.axle.value = Axle(4)
        fleet.car.value = Car(5)
        #expect(received.chain.map(\.new) == [2, 3, 4, 5])
        fleet.cancelAllObservations()
        fleet.car.value.setPressure(6)
        #expect(received.count == 4)
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
                car.property(\.name).observe(owner: owner) { _, _ in log.append("\(name) name") },
                car.property(\.axle.wheel.pressure).observe(owner: owner) { _, _ in log.append("\(name) path") },
                horn.observe(owner: owner) { _, _ in log.append("\(name) registry") },
            ]
        }
        let (gone, kept) = (observe(owner, "gone"), observe(other, "kept"))
        if everywhere {
            ObservationToken.cancelAll(ownedBy: owner)
        } else {
            car.mileage.cancelAllObservations(ownedBy: owner)
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

    @Test("P8 P13 By owner: no other object has a dead owner's address while its observations go on")
    func byOwnerAtTheAddressOfADeadOne() throws {
        let car = Car(1)
        let horn = ObserverRegistry<Int>()
        for round in 0..<20 {
            let ends = Log<ObservationEnd>()
            var dying: Owner? = Owner()
            let address = ObjectIdentifier(dying!)
            let tokens = [
                car.mileage.observe(owner: dying!) { _, _ in },
                car.property(\.axle.wheel.pressure).observe(owner: dying!) { _, _ in },
                horn.observe(owner: dying!) { _, _ in },
            ]
            for token in tokens { token.onEnd { ends.append($0) } }
            dying = nil
            // The allocator would give the same place to the next object of the size.
            let others = (0..<8).map { _ in Owner() }
            #expect(others.allSatisfy { ObjectIdentifier($0) != address })
            let other = others[round % 8]
            let own = horn.observe(owner: other) { _, _ in }
            if round.isMultiple(of: 2) {
                ObservationToken.cancelAll(ownedBy: other)
            } else {
                car.mileage.cancelAllObservations(ownedBy: other)
                horn.cancelAllObservations(ownedBy: other)
            }
            #expect(!own.isActive)
            #expect(tokens.allSatisfy { !$0.isActive })
            try eventually("the ends") { ends.count == 3 }
            #expect(ends.entries == [.ownerDeleted, .ownerDeleted, .ownerDeleted])
        }
    }

    @Test("P8 P13 By owner in its own deinit: the observations end, as those of a dead owner")
    func byOwnerInItsDeinit() throws {
        let car = Car(1)
        let ends = Log<ObservationEnd>()
        var leaving: Leaving? = Leaving()
        let token = car.mileage.observe(owner: leaving!) { _, _ in }
        token.onEnd { ends.append($0) }
        leaving = nil
        try eventually("the end") { ends.count == 1 }
        #expect(ends.entries == [.ownerDeleted])
        #expect(!token.isActive)
    }

    @Test("P8 Sources side by side, in arrays, dictionaries and optionals, of whatever delivery")
    func sources() async throws {
        let (garage, actor) = (Garage(), ObservationActor())
        let received = Counter()
        let tokens = [
            garage.doors[1].observe { (_: Change<Bool>) in received.increment() },
            garage.lamps["left"]!.observe(delivery: .queue(DispatchQueue(label: "lamps"))) { _ in received.increment()
            },
            garage.pair.1.observe(on: actor) { _, _ in received.increment() },
            garage.extra!.observe { received.increment() },
            garage.guest.observe { (_: Change<Person?>) in received.increment() },
            garage.observe(\.floor) { (_: Change<Int>) in received.increment() },
            Group(garage.floor, garage.level).observe { _ in received.increment() },
        ]
        let before = garage.floor.observationCount
        let values = Task { for await _ in garage.floor.values(buffering: .latest) { received.increment() } }
        while garage.floor.observationCount == before { await Task.yield() }
        garage.cancelAllObservations()
        #expect(tokens.dropLast().allSatisfy { !$0.isActive })
        // The sequence ends.
        await values.value
        garage.doors[1].value = true
        garage.lamps["left"]!.value = true
        garage.pair.1.value = 3
        garage.extra!.notify(())
        garage.floor.value = 4
        garage.level.value = 5
        #expect(received.value == 0)
        try await eventuallyAsync("the end of the group's") { !tokens.last!.isActive }
        withExtendedLifetime(actor) {}
    }

    @Test("P8 Variables of an actor are not looked at: the class itself says what is ended, from any thread")
    func isolated() throws {
        let model = Isolated()
        let token = model.name.observe { (_: Change<String>) in }
        let other = TestThread { model.cancelAllObservations() }
        try other.join()
        #expect(!token.isActive)
    }

    /// The object of a removal.
    enum Removal: String, CaseIterable, Sendable {
        case object, owner, property

        func run(_ car: Car, _ owner: Life) {
            switch self {
            case .object: car.cancelAllObservations()
            case .owner: ObservationToken.cancelAll(ownedBy: owner)
            case .property: car.mileage.cancelAllObservations()
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
            car.property(\.mileage).observe(owner: owner) { _, _ in later.increment() },
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
        let token = car.property(\.axle.wheel.pressure).observe(owner: owner) { owner, _ in
            calls.increment()
            removal.run(car, owner)
        }
        car.axle.value = Axle(2)
        car.setPressure(3)
        #expect(calls.value == 1)
        #expect(!token.isActive)
        try Process.settle()
    }

    @Test("P8 Removal among writers and registrations: no observer that it has ended receives later changes")
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
            car.cancelAllObservations()
            #expect(tokens.allSatisfy { !$0.isActive })
        }
        try writers.stop()
        try lives.waitUntilNoneIsLeft()
    }
}

/// A model with a registry.
private final class Horned: ConcurrentObservable, ObservationSource {
    let horn = ObserverRegistry<Void>()

    func cancelAllObservations() { ObservationToken.cancelAll(of: horn) }
}

private final class Owner: Sendable {}

/// An owner that ends its observations when it dies.
private final class Leaving: Sendable {
    deinit { ObservationToken.cancelAll(ownedBy: self) }
}

private final class Person: WeaklyObservable {
    let lifetime = ReferentLifetime()
}

/// A model whose properties are not only in its own `let`s, and whose mirror is empty.
private final class Garage: ConcurrentObservable, ObservationSource, CustomReflectable {
    let doors = [Observed(false), Observed(false)]
    let lamps = ["left": Observed(false)]
    let pair = (Observed(1), Observed(2))
    let extra = Optional(ObserverRegistry<Void>())
    let guest = WeakObserved<Person>()
    let floor = Observed(0)
    let level = Observed(0)

    var customMirror: Mirror { Mirror(self, children: []) }

    func cancelAllObservations() {
        ObservationToken.cancelAll(of: doors, lamps, pair.0, pair.1, extra, guest, floor, level)
    }
}

/// A model with state that belongs to an actor.
@MainActor
private final class Isolated: ConcurrentObservable, ObservationSource {
    nonisolated let name = Observed("")
    var drafts: [Observed<String>] = []

    nonisolated init() {}

    nonisolated func cancelAllObservations() { ObservationToken.cancelAll(of: name) }
}
