// SPDX-License-Identifier: Apache-2.0
//
// An `@Observable` façade on the main actor for a model that many threads change.

import ConcurrentObserve
import Dispatch
import Observation

let car = Car()
let view = CarView(car)

/// Suspends until the tracked part of the view has changed.
@MainActor
func change<Value>(of value: @MainActor @escaping () -> Value, after begin: () -> Void) async {
    await withCheckedContinuation { continuation in
        withObservationTracking {
            _ = value()
        } onChange: {
            continuation.resume()
        }
        begin()
    }
    // `onChange` is called before the change, by the main actor. The main actor makes the change,
    // and then goes on here.
}

print("--- a change of another thread reaches the view")
await change(of: { view.speed }) {
    DispatchQueue.global().async { car.speed.value = 50 }
}
print("speed \(view.speed)")

print("--- the view changes the model")
await change(of: { view.title }) { view.rename(to: "Beetle") }
print("title \(view.title), name \(car.name.value)")

print("--- four threads change the model, the view has the last value")
let threads = Task.detached {
    await withTaskGroup { group in
        for _ in 1...4 { group.addTask { for _ in 1...10_000 { car.speed.modify { $0 += 1 } } } }
    }
}
await threads.value
while view.speed != car.speed.value { await change(of: { view.speed }) {} }
print("speed \(view.speed)")
