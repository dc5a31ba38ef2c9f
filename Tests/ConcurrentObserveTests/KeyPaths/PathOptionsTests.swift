// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P1, P4 What an observer of a path receives")
    struct PathOptionsTests {}
}

extension Promises.PathOptionsTests {
    @Test("P1 Every change has both values, whatever is replaced; the end comes after them")
    func sides() throws {
        let car = Slot(Car(Axle(1), second: Axle(5)))
        let (received, second) = (ReceivedChanges<Int>(), ReceivedChanges<Int?>())
        let tokens = [
            car.value!.observe(\.axle.wheel.pressure, received).recordEnd(to: received),
            car.value!.observe(\.second.wheel.pressure, second).recordEnd(to: second),
        ]
        car.value!.setPressure(2)
        car.value!.axle.value = Axle(3)
        car.value!.second.value = nil
        car.clear()
        try received.ended.wait()
        try second.ended.wait()
        #expect(received.lines == ["valueChanged 1 → 2 @1", "pathChanged(depth: 0) 2 → 3 @2", "sourceDeleted"])
        #expect(second.lines == ["pathChanged(depth: 0) Optional(5) → nil @1", "sourceDeleted"])
        withExtendedLifetime(tokens) {}
    }

    @Test("P1 A prior delivery comes before each change of the end, with its old value; none before a replacement")
    func prior() {
        let car = Car(1)
        let received = ReceivedChanges<Int>()
        let seen = Log<Int>()
        let token = car.observe(\.axle.wheel.pressure, options: .prior) { (change: Change<Int>) in
            received.append(change)
            seen.append(car.pressure)
        }
        car.setPressure(2)
        car.axle.value = Axle(10)
        car.setPressure(11)
        car.axle.value.wheel.value = Wheel(20)
        #expect(
            received.lines == [
                "prior - → 1 @0", "valueChanged 1 → 2 @1", "pathChanged(depth: 0) 2 → 10 @2", "prior - → 10 @2",
                "valueChanged 10 → 11 @3", "pathChanged(depth: 1) 11 → 20 @4",
            ]
        )
        #expect(seen.entries == [1, 2, 10, 10, 11, 20])
        token.cancel()
    }

    @Test("P1 The prior deliveries of an end that the path has left are not delivered")
    func stalePrior() {
        let car = Car(1)
        let received = ReceivedChanges<Int>()
        let token = car.observe(\.axle.wheel.pressure, received, options: [.prior])
        let old = car.axle.value
        car.axle.value = Axle(2)
        old.wheel.value.pressure.value = 3
        #expect(received.lines == ["pathChanged(depth: 0) 1 → 2 @1"])
        withExtendedLifetime(token) {}
    }
}

// MARK: - The initial delivery

extension Promises.PathOptionsTests {
    @Test(
        "P4 Initial: once, before observe returns, at version 0, not repeated when the path is relinked",
        arguments: 2...4
    )
    func initial(steps: Int) throws {
        let fleet = Fleet(Car(Axle(1)))
        let received = ReceivedChanges<Int>()
        let threads = Log<Int>()
        try onNewThread {
            let body: @Sendable (Change<Int>) -> Void = { change in
                received.append(change)
                threads.append(threadNumber())
            }
            fleet.car.value.setPressure(2)
            let options: ObservationOptions = .initial
            let token =
                switch steps {
                case 2: fleet.car.value.axle.value.observe(\.wheel.pressure, options: options, body)
                case 3: fleet.car.value.observe(\.axle.wheel.pressure, options: options, body)
                default: fleet.observe(\.car.axle.wheel.pressure, options: options, body)
                }
            #expect(received.lines == ["initial - → 2 @0"])
            #expect(threads.entries == [threadNumber()])
            fleet.car.value.axle.value.wheel.value = Wheel(3)
            #expect(received.lines.dropFirst() == ["pathChanged(depth: \(steps - 2)) 2 → 3 @1"])
            token.cancel()
        }
    }

    @Test("P4 Initial alone, and initial with prior deliveries")
    func initialAlone() {
        let car = Car(1)
        let (alone, prior) = (ReceivedChanges<Int>(), ReceivedChanges<Int>())
        let tokens = [
            car.observe(\.axle.wheel.pressure, alone, options: .initial),
            car.observe(\.axle.wheel.pressure, prior, options: [.initial, .prior]),
        ]
        car.setPressure(2)
        #expect(alone.lines == ["initial - → 1 @0", "valueChanged 1 → 2 @1"])
        #expect(prior.lines == ["initial - → 1 @0", "prior - → 1 @0", "valueChanged 1 → 2 @1"])
        withExtendedLifetime(tokens) {}
    }

    @Test("P4 Initial with a nil step delivers nil")
    func initialNil() {
        let car = Car(1)
        let (pressure, warning) = (ReceivedChanges<Int?>(), ReceivedChanges<String?>())
        let tokens = [
            car.observe(\.second.wheel.pressure, pressure, options: .initial),
            car.observe(\.axle.spare.warning, warning, options: .initial),
        ]
        #expect(pressure.lines == ["initial - → nil @0"])
        #expect(warning.lines == ["initial - → nil @0"])
        withExtendedLifetime(tokens) {}
    }

    @Test("P4 Initial among writers of all steps: once, and the versions after it begin with its value")
    func initialAmongWriters() throws {
        let wheels = (0..<3).map { Wheel($0) }
        let car = Car(Axle(wheels[0]))
        let steps = Counter()
        let writers = Hammer(threads: 2) {
            let step = steps.increment()
            switch step % 8 {
            case 0: car.axle.value = Axle(wheels[step % 3])
            case 1, 2: car.axle.value.wheel.value = wheels[step / 8 % 3]
            default: wheels[step % 3].pressure.value = step
            }
        }
        try writers.waitUntilWarm()
        let observers = (0..<60).map { _ in ReceivedChanges<Int>() }
        for received in observers {
            let token = car.observe(\.axle.wheel.pressure, received, options: .initial)
            #expect(received.changes.contains { $0.reason == .initial })
            let seen = steps.value
            while steps.value < seen + 20 { briefPause() }
            token.cancelAndWaitBlocking()
        }
        try writers.stop()
        for received in observers {
            let initials = received.changes.filter { $0.reason == .initial }
            #expect(initials.map(\.version) == [0])
            // Cancelled in the middle: of the last versions some may be missing.
            var before = initials[0].new
            for (index, change) in received.chain.enumerated() where change.version == UInt64(index) + 1 {
                #expect(change.old == before)
                before = change.new
            }
        }
        try Process.settle()
    }
}
