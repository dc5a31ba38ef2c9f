// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve

/// A plant whose turbine has a derived value, and the roots of everything that a `DerivedKind`
/// observes.
///
/// Nothing else retains them: releasing this object is the death of the source.
final class DerivedSources: Sendable {
    final class Plant: ConcurrentObservable {
        let turbine: Observed<Turbine>
        let spare: Observed<Turbine?>

        init(_ turbine: Turbine) {
            self.turbine = Observed(turbine)
            spare = Observed(turbine)
        }
    }

    final class Turbine: ConcurrentObservable {
        let number = Observed(0)
        private let storedTens = _DerivedStorage<Int>()

        var tens: Derived<Int> { storedTens.derived { [number] in Derived { get in get(number) * 10 } } }
    }

    /// The referent of a weak property.
    final class Guest: WeaklyObservable {
        let lifetime = ReferentLifetime()
        let number: Int

        init(_ number: Int) { self.number = number }
    }

    let number = Observed(0)
    let other = Observed(0)
    let weak = WeakObserved<Guest>()
    let plant = Plant(Turbine())
    private let guest = Slot<Guest>()
    /// Makes an object for each function of a derived value to capture.
    let lives: Lives

    init(_ lives: Lives) { self.lives = lives }

    /// Sets every root.
    func set(_ number: Int) {
        let guest = Guest(number)
        weak.value = guest
        self.guest.put(guest)
        plant.turbine.value.number.value = number
        self.number.value = number
    }
}

/// The ways to a derived value that only its observation retains. Its value is ten times the
/// sources' number.
enum DerivedKind: String, CaseIterable, Sendable {
    case map, mapOfMap = "map of map", combine, diamond, names, manyNames = "many names"
    case withoutDuplicates = "without duplicates", comparing, readOnly = "of a read-only view", weak =
        "of a weak property"
    case group = "of a group", groupWithMap = "of a group with a map", list = "of a list", path = "of a path"
    case pathToDerived = "a path to one", optionalPath = "an optional path to one", ofModel = "of a model's"
    /// The function captures the source.
    case reader

    var retainsSource: Bool { self == .reader }
    /// Whether the function belongs to the test, and captures a life.
    var capturesLife: Bool { self != .pathToDerived }

    /// Calls `body` with the derived value. The caller has no reference to it.
    func observe<Result>(_ sources: DerivedSources, _ body: (any ObservableProperty<Int>) -> Result) -> Result {
        let (number, other, life) = (
            sources.number, sources.other, capturesLife ? sources.lives.make() : nil
        )
        let ten: @Sendable (Int) -> Int = {
            life?.touch()
            return $0 * 10
        }
        switch self {
        case .map: return body(number.map(ten))
        case .mapOfMap: return body(number.map(ten).map { $0 + 1 }.map { $0 - 1 })
        case .combine: return body(number.combine(other) { ten($0) + $1 })
        case .diamond:
            let five = number.map { ten($0) / 2 }
            return body(five.map { $0 + 1 }.combine(five.map { $0 - 1 }) { $0 + $1 })
        case .names: return body(Derived(number, other) { ten($0) + $1 })
        case .manyNames:
            return body(Derived(number, other, other, other, other, other) { ten($0) + $1 + $2 + $3 + $4 + $5 })
        case .withoutDuplicates: return body(number.map(ten).removingDuplicates())
        case .comparing: return body(number.removingDuplicates().map(ten).removingDuplicates(by: ==))
        case .readOnly: return body(number.readOnly.map(ten))
        case .weak: return body(sources.weak.map { ten($0?.number ?? 0) })
        case .group: return body(Group(number, other).map { ten($0.0) + $0.1 })
        case .groupWithMap: return body(Group(number, number.map { $0 * 2 }).map { ten($0.1 - $0.0) })
        case .list: return body(PropertyList([number, other]).map { ten($0[0]) })
        case .path: return body(sources.plant.property(\.turbine.number).map(ten))
        case .pathToDerived:
            return body(sources.plant.property(\.turbine.tens))
        case .optionalPath: return body(sources.plant.property(\.spare.tens).map { ten($0 ?? 0) / 10 })
        case .ofModel: return body(sources.plant.turbine.value.tens.map { ten($0) / 10 })
        case .reader: return body(Derived { get in ten(get(number)) })
        }
    }
}
