// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch

// Optional, so that it can be released at the end.
var car: Car? = Car()
var tokens = Set<ObservationToken>()

/// Observes a number, wherever it is: a property, a read-only one, a path.
func count(_ what: String, in property: some ObservableProperty<Int>) -> ObservationToken {
    property.observe { change in
        let difference = change.new - (change.old ?? 0)
        if difference >= 800 { print("\(what): \(difference) more at once") }
    }
}

func observe(_ car: Car, keeping tokens: inout Set<ObservationToken>) {
    car.name.observe { change in
        print("name: \(change.old!) → \(change.new), version \(change.version)")
    }.store(in: &tokens)

    // Typed, over two steps. The observation goes on when the engine is replaced.
    car.observe(\.engine.rpm, options: .initial) { change in
        switch change.reason {
        case .initial: print("rpm: \(change.new) at first")
        case .pathChanged(let depth): print("rpm: \(change.new), of another engine (step \(depth))")
        default: print("rpm: \(change.new)")
        }
    }
    .onEnd { end in print("rpm: no more changes, \(end)") }
    .store(in: &tokens)

    // Through an optional: the value is an `Int?`, nil while there is no spare engine.
    car.observe(\.spare.rpm) { change in
        print("spare: \(change.new.map { "\($0) rpm" } ?? "none")")
    }.store(in: &tokens)

    // The callback ends its own observation.
    car.mileage.observe { change, observation in
        guard change.new >= 1_000 else { return }
        print("service due at \(change.new)")
        observation.cancel()
    }.store(in: &tokens)

    // Several properties together: a tuple with the latest value of each.
    Group(car.name, car.property(\.engine.rpm)).observe { change in
        let (name, rpm) = change.new
        print("dashboard: \(name), \(rpm) rpm")
    }.store(in: &tokens)

    count("mileage", in: car.mileage).store(in: &tokens)
    count("rpm", in: car.property(\.engine.rpm)).store(in: &tokens)
}

observe(car!, keeping: &tokens)

print("--- properties")
car!.name.value = "Golf"
// Any thread: four at once add to the mileage.
DispatchQueue.concurrentPerform(iterations: 4) { [car] _ in
    for _ in 0..<100 { car!.drive(1) }
}
print("mileage: \(car!.mileage.value), \(car!.mileage.version) changes")
car!.drive(800)
car!.drive(1)

print("--- paths")
let old = car!.engine.value
old.rpm.value = 900
car!.engine.value = Engine(rpm: 1_200)
// The path does not lead here any more.
old.rpm.value = 7_000
car!.engine.value.rpm.value = 1_300

print("--- optional steps")
car!.spare.value = Engine(rpm: 10)
car!.spare.value?.rpm.modify { $0 += 5 }
car!.spare.value = nil

print("--- the end")
print("active: \(tokens.filter(\.isActive).count) of \(tokens.count)")
car = nil
// Ends are delivered on a thread of the library: wait for them.
ConcurrentObserveDiagnostics.drain()
print("active: \(tokens.filter(\.isActive).count) of \(tokens.count)")
