// SPDX-License-Identifier: Apache-2.0
//
// A property as a publisher of OpenCombine, with its operators, its demand and its cancellation.
// Combine on Apple's systems has the same names.

import ConcurrentObserve
import Dispatch
@preconcurrency import OpenCombine
import Synchronization

final class Car: ConcurrentObservable {
    let speed = Observed(0)
    let limit = Observed(50)
}

// In functions: closures at the top level of a program belong to the main actor, and would trap on
// another thread.

func useOperators() async throws {
    print("--- operators")
    var car: Car? = Car()
    let isFinished = Observed(false)
    let subscription = Group(car!.speed, car!.limit).publisher().map { speed, limit in speed > limit }
        .removeDuplicates()
        .sink { end in
            print(end)
            isFinished.value = true
        } receiveValue: { isTooFast in
            print(isTooFast ? "too fast" : "fine")
        }
    for speed in [30, 60, 70] { car!.speed.value = speed }
    car!.limit.value = 100
    car = nil
    // The end of a source is announced by a thread of the library.
    _ = try await isFinished.first(timeout: .seconds(60)) { $0 }
    subscription.cancel()
}

func demandFew() {
    print("--- demand: three values now, and the latest later")
    let car = Car()
    var received: [Int] = []
    var subscription: (any Subscription)?
    car.speed.publisher().subscribe(
        AnySubscriber(
            receiveSubscription: { subscription = $0 },
            receiveValue: { value in
                received.append(value)
                return .none
            }
        )
    )
    subscription!.request(.max(3))
    for speed in 1...9 { car.speed.value = speed }
    print(received)
    subscription!.request(.max(1))
    print(received)
    subscription!.cancel()
    print("observations: \(car.speed.observationCount)")
}

func setFromFourThreads() async throws {
    print("--- four threads: one value at a time, the last one last")
    let car = Car()
    let inside = Atomic(0), overlaps = Atomic(0), last = Mutex(0)
    let subscription = car.speed.publisher().sink { value in
        if inside.add(1, ordering: .relaxed).oldValue > 0 { overlaps.add(1, ordering: .relaxed) }
        last.withLock { $0 = value }
        inside.subtract(1, ordering: .relaxed)
    }
    DispatchQueue.concurrentPerform(iterations: 4) { _ in
        for _ in 1...1_000 { car.speed.modify { $0 += 1 } }
    }
    while last.withLock({ $0 }) < 4_000 { try await Task.sleep(for: .milliseconds(1)) }
    print("overlaps: \(overlaps.load(ordering: .relaxed)), last: \(last.withLock { $0 })")
    subscription.cancel()
}

try await useOperators()
demandFew()
try await setFromFourThreads()
