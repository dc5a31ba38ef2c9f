// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P6 Callbacks of paths may do anything")
    struct P06PathReentrancyTests {}
}

extension Promises.P06PathReentrancyTests {
    @Test("P6 A callback replaces a step, at any depth, while the end's change is delivered", arguments: 0..<3)
    func replacesAStep(depth: Int) {
        let fleet = Fleet(Car(0))
        let received = ReceivedChanges<Int>()
        let token = fleet.observe(\.car.axle.wheel.pressure) { (change: Change<Int>) in
            received.append(change)
            guard change.reason == .valueChanged else { return }
            let new = change.new
            switch depth {
            case 0: fleet.car.value = Car(new * 10)
            case 1: fleet.car.value.axle.value = Axle(new * 10)
            default: fleet.car.value.axle.value.wheel.value = Wheel(new * 10)
            }
        }
        for number in 1...3 { fleet.car.value.setPressure(number) }
        #expect(received.chain.map(\.new) == [1, 10, 2, 20, 3, 30])
        #expect(received.mistakes(from: 0).isEmpty)
        withExtendedLifetime(token) {}
    }

    @Test("P6 A callback replaces a step while a replacement is delivered: nested, in order, and it ends")
    func replacesInReplacement() {
        let car = Car(0)
        let received = ReceivedChanges<Int>()
        let token = car.observe(\.axle.wheel.pressure) { (change: Change<Int>) in
            received.append(change)
            let new = change.new
            guard new < 50 else { return }
            if new.isMultiple(of: 2) {
                car.axle.value = Axle(new + 1)
            } else {
                car.axle.value.wheel.value = Wheel(new + 1)
            }
        }
        car.axle.value = Axle(1)
        #expect(received.chain.map(\.new) == Array(1...50))
        #expect(received.mistakes(from: 0).isEmpty)
        withExtendedLifetime(token) {}
    }

    @Test("P6 A callback changes the end: of the new property, delivered after the present one")
    func changesTheEnd() {
        let car = Car(0)
        let received = ReceivedChanges<Int>()
        let token = car.observe(\.axle.wheel.pressure) { (change: Change<Int>) in
            received.append(change)
            if case .pathChanged = change.reason { car.setPressure(change.new + 1) }
        }
        car.axle.value = Axle(10)
        car.axle.value.wheel.value = Wheel(20)
        #expect(received.chain.map(\.new) == [10, 11, 20, 21])
        #expect(received.mistakes(from: 0).isEmpty)
        withExtendedLifetime(token) {}
    }

    @Test("P6 A sets B sets A over paths: it ends")
    func backAndForth() {
        let (left, right) = (Car(0), Car(0))
        let tokens = [(left, right), (right, left)].map { from, to in
            from.observe(\.axle.wheel.pressure) { (change: Change<Int>) in
                if change.new < 40 { to.axle.value = Axle(change.new + 1) }
            }
        }
        left.setPressure(1)
        #expect(max(left.pressure, right.pressure) == 40)
        withExtendedLifetime(tokens) {}
    }

    @Test("P6 A callback observes the path: the new observer receives the later changes")
    func observes() {
        let car = Car(0)
        let inner = ReceivedChanges<Int>()
        let tokens = Log<ObservationToken>()
        tokens.append(
            car.observe(\.axle.wheel.pressure) { (change: Change<Int>) in
                if change.version <= 2 { tokens.append(car.observe(\.axle.wheel.pressure, inner)) }
            }
        )
        car.setPressure(1)
        #expect(inner.count == 0)
        car.axle.value = Axle(2)
        #expect(tokens.count == 3)
        let before = inner.count
        car.setPressure(3)
        #expect(inner.count == before + 2)
        #expect(before <= 1)
        // The closure keeps them otherwise.
        for token in tokens.entries { token.cancel() }
    }

    @Test("P6 The path's own callback drops the root: the end comes after it, once", arguments: [false, true])
    func dropsTheRoot(replacing: Bool) throws {
        let lives = Lives()
        let car = Slot(Car(Axle(1), life: lives.make()))
        let axle = car.value!.axle.value
        let received = ReceivedChanges<Int>()
        let isInside = Flag()
        let early = Counter()
        let token = car.value!.observe(\.axle.wheel.pressure) { (change: Change<Int>) in
            received.append(change)
            car.clear()
            isInside.set()
        }
        token.onEnd { end in
            if !isInside.isSet { early.increment() }
            received.append(end)
        }
        if replacing { axle.wheel.value = Wheel(2) } else { axle.wheel.value.pressure.value = 2 }
        axle.wheel.value.pressure.value = 3
        axle.wheel.value = Wheel(4)
        #expect(lives.alive == 0)
        try received.ended.wait()
        try Process.settle()
        #expect(early.value == 0)
        #expect(
            received.lines == [replacing ? "pathChanged(depth: 1) 1 → 2 @1" : "valueChanged 1 → 2 @1", "sourceDeleted"]
        )
        #expect(!token.isActive)
    }

    @Test("P6 A callback drops the root while the root's own step is being replaced")
    func dropsTheRootInItsReplacement() throws {
        let car = Slot(Car(1))
        let received = ReceivedChanges<Int>()
        let token = car.value!.observe(\.axle.wheel.pressure) { (change: Change<Int>) in
            received.append(change)
            car.clear()
        }
        token.recordEnd(to: received)
        car.value!.axle.value = Axle(2)
        try received.ended.wait()
        #expect(received.lines == ["pathChanged(depth: 0) 1 → 2 @1", "sourceDeleted"])
        withExtendedLifetime(token) {}
    }

    @Test("P6 Key paths and models may do what they like while a path is linked")
    func linkingIsUserCode() throws {
        let part = Gauge.Part(1)
        let gauge = Gauge(part)
        let received = ReceivedChanges<Int>()
        let token = gauge.observe(\.part.number, received)
        // While the path is linked to the second part, it is led on to the third.
        let third = Gauge.Part(3)
        gauge.part.value = Gauge.Part(2) { gauge.part.value = third }
        third.number.value = 4
        #expect(received.chain.last?.new == 4)
        #expect(received.mistakes(from: 1).isEmpty)
        withExtendedLifetime(token) {}
    }
}
