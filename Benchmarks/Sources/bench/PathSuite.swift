// SPDX-License-Identifier: Apache-2.0

import CReference
import ConcurrentObserve

/// Measures observers of paths. The reference observes the property to which the path leads.
enum PathSuite {
    static let cases = [oneStep, threeSteps, replacement, bytesPerStep]

    private static let oneStep = leaf("path.set.1-step", .pathOfOneStep) { cars, counter in
        cars.garage.engine.observe(\.rpm) { change in counter.value &+= change.new }
    }

    private static let threeSteps = leaf("path.set.3-steps", .pathOfThreeSteps) { cars, counter in
        cars.garage.observe(\.car.engine.rpm) { change in counter.value &+= change.new }
    }

    /// Returns a case for a change of the last property.
    ///
    /// - Parameter observe: Its closure is a literal, as the reference's is. A closure that is
    ///   passed on would be called through a thunk.
    private static func leaf(
        _ name: String,
        _ bar: Bar,
        _ observe: @escaping @Sendable (Cars, Counter) -> ObservationToken
    ) -> Case {
        Case(name: name, unit: .nanoseconds, bar: bar) { effort in
            let (cars, plain) = (Cars(), Observed(0))
            let (ours, theirs) = (Counter(), Counter())
            let tokens = [
                observe(cars, ours),
                plain.observe { change in theirs.value &+= change.new },
            ]
            let rpm = cars.garage.engine.rpm
            let times = effort.work(200_000)
            return Case.Sides(
                ours: {
                    withExtendedLifetime((tokens, cars)) { nanoseconds { setInLoop(rpm, times) } } / Double(times)
                },
                reference: { withExtendedLifetime(tokens) { nanoseconds { setInLoop(plain, times) } } / Double(times) }
            )
        }
    }

    /// Replaces the middle step by another one, and back.
    private static let replacement = Case(
        name: "path.replace.middle-of-3",
        unit: .nanoseconds,
        bar: .compared("nothing else does it"),
        summary: .median
    ) { effort in
        let cars = Cars()
        let counter = Counter()
        let token = cars.garage.observe(\.car.engine.rpm) { _ in counter.value &+= 1 }
        let engines = (Engine(), Engine())
        let engine = cars.garage.car.value.engine
        let times = effort.work(20_000)
        return Case.Sides(ours: {
            withExtendedLifetime((token, cars)) {
                nanoseconds {
                    for step in 0..<times { engine.value = step & 1 == 0 ? engines.0 : engines.1 }
                    ConcurrentObserveDiagnostics.drain()
                }
            } / Double(times)
        })
    }

    /// The additional bytes of a path of three steps, compared with a path of two. Every property
    /// on the path is already observed.
    private static let bytesPerStep = Case(
        name: "path.observe.bytes-per-step",
        unit: .bytes,
        bar: .bytesPerStep,
        summary: .median,
        isLong: true
    ) { _ in
        let count = 20_000
        let cars = Cars()
        return Case.Sides(ours: {
            let before = settledHeap()
            let three = (0..<count).map { _ in cars.garage.observe(\.car.engine.rpm) { _ in } }
            let between = settledHeap()
            let two = (0..<count).map { _ in cars.garage.car.value.observe(\.engine.rpm) { _ in } }
            let after = settledHeap()
            withExtendedLifetime((three, two)) {}
            return ((between - before) - (after - between)) / Double(count)
        })
    }

    /// Returns the heap in use in bytes, after the memory of ended observations is freed: the end
    /// of a path retires its observers.
    private static func settledHeap() -> Double {
        var heap = 0
        repeat {
            heap = creference_heap_bytes()
            ConcurrentObserveDiagnostics.drain()
            ConcurrentObserveDiagnostics.drain()
        } while creference_heap_bytes() != heap
        return Double(heap)
    }
}
