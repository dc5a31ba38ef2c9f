// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("Bindings and callbacks that change the source")
    struct BindingCallbacksTests {}
}

/// A property of the user's, which passes `attach` on.
private struct Shown<Base: ObservableProperty>: ObservableProperty {
    let base: Base

    var value: Base.Value { base.value }
    var version: UInt64 { base.version }
    func snapshot() -> (value: Base.Value, version: UInt64) { base.snapshot() }
    func attach(_ observer: PropertyObserver<Base.Value>) -> ObservationToken { base.attach(observer) }
    var weakAttachment: @Sendable (PropertyObserver<Base.Value>) -> ObservationToken? { base.weakAttachment }
}

/// The source that a binding follows, and the way in which it is set.
enum BoundSource: String, CaseIterable, Sendable {
    case property, path, replacedStep, group, list, view, viewOfPath, groupOfPaths, groupOfGroup, pathAndGroup

    /// Binds a number of `car` to `destination`, through `transform`.
    func bind(
        _ car: Car,
        to destination: Observed<Int>,
        _ transform: @escaping @Sendable (Int) -> Int = { $0 }
    ) -> ObservationToken {
        let (mileage, path) = (car.mileage, car.property(\.axle.wheel.pressure))
        switch self {
        case .property: return mileage.bind(to: destination, transform: transform)
        case .path, .replacedStep: return path.bind(to: destination, transform: transform)
        case .group: return Group(mileage, car.name).bind(to: destination) { transform($0.0) }
        case .list: return PropertyList([mileage]).bind(to: destination) { transform($0[0]) }
        case .view: return Shown(base: mileage).bind(to: destination, transform: transform)
        case .viewOfPath: return Shown(base: path).bind(to: destination, transform: transform)
        case .groupOfPaths, .pathAndGroup:
            return Group(path, car.name).bind(to: destination) { transform($0.0) }
        case .groupOfGroup:
            return Group(Group(mileage, car.name), car.name).bind(to: destination) { transform($0.0.0) }
        }
    }

    func set(_ car: Car, _ number: Int) {
        switch self {
        case .property, .group, .list, .view, .groupOfGroup: car.mileage.value = number
        case .path, .viewOfPath, .groupOfPaths: car.setPressure(number)
        case .replacedStep, .pathAndGroup: car.axle.value = Axle(number)
        }
    }

    /// Binds `property` to the destination of the other direction.
    func bindBack(_ property: Observed<Int>, to car: Car, _ transform: @escaping @Sendable (Int) -> Int)
        -> ObservationToken
    {
        switch self {
        case .property, .group, .list, .view, .groupOfGroup: property.bind(to: car.mileage, transform: transform)
        case .path, .viewOfPath, .groupOfPaths:
            property.bind(to: car.axle.value.wheel.value.pressure, transform: transform)
        case .replacedStep, .pathAndGroup: property.bind(to: car.axle) { Axle(transform($0)) }
        }
    }

    /// Whether the binding follows a group.
    var isCombined: Bool {
        switch self {
        case .property, .path, .replacedStep, .view, .viewOfPath: false
        case .group, .list, .groupOfPaths, .groupOfGroup, .pathAndGroup: true
        }
    }

    func value(_ car: Car) -> Int {
        switch self {
        case .property, .group, .list, .view, .groupOfGroup: car.mileage.value
        default: car.pressure
        }
    }
}

extension Promises.BindingCallbacksTests {
    @Test(
        "P3 A callback of the destination sets the source again and again: the destination follows to the end",
        arguments: BoundSource.allCases
    )
    func callbackSetsTheSource(source: BoundSource) {
        let car = Car(0)
        let destination = Observed(-1)
        let tokens = [
            source.bind(car, to: destination),
            destination.observe { change in if change.new < 10 { source.set(car, change.new + 1) } },
        ]
        source.set(car, 1)
        #expect((source.value(car), destination.value) == (10, 10))
        source.set(car, 5)
        #expect((source.value(car), destination.value) == (10, 10))
        withExtendedLifetime(tokens) {}
    }

    @Test("P3 So it does if the destination is bound on, and the callback observes the end of the chain")
    func chain() {
        let car = Car(0)
        let (first, second) = (Observed(0), Observed(0))
        let tokens = [
            car.property(\.axle.wheel.pressure).bind(to: first), Group(first, car.name).bind(to: second) { $0.0 },
            second.observe { change in if change.new < 10 { car.setPressure(change.new + 1) } },
        ]
        car.setPressure(1)
        #expect((car.pressure, first.value, second.value) == (10, 10, 10))
        withExtendedLifetime(tokens) {}
    }

    @Test(
        "P6 A cycle ends: a change passes each binding once, and twice after a group",
        arguments: BoundSource.allCases
    )
    func cycle(source: BoundSource) throws {
        let car = Car(0)
        let other = Observed(0)
        let tokens = [
            source.bind(car, to: other) { $0 < 1_000 ? $0 + 1 : $0 },
            source.bindBack(other, to: car) { $0 < 1_000 ? $0 + 1 : $0 },
        ]
        source.set(car, 10)
        #expect((source.value(car), other.value) == (source.isCombined ? (14, 13) : (12, 11)))
        withExtendedLifetime(tokens) {}
    }

    @Test("P3 A group of which one change reaches two members, in a cycle: all agree when it has ended")
    func membersOfOneCycle() {
        let (number, first, second) = (Observed(0), Observed(0), Observed(0))
        let tokens = [
            number.bind(to: first), number.bind(to: second), Group(first, second).bind(to: number) { $0.1 },
        ]
        number.value = 5
        #expect(number.value == first.value && number.value == second.value)
        withExtendedLifetime(tokens) {}
    }

    @Test("P3 A group that has one property twice, in a cycle: both sides agree when it has ended")
    func memberTwice() {
        let (left, right) = (Observed(0), Observed(0))
        let tokens = [left.bind(to: right), Group(right, right).bind(to: left) { $0.1 }]
        left.value = 5
        #expect(left.value == right.value)
        withExtendedLifetime(tokens) {}
    }

    @Test("P3 A pair beside a cycle through a group: its sides agree when it has ended")
    func pairBesideGroup() {
        let (left, right, sum) = (Observed(0), Observed(0), Observed(0))
        let tokens = [
            left.bindBidirectionally(with: right), Group(left, right).bind(to: sum) { $0.1 }, sum.bind(to: right),
        ]
        right.value = 9
        #expect(left.value == right.value && sum.value == right.value)
        withExtendedLifetime(tokens) {}
    }

    @Test(
        "P3 P6 Callbacks of racing changes in a cycle: it ends, and the last change passes",
        arguments: BoundSource.allCases
    )
    func racing(source: BoundSource) throws {
        let car = Car(0)
        let destination = Observed(0)
        let tokens = [
            source.bind(car, to: destination),
            destination.observe { change in if change.new % 4 != 0 { source.set(car, change.new + 1) } },
        ]
        try onThreads(2) { thread in for number in 1...200 { source.set(car, thread << 20 | number) } }
        // Replacements that kept racing are delivered by a thread of the library.
        try Process.settle()
        #expect(destination.value == source.value(car))
        #expect(destination.value % 4 == 0)
        withExtendedLifetime(tokens) {}
    }
}
