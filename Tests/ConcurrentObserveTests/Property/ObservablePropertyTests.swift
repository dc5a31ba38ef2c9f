// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("Code for every kind of property")
    struct ObservablePropertyTests {}
}

/// A property under another name: a user's type that passes everything on.
private struct Renamed<Base: ObservableProperty>: ObservableProperty {
    let base: Base
    let name: String

    var value: Base.Value { base.value }
    var version: UInt64 { base.version }
    func snapshot() -> (value: Base.Value, version: UInt64) { base.snapshot() }
    func attach(_ observer: PropertyObserver<Base.Value>) -> ObservationToken { base.attach(observer) }
}

/// A property type like `Renamed`, whose sequences do not retain it.
private struct WeaklyRenamed: ObservableProperty {
    let base: Observed<Int>

    var value: Int { base.value }
    var version: UInt64 { base.version }
    func snapshot() -> (value: Int, version: UInt64) { base.snapshot() }
    func attach(_ observer: PropertyObserver<Int>) -> ObservationToken { base.attach(observer) }
    var weakAttachment: @Sendable (PropertyObserver<Int>) -> ObservationToken? { base.weakAttachment }
}

/// Uses a property in every form. Returns the deliveries of the change that `change` makes.
private func use(_ property: some ObservableProperty<Int>, _ change: () -> Void) -> [[Int]] {
    let logs = (0..<5).map { _ in Log<Int>() }
    let owner = Lives().make()
    let tokens = [
        property.observe { logs[0].append($0.new) }, property.observe(delivery: .serial()) { logs[1].append($0.new) },
        property.observe(owner: owner) { _, change in logs[2].append(change.new) },
        property.observe { change, _ in logs[3].append(change.new) }, property.observeValues { logs[4].append($0) },
    ]
    change()
    withExtendedLifetime((tokens, owner)) {}
    return logs.map(\.entries)
}

/// Uses a property in every form through an existential, whose type the compiler does not know.
private func useAny(_ property: any ObservableProperty<Int>, _ change: () -> Void) -> [[Int]] { use(property, change) }

extension Promises.ObservablePropertyTests {
    @Test("Functions over some and any property work with every kind of it")
    func generic() {
        let (property, car) = (Observed(0), Car(0))
        let kinds: [(any ObservableProperty<Int>, (Int) -> Void)] = [
            (property, { property.value = $0 }), (property.readOnly, { property.value = $0 }),
            (property.removingDuplicates(), { property.value = $0 }),
            (car.property(\.mileage), { car.mileage.value = $0 }),
            (car.property(\.axle.wheel.pressure), { car.setPressure($0) }),
            (Group(property), { property.value = $0 }), (Renamed(base: property, name: "x"), { property.value = $0 }),
            (WeaklyRenamed(base: property), { property.value = $0 }),
            (Renamed(base: Renamed(base: car.property(\.mileage), name: "x"), name: "y"), { car.mileage.value = $0 }),
        ]
        for (index, (kind, set)) in kinds.enumerated() {
            let number = 10 * (index + 1)
            #expect(useAny(kind) { set(number) } == Array(repeating: [number], count: 5), "\(type(of: kind))")
            #expect(use(kind) { set(number + 1) } == Array(repeating: [number + 1], count: 5), "\(type(of: kind))")
            #expect(kind.value == number + 1)
            #expect(kind.snapshot().value == number + 1)
            #expect(kind.snapshot().version == kind.version)
        }
        #expect(use(property) { property.value = 1 } == Array(repeating: [1], count: 5))
    }

    @Test("P11 A type that passes attach on has every form; its sequences retain it, if it does not say how not to")
    func forwarding() async {
        let property = Slot(Observed(1))
        let weak = Weak(property.value!)
        let renamed = Slot(Renamed(base: property.value!, name: "x"))
        let (grouped, bound) = (Log<Int>(), Observed(0))
        let tokens = [
            Group(renamed.value!.removingDuplicates(), renamed.value!).observeValues { first, _ in
                grouped.append(first)
            },
            renamed.value!.bind(to: bound),
        ]
        let sequence = Slot(renamed.value!.values(options: .initial))
        var values = sequence.value!.makeAsyncIterator()
        property.value!.value = 2
        #expect(await values.next() == 1)
        #expect(await values.next() == 2)
        #expect(grouped.entries.last == 2)
        #expect(bound.value == 2)
        property.clear()
        renamed.clear()
        #expect(weak.object != nil)
        sequence.clear()
        #expect(weak.object == nil)
        #expect(await values.next() == nil)
        withExtendedLifetime(tokens) {}
    }

    @Test("P11 A sequence of a type that says how does not retain the property")
    func weakForwarding() async {
        let property = Slot(Observed(1))
        let weak = Weak(property.value!)
        let sequence = WeaklyRenamed(base: property.value!).values()
        var values = sequence.makeAsyncIterator()
        property.value!.value = 2
        property.clear()
        #expect(weak.object == nil)
        #expect(await values.next() == 2)
        #expect(await values.next() == nil)
        var late = sequence.makeAsyncIterator()
        #expect(await late.next() == nil)
    }

    @Test("P8 observationCount counts alike: observations in whatever form, paths that begin there, none through it")
    func counts() async throws {
        let car = Car(1)
        let (weak, registry) = (WeakObserved<Referent>(), ObserverRegistry<Int>())
        #expect([car.axle.observationCount, weak.observationCount, registry.observationCount] == [0, 0, 0])
        let fleet = Fleet(car)
        var tokens = [
            car.axle.observe { _ in }, car.axle.observe(delivery: .serial()) { _ in },
            car.observe(\.axle.wheel.pressure) { _ in }, Group(car.axle, car.mileage).observe { _ in },
            weak.observe { _ in }, weak.observe(delivery: .serial()) { _ in },
            registry.observe { _ in }, registry.observe(delivery: .serial()) { _ in },
        ]
        // This path begins at another object: it counts there, as an observation of `fleet.car`.
        let through = fleet.observe(\.car.axle.wheel.pressure) { _ in }
        let iterators = (car.axle.values().makeAsyncIterator(), weak.values().makeAsyncIterator())
        #expect(car.axle.observationCount == 5)
        #expect(car.mileage.observationCount == 1)
        #expect(weak.observationCount == 3)
        #expect(registry.observationCount == 2)
        #expect(fleet.car.observationCount == 1)
        #expect(car.mileage.readOnly.observationCount == 1)
        withExtendedLifetime(iterators) {}
        // Owners that have died are not counted.
        do {
            let owner = Lives().make()
            tokens += [
                car.mileage.observe(owner: owner) { _, _ in }, weak.observe(owner: owner) { _, _ in },
                registry.observe(owner: owner) { _, _ in },
            ]
            #expect([car.mileage.observationCount, registry.observationCount] == [2, 3])
        }
        #expect([car.mileage.observationCount, registry.observationCount] == [1, 2])
        // Ended all at once: those through it go on.
        car.axle.cancelAllObservations()
        weak.cancelAllObservations()
        registry.cancelAllObservations()
        #expect([car.axle.observationCount, weak.observationCount, registry.observationCount] == [0, 0, 0])
        #expect(through.isActive)
        withExtendedLifetime(tokens) {}
    }
}
