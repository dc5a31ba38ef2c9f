// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P19 Commits through paths")
    struct P19PathCommitTests {}
}

private struct Refusal: Error {}

extension Promises.P19PathCommitTests {
    @Test("P19 A commit changes the last properties of paths and other properties as one")
    func changes() {
        let (car, other) = (Car(1), Car(2))
        let fleet = Fleet(car)
        let pressure = fleet.property(\.car.axle.wheel.pressure)
        let group = Group(pressure, other.name, fleet.property(\.car.mileage))
        let left = group.commit { transaction in
            transaction[pressure] += 10
            transaction[pressure] *= 2
            transaction[other.name] = "\(transaction[pressure])"
            transaction[fleet.property(\.car.mileage)] = 7
            return transaction[car.mileage]
        }
        #expect(left == 7 && car.pressure == 22 && other.name.value == "22" && car.mileage.snapshot() == (7, 1))
        #expect(car.axle.value.wheel.value.pressure.version == 1)
        // Nothing on the way has changed.
        #expect(fleet.car.version == 0 && car.axle.version == 0 && car.axle.value.wheel.version == 0)
        fleet.car.value = other
        group.commit { transaction in transaction[pressure] = 5 }
        #expect(other.pressure == 5 && car.pressure == 22)
    }

    @Test("P19 The same property by several names is one member")
    func once() {
        let car = Car(1)
        let fleet = Fleet(car)
        let (long, short) = (fleet.property(\.car.mileage), car.property(\.mileage))
        PropertyList([long]).commit(reading: Group(long, short)) { transaction in
            transaction[long] = 3
            transaction[short] += transaction[car.mileage]
        }
        #expect(car.mileage.snapshot() == (6, 1))
    }

    @Test("P19 A body that throws changes no path, and releases what was on the way")
    func throwing() {
        let fleet = Fleet(Car(1))
        let pressure = fleet.property(\.car.axle.wheel.pressure)
        #expect(throws: Refusal.self) {
            try Group(pressure, fleet.best).commit { transaction throws(Refusal) in
                transaction[pressure] = 9
                throw Refusal()
            }
        }
        #expect(pressure.value == 1)
        fleet.car.value = Car(3)
        #expect(pressure.value == 3)
    }

    @Test("P19 A path that leads to no property reads as nil; setting it does nothing")
    func nowhere() {
        let (car, wheel) = (Car(1), Wheel(2, warning: "low"))
        let second = car.property(\.second.wheel.pressure)
        let warning = car.property(\.axle.spare.warning)
        let group = Group(second, warning, car.name)
        group.commit { transaction in
            #expect(transaction[second] == nil && !transaction.reaches(second) && !transaction.reaches(warning))
            transaction[second] = 5
            transaction[warning] = "none"
            transaction[car.name] = "Polo"
        }
        #expect(second.value == nil && car.name.value == "Polo" && wheel.warning.version == 0)
        car.axle.value.spare.value = wheel
        car.second.value = Axle(wheel)
        group.commit { transaction in
            #expect(transaction.reaches(second) && transaction.reaches(warning))
            transaction[second] = 5
            // The last property is one of an optional.
            transaction[warning] = nil
        }
        #expect(wheel.pressure.value == 5 && wheel.warning.snapshot() == (nil, 1))
    }

    @Test("P12 P19 A weak property on the way, and at the end")
    func weakly() {
        let root = Keeper()
        var leaf: WeakLeaf? = WeakLeaf()
        let number = root.property(\.leaf.number)
        root.leaf.value = leaf
        Group(number, root.count).commit { transaction in
            transaction[number] = 4
            // It stays until the commit is made.
            leaf = nil
            let leads = transaction.reaches(number)
            #expect(leads)
            transaction[root.count] = transaction[number] ?? 0
        }
        #expect(root.count.value == 4 && root.leaf.value == nil)
        Group(number, root.count).commit { transaction in
            let leads = transaction.reaches(number)
            #expect(!leads)
        }
        leaf = WeakLeaf()
        let path = Cupboard(root).property(\.keeper.leaf)
        Group(path, root.count).commit { transaction in
            #expect(transaction[path] == nil)
            transaction[path] = leaf
            #expect(transaction[root.leaf] === leaf)
        }
        #expect(root.leaf.value === leaf)
    }

    @Test("P19 What is on the way of a path does not change while the body runs")
    func heldStill() throws {
        let (first, second) = (Car(1), Car(2))
        let fleet = Fleet(first)
        let pressure = fleet.property(\.car.axle.wheel.pressure)
        let written = Signal("the write after the body")
        let writer = Slot<TestThread>()
        PropertyList([pressure]).commit { transaction in
            writer.put(
                TestThread {
                    fleet.car.value = second
                    written.happen()
                }
            )
            #expect(!written.happens(within: .milliseconds(5)))
            transaction[pressure] += 1
        }
        try written.wait()
        try writer.take()?.join()
        #expect(first.pressure == 2 && second.pressure == 2 && pressure.value == 2)
    }

    @Test("P19 A path that is led elsewhere before the commit has its locks is followed again; no body runs twice")
    func followedAgain() {
        let (first, second) = (Gauge.Part(0), Slot<Gauge.Part>())
        let gauge = Slot<Gauge>()
        let target = Gauge.Part(10)
        // Runs while the commit follows the path, after it has read the property before.
        let led = Gauge.Part(5) { gauge.value!.part.value = target }
        second.put(led)
        gauge.put(Gauge(first))
        gauge.value!.part.value = led
        let number = gauge.value!.property(\.part.number)
        let bodies = Counter()
        Group(number, first.number).commit { transaction in
            bodies.increment()
            transaction[number] += 1
        }
        #expect(bodies.value == 1)
        #expect(target.number.snapshot() == (11, 1) && led.number.snapshot() == (5, 0))
    }

    @Test("P19 The body leads a path to a member's object: from then on the path is that object's property")
    func ledByTheBody() {
        let (first, second) = (Car(1), Car(2))
        let fleet = Fleet(first)
        let mileage = fleet.property(\.car.mileage)
        Group(mileage, fleet.car, second.mileage).commit { transaction in
            transaction[mileage] = 10
            transaction[fleet.car] = second
            #expect(transaction[mileage] == 0)
            transaction[mileage] = 20
        }
        #expect(first.mileage.value == 10 && second.mileage.value == 20 && mileage.value == 20)
    }

    @Test("P19 Beside replacements, what commits add through a path is added to the object that is there, once")
    func beside() throws {
        let cars = [Car(0), Car(0)]
        let fleet = Fleet(cars[0])
        let mileage = fleet.property(\.car.mileage)
        let (bodies, wrong) = (Counter(), Counter())
        let replacer = Hammer(threads: 1) {
            for car in cars { fleet.car.value = car }
        }
        try replacer.waitUntilWarm()
        try onThreads(2) { index in
            let group = index == 0 ? Group(mileage, cars[0].name) : Group(fleet.property(\.car.mileage), cars[0].name)
            for _ in 0..<2_000 {
                group.commit { transaction in
                    bodies.increment()
                    let present = transaction[mileage]
                    transaction[mileage] = present + 1
                    if fleet.car.value.mileage.value != present { wrong.increment() }
                }
            }
        }
        try replacer.stop()
        #expect(bodies.value == 4_000 && wrong.value == 0)
        #expect(cars[0].mileage.value + cars[1].mileage.value == 4_000)
    }
}

// MARK: - What observers receive

extension Promises.P19PathCommitTests {
    @Test(
        "P21 A commit that changes a property on the way of a path and the last one is received once",
        arguments: [false, true]
    )
    func linkAndLeaf(isSerial: Bool) {
        for _ in 0..<20 {
            let (first, second) = (Car(1), Car(2))
            let fleet = Fleet(first)
            let pressure = fleet.property(\.car.axle.wheel.pressure)
            let log = Log<String>()
            let token = pressure.observe(delivery: isSerial ? .serial() : .inline) { log.append($0.line) }
            let (left, right) = (first.property(\.axle.wheel.pressure), second.property(\.axle.wheel.pressure))
            Group(left, right, fleet.car).commit { transaction in
                transaction[left] = 10
                transaction[fleet.car] = second
                transaction[right] = 20
            }
            #expect(log.entries == ["pathChanged(depth: 0) 1 → 20 @1"])
            // As always afterwards.
            second.setPressure(21)
            first.setPressure(11)
            Group(left, fleet.car).commit { transaction in
                transaction[left] = 12
                transaction[fleet.car] = first
            }
            #expect(
                log.entries.dropFirst() == [
                    "valueChanged 20 → 21 @2", "pathChanged(depth: 0) 21 → 12 @3",
                ]
            )
            token.cancel()
        }
    }

    @Test("P21 A commit that changes the last property and any one on the way is received once", arguments: 0..<3)
    func anyLink(depth: Int) {
        let (car, other) = (Car(1), Car(2))
        let fleet = Fleet(car)
        let pressure = fleet.property(\.car.axle.wheel.pressure)
        let log = Log<String>()
        let token = pressure.observe { log.append($0.line) }
        for round in 0..<2 {
            // In the second round the path has been relinked below the first property.
            if round == 1 { fleet.car.value = Car(3) }
            let old = fleet.car.value
            let end = old.axle.value.wheel.value.pressure
            Group(end, fleet.car, old.axle, old.axle.value.wheel).commit { transaction in
                transaction[end] = 9
                switch depth {
                case 0: transaction[fleet.car] = other
                case 1: transaction[old.axle] = other.axle.value
                default: transaction[old.axle.value.wheel] = other.axle.value.wheel.value
                }
            }
        }
        #expect(
            log.entries == [
                "pathChanged(depth: \(depth)) 1 → 2 @1", "pathChanged(depth: 0) 2 → 3 @2",
                "pathChanged(depth: \(depth)) 3 → 2 @3",
            ]
        )
        token.cancel()
    }

    @Test("P21 A path that goes on through what a commit changes, and two of its steps")
    func twoLinks() {
        let (first, second) = (Car(1), Car(2))
        let fleet = Fleet(first)
        let pressure = fleet.property(\.car.axle.wheel.pressure)
        let log = Log<String>()
        let token = pressure.observe { log.append("\($0.old ?? -1) → \($0.new) @\($0.version)") }
        let wheel = Wheel(7)
        Group(first.axle, fleet.property(\.car.axle.wheel.pressure), first.axle.value.wheel).commit { transaction in
            transaction[pressure] = 5
            transaction[first.axle.value.wheel] = wheel
            transaction[first.axle] = second.axle.value
        }
        #expect(log.entries == ["1 → 2 @1"])
        token.cancel()
    }
}

private final class WeakLeaf: ConcurrentObservable, WeaklyObservable {
    let lifetime = ReferentLifetime()
    let number = Observed(0)
}

private final class Keeper: ConcurrentObservable {
    let leaf = WeakObserved<WeakLeaf>()
    let count = Observed(0)
}

private final class Cupboard: ConcurrentObservable {
    let keeper: Observed<Keeper>
    init(_ keeper: Keeper) { self.keeper = Observed(keeper) }
}
