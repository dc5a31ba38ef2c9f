// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P1 Changes of paths")
    struct P01PathTests {}
}

// MARK: - One to four steps

extension Promises.P01PathTests {
    @Test("P1 A path of one step is the property, with its versions")
    func oneStep() {
        let car = Car(1)
        car.name.value = "Golf"
        let received = ReceivedChanges<String>()
        let token = car.observe(\.name, received, options: .initial)
        car.name.value = "Polo"
        car.mileage.value = 7
        #expect(received.lines == ["initial - → Golf @1", "valueChanged Golf → Polo @2"])
        #expect(car.name.observationCount == 1)
        withExtendedLifetime(token) {}
    }

    @Test("P1 Two steps: the end, the step, the new end, not the old one")
    func twoSteps() {
        let axle = Axle(1)
        let old = axle.wheel.value
        let received = ReceivedChanges<Int>()
        let token = axle.observe(\.wheel.pressure, received)
        old.pressure.value = 2
        axle.wheel.value = Wheel(10)
        old.pressure.value = 3
        axle.wheel.value.pressure.value = 11
        #expect(
            received.lines == ["valueChanged 1 → 2 @1", "pathChanged(depth: 0) 2 → 10 @2", "valueChanged 10 → 11 @3"]
        )
        withExtendedLifetime(token) {}
    }

    @Test(
        "P1 Three steps: each replacement has the depth of its step, and changes of what was led to before are not delivered"
    )
    func threeSteps() {
        let car = Car(1)
        let received = ReceivedChanges<Int>()
        let token = car.observe(\.axle.wheel.pressure, received)
        let (firstAxle, firstWheel) = (car.axle.value, car.axle.value.wheel.value)
        car.setPressure(2)
        firstAxle.wheel.value = Wheel(10)
        let secondWheel = firstAxle.wheel.value
        car.axle.value = Axle(20)
        // All that the path does not lead through any more.
        firstWheel.pressure.value = -1
        secondWheel.pressure.value = -2
        firstAxle.wheel.value = Wheel(-3)
        car.setPressure(21)
        #expect(
            received.lines == [
                "valueChanged 1 → 2 @1", "pathChanged(depth: 1) 2 → 10 @2", "pathChanged(depth: 0) 10 → 20 @3",
                "valueChanged 20 → 21 @4",
            ]
        )
        withExtendedLifetime(token) {}
    }

    @Test("P1 Four steps")
    func fourSteps() {
        let fleet = Fleet(Car(1))
        let received = ReceivedChanges<Int>()
        let token = fleet.observe(\.car.axle.wheel.pressure, received)
        let old = fleet.car.value
        fleet.car.value.axle.value.wheel.value = Wheel(2)
        fleet.car.value.axle.value = Axle(3)
        fleet.car.value = Car(4)
        old.setPressure(-1)
        old.axle.value = Axle(-2)
        fleet.car.value.setPressure(5)
        fleet.car.value.axle.value.wheel.value = Wheel(6)
        #expect(
            received.lines == [
                "pathChanged(depth: 2) 1 → 2 @1", "pathChanged(depth: 1) 2 → 3 @2", "pathChanged(depth: 0) 3 → 4 @3",
                "valueChanged 4 → 5 @4", "pathChanged(depth: 2) 5 → 6 @5",
            ]
        )
        withExtendedLifetime(token) {}
    }
}

// MARK: - Which changes are delivered

extension Promises.P01PathTests {
    @Test("P1 Changes are delivered on the thread that makes them, before it goes on")
    func thread() throws {
        let car = Car(1)
        let threads = Log<Int>()
        let token = car.observe(\.axle.wheel.pressure) { (_: Change<Int>) in threads.append(threadNumber()) }
        let expected = Log<Int>()
        for _ in 0..<2 {
            try onNewThread {
                car.setPressure(2)
                if threads.count % 2 == 1 { expected.append(threadNumber()) }
                car.axle.value = Axle(3)
                if threads.count % 2 == 0 { expected.append(threadNumber()) }
            }
        }
        #expect(threads.count == 4)
        #expect(threads.entries == expected.entries)
        withExtendedLifetime(token) {}
    }

    @Test("P1 A step set to the object that is there already is a change of the path, and the end is delivered once")
    func sameObject() {
        let car = Car(1)
        let received = ReceivedChanges<Int>()
        let token = car.observe(\.axle.wheel.pressure, received)
        let axle = car.axle.value
        for _ in 0..<3 { car.axle.value = axle }
        car.setPressure(2)
        #expect(
            received.lines == [
                "pathChanged(depth: 0) 1 → 1 @1", "pathChanged(depth: 0) 1 → 1 @2", "pathChanged(depth: 0) 1 → 1 @3",
                "valueChanged 1 → 2 @4",
            ]
        )
        withExtendedLifetime(token) {}
    }

    @Test("P1 A step is led away and back: its changes meanwhile are not delivered, later ones are")
    func backAgain() {
        let axle = Axle(1)
        let (first, second) = (axle.wheel.value, Wheel(10))
        let received = ReceivedChanges<Int>()
        let token = axle.observe(\.wheel.pressure, received)
        axle.wheel.value = second
        first.pressure.value = 2
        axle.wheel.value = first
        second.pressure.value = 11
        first.pressure.value = 3
        #expect(
            received.lines == [
                "pathChanged(depth: 0) 1 → 10 @1", "pathChanged(depth: 0) 10 → 2 @2", "valueChanged 2 → 3 @3",
            ]
        )
        withExtendedLifetime(token) {}
    }

    @Test("P1 Every kind of change of a property is delivered, at the end and on the way")
    func everyChange() {
        let car = Car(1)
        let received = ReceivedChanges<Int>()
        let token = car.observe(\.axle.wheel.pressure, received)
        let pressure = car.axle.value.wheel.value.pressure
        pressure.modify { $0 += 1 }
        pressure.exchange(3)
        pressure.compareExchange(expected: 3, desired: 4)
        pressure.compareExchange(expected: 3, desired: 5)
        car.axle.modify { $0 = Axle(10) }
        car.axle.exchange(Axle(20))
        #expect(received.chain.map(\.new) == [2, 3, 4, 10, 20])
        #expect(received.mistakes(from: 1).isEmpty)
        withExtendedLifetime(token) {}
    }

    @Test("P1 An intermediate object that dies is a path change, not the end of the source")
    func intermediateDies() throws {
        let lives = Lives()
        let car = Car(Axle(Wheel(1, life: lives.make()), life: lives.make()))
        let received = ReceivedChanges<Int>()
        let token = car.observe(\.axle.wheel.pressure, received)
        car.axle.value = Axle(2)
        try lives.waitUntilNoneIsLeft()
        try Process.settle()
        car.setPressure(3)
        #expect(token.isActive)
        #expect(received.lines == ["pathChanged(depth: 0) 1 → 2 @1", "valueChanged 2 → 3 @2"])
    }

    @Test("P1 Two observers of one path receive all, independently; two objects of one class, each its own")
    func several() {
        let cars = [Car(1), Car(2)]
        let received = (0..<3).map { _ in ReceivedChanges<Int>() }
        let tokens = [0, 0, 1].enumerated().map { index, car in
            cars[car].observe(\.axle.wheel.pressure, received[index])
        }
        cars[0].setPressure(10)
        cars[1].axle.value = Axle(20)
        #expect(received[0].lines == ["valueChanged 1 → 10 @1"])
        #expect(received[1].lines == received[0].lines)
        #expect(received[2].lines == ["pathChanged(depth: 0) 2 → 20 @1"])
        withExtendedLifetime(tokens) {}
    }

    @Test("P1 A path through one object to itself, and one whose steps share an end")
    func shared() {
        let wheel = Wheel(1)
        let car = Car(Axle(wheel, spare: wheel), second: Axle(wheel))
        let (received, spare, second) = (ReceivedChanges<Int>(), ReceivedChanges<Int?>(), ReceivedChanges<Int?>())
        let tokens = [
            car.observe(\.axle.wheel.pressure, received), car.observe(\.axle.spare.pressure, spare),
            car.observe(\.second.wheel.pressure, second),
        ]
        wheel.pressure.value = 2
        car.axle.value.spare.value = nil
        wheel.pressure.value = 3
        #expect(received.chain.map(\.new) == [2, 3])
        #expect(spare.chain.map(\.new) == [2, nil])
        #expect(second.chain.map(\.new) == [2, 3])
        withExtendedLifetime(tokens) {}
    }
}
