// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch

// Optional, so that it can be dropped at the end.
var car: Car? = Car()
var tokens = Set<ObservationToken>()

func observe(_ car: Car, keeping tokens: inout Set<ObservationToken>) {
    car.name.observe { change in
        print("name: \(change.old ?? "-") → \(change.new ?? "gone"), version \(change.version)")
    }.store(in: &tokens)

    // Typed, over two steps; goes on when the engine is replaced.
    car.observe(\.engine.rpm, options: .initial) { change in
        switch change.reason {
        case .initial: print("rpm: \(change.new) at first")
        case .valueChanged: print("rpm: \(change.new)")
        case .pathChanged(let depth): print("rpm: \(change.new), of another engine (step \(depth))")
        case .sourceDeleted: print("rpm: the car is gone")
        }
    }.store(in: &tokens)

    // Through an optional: the value is an `Int?`, nil while there is no spare engine.
    car.observe(\.spare.rpm) { change in
        guard let rpm = change.new else { return }
        print("spare: \(rpm.map { "\($0) rpm" } ?? "none")")
    }.store(in: &tokens)

    // The callback ends itself.
    car.mileage.observe { change, observation in
        guard let miles = change.new, miles >= 1_000 else { return }
        print("service due at \(miles)")
        observation.cancel()
    }.store(in: &tokens)

    car.observe(all: \.name, \.engine.rpm) { changed, name, rpm in
        print("dashboard: \(name), \(rpm) rpm (path \(changed))")
    }.store(in: &tokens)
}

observe(car!, keeping: &tokens)

print("--- properties")
car!.name.value = "Golf"
// Any thread: four at once add to the mileage, each change is one step.
DispatchQueue.concurrentPerform(iterations: 4) { [car] _ in
    for _ in 0..<100 { car!.mileage.modify { $0 += 1 } }
}
print("mileage: \(car!.mileage.value), \(car!.mileage.version) changes")
car!.mileage.modify { $0 += 800 }
car!.mileage.modify { $0 += 1 }

print("--- paths")
let old = car!.engine.value
old.rpm.value = 900
car!.engine.value = Engine(rpm: 1_200)
old.rpm.value = 7_000  // Of no interest any more.
car!.engine.value.rpm.value = 1_300

print("--- optional steps")
car!.spare.value = Engine(rpm: 10)
car!.spare.value?.rpm.modify { $0 += 5 }
car!.spare.value = nil

print("--- the end")
print("active: \(tokens.filter(\.isActive).count) of \(tokens.count)")
// The properties are told of the end in the order in which the car lets go of them.
car = nil
print("active: \(tokens.filter(\.isActive).count) of \(tokens.count)")
