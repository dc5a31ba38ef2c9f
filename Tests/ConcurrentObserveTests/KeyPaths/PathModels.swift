// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve

/// The end of the tests' paths.
final class Wheel: ConcurrentObservable, ObservationSource {
    let pressure: Observed<Int>
    let warning: Observed<String?>
    private let life: Life?

    init(_ pressure: Int, warning: String? = nil, life: Life? = nil) {
        self.pressure = Observed(pressure)
        self.warning = Observed(warning)
        self.life = life
    }

    func cancelAllObservations() { ObservationToken.cancelAll(of: pressure, warning) }
}

final class Axle: ConcurrentObservable, ObservationSource {
    let wheel: Observed<Wheel>
    let spare: Observed<Wheel?>
    private let life: Life?

    init(_ wheel: Wheel, spare: Wheel? = nil, life: Life? = nil) {
        self.wheel = Observed(wheel)
        self.spare = Observed(spare)
        self.life = life
    }

    convenience init(_ pressure: Int) { self.init(Wheel(pressure)) }

    func cancelAllObservations() { ObservationToken.cancelAll(of: wheel, spare) }
}

final class Car: ConcurrentObservable, ObservationSource {
    let name = Observed("Beetle")
    let mileage = Observed(0)
    let axle: Observed<Axle>
    let second: Observed<Axle?>
    private let life: Life?

    init(_ axle: Axle, second: Axle? = nil, life: Life? = nil) {
        self.axle = Observed(axle)
        self.second = Observed(second)
        self.life = life
    }

    convenience init(_ pressure: Int) { self.init(Axle(pressure)) }

    func cancelAllObservations() { ObservationToken.cancelAll(of: name, mileage, axle, second) }
}

final class Fleet: ConcurrentObservable, ObservationSource {
    let car: Observed<Car>
    let best: Observed<Car?>

    init(_ car: Car, best: Car? = nil) {
        self.car = Observed(car)
        self.best = Observed(best)
    }

    func cancelAllObservations() { ObservationToken.cancelAll(of: car, best) }
}

extension Car {
    /// Sets the property to which `\.axle.wheel.pressure` leads now.
    func setPressure(_ pressure: Int) { axle.value.wheel.value.pressure.value = pressure }

    /// The present value of that path.
    var pressure: Int { axle.value.wheel.value.pressure.value }
}

extension ConcurrentObservable {
    /// Observes a path, and records all changes in `received`.
    func observe<Value: Sendable>(
        _ path: KeyPath<_ObservedPath<Self, Self>, _ObservedPath<Self, Value>>,
        _ received: ReceivedChanges<Value>,
        options: ObservationOptions = []
    ) -> ObservationToken {
        observe(path, options: options) { (change: Change<Value>) in received.append(change) }
    }
}

extension ReceivedChanges where Value: Equatable {
    /// The changes of a path in the order of their versions, without initial and prior deliveries.
    var chain: [Change<Value>] {
        changes.filter { $0.reason != .initial && $0.reason != .prior }.sorted { $0.version < $1.version }
    }

    /// Descriptions of mistakes in the chain. It must have the versions 1, 2, 3, …, each once, and
    /// each change must begin with the value with which the one before ended. (P2)
    ///
    /// - Parameter first: The value at the registration.
    func mistakes(from first: Value) -> [String] {
        var mistakes: [String] = []
        var before = first
        for (index, change) in chain.enumerated() {
            if change.version != UInt64(index) + 1 { mistakes.append("number \(index + 1): \(change.line)") }
            if change.old != before { mistakes.append("after \(before): \(change.line)") }
            before = change.new
        }
        return mistakes
    }
}

/// A model that runs a closure when a path is linked to it.
final class Gauge: ConcurrentObservable {
    let part: Observed<Part>
    let other: Observed<Gauge?>

    init(_ part: Part, other: Gauge? = nil) {
        self.part = Observed(part)
        self.other = Observed(other)
    }

    final class Part: ConcurrentObservable {
        let number: Observed<Int>
        private let atLinking: Slot<@Sendable () -> Void>

        /// Makes a gauge.
        ///
        /// - Parameter atLinking: Called once, when a path is linked to the object.
        init(_ number: Int, atLinking: (@Sendable () -> Void)? = nil) {
            self.number = Observed(number)
            self.atLinking = Slot(atLinking)
        }

        var observedProperties: Part {
            if let atLinking = atLinking.take() { atLinking() }
            return self
        }
    }
}
