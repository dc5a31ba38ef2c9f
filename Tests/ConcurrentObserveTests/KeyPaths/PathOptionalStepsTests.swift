// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P1 Paths through optional steps")
    struct PathOptionalStepsTests {}
}

extension Promises.PathOptionalStepsTests {
    @Test("P1 A step becomes nil: the path changes to nil; restored: to the new end, which is delivered again")
    func nilAndBack() {
        let car = Car(Axle(1), second: Axle(5))
        let received = ReceivedChanges<Int?>()
        let token = car.observe(\.second.wheel.pressure, received)
        let old = car.second.value!
        car.second.value = nil
        old.wheel.value.pressure.value = -1
        car.second.value = Axle(7)
        car.second.value!.wheel.value.pressure.value = 8
        #expect(
            received.lines == [
                "pathChanged(depth: 0) Optional(5) → nil @1", "pathChanged(depth: 0) nil → Optional(7) @2",
                "valueChanged Optional(7) → Optional(8) @3",
            ]
        )
        withExtendedLifetime(token) {}
    }

    @Test("P1 The path may begin at nil; nil after nil is a change of the step")
    func beginsAtNil() {
        let car = Car(1)
        let received = ReceivedChanges<Int?>()
        let token = car.observe(\.second.wheel.pressure, received, options: .initial)
        car.second.value = nil
        car.second.value = Axle(3)
        #expect(
            received.lines == [
                "initial - → nil @0", "pathChanged(depth: 0) nil → nil @1",
                "pathChanged(depth: 0) nil → Optional(3) @2",
            ]
        )
        withExtendedLifetime(token) {}
    }

    @Test("P1 The last step but one is optional")
    func lastButOne() {
        let car = Car(Axle(Wheel(1), spare: Wheel(2)))
        let received = ReceivedChanges<Int?>()
        let token = car.observe(\.axle.spare.pressure, received)
        car.axle.value.spare.value!.pressure.value = 3
        car.axle.value.spare.value = nil
        car.axle.value = Axle(Wheel(1), spare: Wheel(4))
        car.axle.value = Axle(1)
        #expect(
            received.lines == [
                "valueChanged Optional(2) → Optional(3) @1", "pathChanged(depth: 1) Optional(3) → nil @2",
                "pathChanged(depth: 0) nil → Optional(4) @3", "pathChanged(depth: 0) Optional(4) → nil @4",
            ]
        )
        withExtendedLifetime(token) {}
    }

    @Test("P1 Two optional steps, and an end that is optional: one optional, whatever is nil")
    func flattened() {
        let car = Car(Axle(1), second: Axle(Wheel(1), spare: Wheel(2, warning: "low")))
        let received = ReceivedChanges<String?>()
        let token = car.observe(\.second.spare.warning, received)
        let spare = car.second.value!.spare.value!
        spare.warning.value = nil
        spare.warning.value = "flat"
        car.second.value!.spare.value = nil
        car.second.value!.spare.value = Wheel(3, warning: "new")
        car.second.value = nil
        car.second.value = Axle(4)
        car.second.value = Axle(Wheel(5), spare: Wheel(6))
        spare.warning.value = "gone"
        #expect(received.chain.map(\.new) == [nil, "flat", nil, "new", nil, nil, nil])
        #expect(
            received.changes.map(\.reason) == [
                .valueChanged, .valueChanged, .pathChanged(depth: 1), .pathChanged(depth: 1), .pathChanged(depth: 0),
                .pathChanged(depth: 0), .pathChanged(depth: 0),
            ]
        )
        #expect(received.mistakes(from: "low").isEmpty)
        withExtendedLifetime(token) {}
    }

    @Test("P1 Optional and other steps in turn, four of them")
    func fourSteps() {
        let fleet = Fleet(Car(1), best: Car(Axle(2), second: Axle(3)))
        let received = ReceivedChanges<Int?>()
        let token = fleet.observe(\.best.second.wheel.pressure, received)
        let best = fleet.best.value!
        best.second.value!.wheel.value = Wheel(4)
        best.second.value = nil
        fleet.best.value = nil
        best.second.value = Axle(-1)
        fleet.best.value = best
        fleet.best.value = Car(5)
        fleet.best.value!.second.value = Axle(6)
        #expect(received.chain.map(\.new) == [4, nil, nil, -1, nil, 6])
        #expect(
            received.changes.map(\.reason) == [
                .pathChanged(depth: 2), .pathChanged(depth: 1), .pathChanged(depth: 0), .pathChanged(depth: 0),
                .pathChanged(depth: 0), .pathChanged(depth: 1),
            ]
        )
        #expect(received.mistakes(from: 3).isEmpty)
        withExtendedLifetime(token) {}
    }

    @Test("P1 What the closure receives is one optional, without the types being written")
    func inferred() {
        let car = Car(Axle(1), second: Axle(Wheel(1, warning: "low")))
        let types = Log<String>()
        let tokens = [
            car.observe(\.axle.spare.pressure) { change in types.append("\(type(of: change))") },
            car.observe(\.second.wheel.pressure) { change in types.append("\(type(of: change))") },
            car.observe(\.second.wheel.warning) { change in types.append("\(type(of: change))") },
            car.observe(\.axle.wheel.warning) { change in types.append("\(type(of: change))") },
        ]
        car.axle.value.spare.value = Wheel(2)
        car.second.value!.wheel.value.pressure.value = 3
        car.second.value!.wheel.value.warning.value = nil
        car.axle.value.wheel.value.warning.value = "x"
        #expect(
            types.entries == [
                "Change<Optional<Int>>", "Change<Optional<Int>>", "Change<Optional<String>>",
                "Change<Optional<String>>",
            ]
        )
        withExtendedLifetime(tokens) {}
    }
}
