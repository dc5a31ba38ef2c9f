// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P25 A followed model belongs to one run")
    struct P25FollowedTests {}
}

extension Promises.P25FollowedTests {
    @Test("P25 A followed model that is kept beyond its run traps, and says so", arguments: [false, true])
    func kept(isInNextRun: Bool) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [isInNextRun] in
            let engine = Observed(Engine())
            let hot = Derived { get in
                if isInNextRun, let kept = unsafe Kept.engine { return kept.rpm > 6_000 }
                let followed = get.follow(engine)
                unsafe Kept.engine = followed
                return followed.rpm > 6_000
            }
            check(!hot.value, "the value is wrong before anything was kept")
            engine.value = Engine()
            if isInNextRun { _ = hot.value } else { _ = unsafe Kept.engine?.rpm }
        }
        #expect(
            result.map { String(decoding: $0.standardErrorContent, as: UTF8.self).contains("beyond its run") } == true
        )
    }
}

extension Promises.P25FollowedTests {
    @Test("P22 The function says that it uses a followed model as itself: the model, nil, and an array")
    func itself() {
        let engine = Observed(Engine())
        let (spare, all) = (Observed<Engine?>(nil), Observed([engine.value]))
        let isSpare = Derived { get in
            get(get.follow(engine)) === get(get.follow(spare)) && get(get.follow(all)).count == 1
        }
        #expect(!isSpare.value)
        spare.value = engine.value
        #expect(isSpare.value)
        all.value = []
        #expect(!isSpare.value)
    }
}

extension Promises.P25FollowedTests {
    @Test("P22 Constants of a followed model are read: values, and models, whose properties are followed")
    func constants() {
        let (first, second) = (Vehicle(Engine(), 1), Vehicle(Engine(), 2))
        let car = Observed(first)
        let sum = Derived { get in
            let car = get.follow(car)
            let spare: Int? = car.spare?.rpm
            let engines: [Int] = car.engines.map { $0.rpm }
            return car.number + car.engine.rpm + (spare ?? 0) + engines.reduce(0, +)
        }
        let received = ReceivedChanges<Int>()
        let token = sum.observe(received)
        first.engine.value.rpm.value = 1
        car.value = second
        second.engine.value.rpm.value = 2
        #expect(received.changes.map(\.new) == [4, 2_402, 8] && sum.value == 8)
        token.cancel()
    }
}

extension Promises.P25FollowedTests {
    @Test(
        "P25 A constant of a followed model that is kept beyond its run traps, and so does the model that it holds",
        arguments: [false, true]
    )
    func keptConstants(isModel: Bool) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [isModel] in
            let car = Observed(Vehicle(Engine(), 1))
            let number = Derived { get in
                let followed = get.follow(car)
                unsafe Kept.car = followed
                return followed.number
            }
            check(number.value == 1, "the value is wrong before anything was kept")
            let kept = unsafe Kept.car!
            _ = isModel ? kept.engine.rpm : kept.number
        }
        #expect(
            result.map { String(decoding: $0.standardErrorContent, as: UTF8.self).contains("beyond its run") } == true
        )
    }
}

private final class Engine: ConcurrentObservable {
    struct Properties: Sendable { let rpm: Observed<Int> }
    let rpm = Observed(800)
    var observedProperties: Properties { Properties(rpm: rpm) }
}

private final class Vehicle: ConcurrentObservable {
    let number: _Constant<Int>
    let engine: _Constant<Engine>
    let spare: _Constant<Engine?>
    let engines: _Constant<[Engine]>

    init(_ engine: Engine, _ number: Int) {
        (self.number, self.engine) = (_Constant(number), _Constant(engine))
        (spare, engines) = (_Constant(engine), _Constant([engine]))
    }
}

private enum Kept {
    // Safe: the test's process uses it on one thread.
    nonisolated(unsafe) static var engine: Followed<Engine>?
    nonisolated(unsafe) static var car: Followed<Vehicle>?
}
