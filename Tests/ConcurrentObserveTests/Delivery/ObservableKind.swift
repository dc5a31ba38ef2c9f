// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve

/// Everything that can be observed. Each kind is a view of the same two properties.
enum ObservableKind: String, CaseIterable, Sendable {
    case property, readOnly, oneStepPath, path, withoutDuplicates, group, list, weak, weakPath, registry

    /// The kinds that have a value.
    static let properties = allCases.filter { $0 != .registry }
}

/// The root of a path to a weak property.
private final class Team: ConcurrentObservable {
    let lead = WeakObserved<Referent>()
}

private final class Firm: ConcurrentObservable {
    let team = Observed(Team())
}

/// A source of any kind. Its observers are only notified that there was a change.
final class ObservableThing: Sendable {
    let kind: ObservableKind
    private let car = Car(0)
    private let firm = Firm()
    private let registry = ObserverRegistry<Int>()
    private let referents = Log<Referent>()

    init(_ kind: ObservableKind) { self.kind = kind }

    /// Makes a change to another value. Only one thread at a time may call it.
    func send(_ number: Int) {
        switch kind {
        case .property, .readOnly, .oneStepPath, .withoutDuplicates, .group, .list: car.mileage.value = number
        case .path: car.setPressure(number)
        case .weak, .weakPath:
            let referent = Referent("\(number)")
            referents.append(referent)
            firm.team.value.lead.value = referent
        case .registry: registry.notify(number)
        }
    }

    /// The number of observations that each observed property or registry counts.
    var observationCounts: [Int] {
        switch kind {
        case .property, .readOnly, .oneStepPath, .withoutDuplicates, .list: [car.mileage.observationCount]
        case .path: [car.axle.observationCount]
        case .group: [car.name.observationCount, car.mileage.observationCount]
        case .weak: [firm.team.value.lead.observationCount]
        case .weakPath: [firm.team.observationCount]
        case .registry: [registry.observationCount]
        }
    }

    /// Lets `use` observe it, whatever its type is.
    func with(
        _ use: any ObservableUse
    ) -> ObservationToken {
        let lead = firm.team.value.lead
        return switch kind {
        case .property: use.observe(car.mileage, Self.number)
        case .readOnly: use.observe(car.mileage.readOnly, Self.number)
        case .oneStepPath: use.observe(car.property(\.mileage), Self.number)
        case .path: use.observe(car.property(\.axle.wheel.pressure), Self.number)
        case .withoutDuplicates: use.observe(car.mileage.removingDuplicates(), Self.number)
        case .group: use.observe(Group(car.name, car.mileage)) { $0.1 }
        case .list: use.observe(PropertyList([car.mileage])) { $0[0] }
        case .weak: use.observe(lead, Self.number)
        case .weakPath: use.observe(firm.property(\.team.lead), Self.number)
        case .registry: use.observe(registry)
        }
    }

    @Sendable
    private static func number(_ number: Int) -> Int { number }

    @Sendable
    private static func number(_ referent: Referent?) -> Int { referent.flatMap { Int($0.description) } ?? 0 }
}

/// A way to observe any source.
protocol ObservableUse {
    /// Observes a property.
    ///
    /// - Parameter number: Returns the number that was sent, from a value.
    func observe<Property: ObservableProperty>(
        _ property: Property,
        _ number: @escaping @Sendable (Property.Value) -> Int
    ) -> ObservationToken

    func observe(_ registry: ObserverRegistry<Int>) -> ObservationToken
}

/// Observes with a closure of one parameter, and with a delivery.
struct Delivered: ObservableUse {
    let delivery: Delivery
    let body: @Sendable (Int) -> Void

    init(_ delivery: Delivery, _ body: @escaping @Sendable (Int) -> Void) {
        (self.delivery, self.body) = (delivery, body)
    }

    func observe<Property: ObservableProperty>(
        _ property: Property,
        _ number: @escaping @Sendable (Property.Value) -> Int
    ) -> ObservationToken {
        property.observe(delivery: delivery) { change in body(number(change.new)) }
    }

    func observe(_ registry: ObserverRegistry<Int>) -> ObservationToken { registry.observe(delivery: delivery, body) }
}

/// Observes with a closure that also receives the observation's handle.
struct Handled: ObservableUse {
    let delivery: Delivery
    let body: @Sendable (Int, ObservationHandle) -> Void

    init(_ delivery: Delivery, _ body: @escaping @Sendable (Int, ObservationHandle) -> Void) {
        (self.delivery, self.body) = (delivery, body)
    }

    func observe<Property: ObservableProperty>(
        _ property: Property,
        _ number: @escaping @Sendable (Property.Value) -> Int
    ) -> ObservationToken {
        property.observe(delivery: delivery) { change, observation in body(number(change.new), observation) }
    }

    func observe(_ registry: ObserverRegistry<Int>) -> ObservationToken { registry.observe(delivery: delivery, body) }
}

/// Observes with a closure that is bound to an owner.
struct Owned<Owner: AnyObject & Sendable>: ObservableUse {
    let owner: Owner
    let delivery: Delivery
    let body: @Sendable (Owner, Int) -> Void

    init(_ owner: Owner, _ delivery: Delivery, _ body: @escaping @Sendable (Owner, Int) -> Void) {
        (self.owner, self.delivery, self.body) = (owner, delivery, body)
    }

    func observe<Property: ObservableProperty>(
        _ property: Property,
        _ number: @escaping @Sendable (Property.Value) -> Int
    ) -> ObservationToken {
        property.observe(owner: owner, delivery: delivery) { [body] owner, change in
            body(owner, number(change.new))
        }
    }

    func observe(_ registry: ObserverRegistry<Int>) -> ObservationToken {
        registry.observe(owner: owner, delivery: delivery, body)
    }
}
