// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("Bindings in a cycle, and what another thread sets meanwhile")
    struct BindingEchoTests {}
}

/// A transform that adds one, and blocks at one of the values.
private struct Waiting: Sendable {
    let value: Int
    let inside: Signal
    let release: Signal

    init(at value: Int) {
        self.value = value
        inside = Signal("the transform of \(value)")
        release = Signal("the release of \(value)")
    }

    var transform: @Sendable (Int) -> Int {
        { value in
            if value == self.value {
                inside.happen()
                release.hold()
            }
            return value + 1
        }
    }
}

extension Promises.BindingEchoTests {
    @Test("P3 A change does not come back unchanged: of a property, a view, a path, a path without duplicates")
    func unchanged() {
        check({ $0.mileage }, { $0.mileage })
        check({ $0.mileage.readOnly }, { $0.mileage })
        check({ $0.property(\.axle.wheel.pressure) }, { $0.axle.value.wheel.value.pressure })
        check({ $0.property(\.axle.wheel.pressure).removingDuplicates() }, { $0.axle.value.wheel.value.pressure })
    }

    /// Sets a property in two cycles: one with two bindings, and one with a binding and a pair.
    private func check(_ source: (Car) -> some ObservableProperty<Int>, _ property: (Car) -> Observed<Int>) {
        let car = Car(0)
        let (source, property) = (source(car), property(car))
        let (one, both) = (Observed(-1), Observed(-1))
        let tokens = [
            source.bind(to: one), one.bind(to: property),
            source.bind(to: both), both.bindBidirectionally(with: property),
        ]
        let versions = (property.version, one.version, both.version)
        for number in 1...10 { property.value = number }
        #expect((property.value, one.value, both.value) == (10, 10, 10))
        #expect(property.version - versions.0 == 10)
        #expect((one.version - versions.1, both.version - versions.2) == (10, 10))
        withExtendedLifetime(tokens) {}
    }

    @Test(
        "P3 What another thread sets stays when an earlier change comes round",
        arguments: [BoundSource.property, .path, .replacedStep, .view, .viewOfPath]
    )
    func setMeanwhile(source: BoundSource) throws {
        let car = Car(0)
        let other = Observed(0)
        let (there, back) = (Waiting(at: 20), Waiting(at: 11))
        let tokens = [
            source.bind(car, to: other, there.transform), source.bindBack(other, to: car, back.transform),
        ]
        let early = TestThread { source.set(car, 10) }
        try back.inside.wait()
        let late = TestThread { source.set(car, 20) }
        try there.inside.wait()
        back.release.happen()
        try early.join()
        #expect((source.value(car), other.value) == (20, 11))
        there.release.happen()
        try late.join()
        #expect((source.value(car), other.value) == (22, 21))
        withExtendedLifetime(tokens) {}
    }

    @Test("P3 A step that another thread replaces stays when a change of the last property comes round to it")
    func stepReplacedMeanwhile() throws {
        let car = Car(0)
        let other = Observed(0)
        let (there, back) = (Waiting(at: 20), Waiting(at: 11))
        let tokens = [
            BoundSource.path.bind(car, to: other, there.transform),
            BoundSource.replacedStep.bindBack(other, to: car, back.transform),
        ]
        let early = TestThread { car.setPressure(10) }
        try back.inside.wait()
        let late = TestThread { car.axle.value = Axle(20) }
        try there.inside.wait()
        back.release.happen()
        try early.join()
        #expect((car.pressure, other.value) == (20, 11))
        there.release.happen()
        try late.join()
        #expect((car.pressure, other.value) == (22, 21))
        withExtendedLifetime(tokens) {}
    }

    @Test(
        "P3 What another thread sets stays when the value that a binding begins with comes round",
        arguments: [BoundSource.property, .path, .replacedStep, .viewOfPath]
    )
    func setAtTheBeginning(source: BoundSource) throws {
        let car = Car(10)
        let other = Observed(9)
        let there = [Waiting(at: 10), Waiting(at: 20)]
        let back = source.bindBack(other, to: car) { $0 + 1 }
        let token = Slot<ObservationToken>()
        let early = TestThread {
            token.put(
                source.bind(car, to: other) { value in
                    _ = there[0].transform(value)
                    return there[1].transform(value)
                }
            )
        }
        try there[0].inside.wait()
        let late = TestThread { source.set(car, 20) }
        try there[1].inside.wait()
        there[0].release.happen()
        try early.join()
        #expect((source.value(car), other.value) == (20, 11))
        there[1].release.happen()
        try late.join()
        #expect((source.value(car), other.value) == (22, 21))
        withExtendedLifetime((back, token)) {}
    }

    @Test("P3 Racing setters at the end of a path in a cycle: it has their changes and no others", arguments: [2, 4])
    func racing(threads: Int) throws {
        for _ in 0..<20 {
            let car = Car(0)
            let other = Observed(0)
            let pressure = car.axle.value.wheel.value.pressure
            let tokens = [
                car.property(\.axle.wheel.pressure).bind(to: other), other.bind(to: pressure),
            ]
            let version = pressure.version
            try onThreads(threads) { thread in
                for number in 1...100 { pressure.value = thread << 20 | number }
            }
            #expect(pressure.version - version == UInt64(threads * 100))
            #expect(other.value == pressure.value)
            withExtendedLifetime(tokens) {}
        }
    }
}
