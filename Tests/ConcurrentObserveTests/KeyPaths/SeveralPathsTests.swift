// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P1, P12 Several paths in one call")
    struct SeveralPathsTests {}
}

extension Promises.SeveralPathsTests {
    @Test("P1 Paths of different types: each is heard alone, with its number and the values of all")
    func different() {
        let car = Car(Axle(1), second: nil)
        let heard = Log<String>()
        let token = car.observe(all: \.name, \.axle.wheel.pressure, \.second.wheel.pressure, \.mileage) {
            (changed, name: String, pressure: Int, second: Int?, mileage: Int) in
            heard.append("\(changed): \(name) \(pressure) \(second.map(String.init) ?? "nil") \(mileage)")
        }
        car.name.value = "Golf"
        car.setPressure(2)
        car.axle.value = Axle(3)
        car.second.value = Axle(4)
        car.mileage.modify { $0 += 7 }
        car.second.value = nil
        #expect(
            heard.entries == [
                "0: Golf 1 nil 0", "1: Golf 2 nil 0", "1: Golf 3 nil 0", "2: Golf 3 4 0", "3: Golf 3 4 7",
                "2: Golf 3 nil 7",
            ]
        )
        withExtendedLifetime(token) {}
    }

    @Test("P1 One path, and an array of paths of one type, one of them twice")
    func oneType() {
        let car = Car(Axle(Wheel(1), spare: Wheel(2)))
        let (alone, heard) = (Log<String>(), Log<String>())
        let paths: [PathTo<Car, Int>] = [\.mileage, \.axle.wheel.pressure, \.mileage]
        let tokens = [
            car.observe(all: \.mileage) { changed, mileage in alone.append("\(changed): \(mileage)") },
            car.observe(all: paths) { changed, values in heard.append("\(changed): \(values)") },
        ]
        car.setPressure(5)
        car.mileage.value = 9
        #expect(alone.entries == ["0: 9"])
        #expect(heard.entries == ["1: [0, 5, 0]", "0: [9, 5, 9]", "2: [9, 5, 9]"])
        withExtendedLifetime(tokens) {}
    }

    @Test("P12 When the root dies the observation ends, and the body is not called; no objects are kept")
    func rootDies() throws {
        let lives = Lives()
        let car = Slot(Car(Axle(1, life: lives.make()), life: lives.make()))
        let calls = Counter()
        let ends = Log<ObservationEnd>()
        let captured = Slot(lives.make())
        let paths: [PathTo<Car, Int>] = [\.mileage, \.axle.wheel.pressure]
        let tokens = [
            car.value!.observe(all: \.name, \.axle.wheel.pressure) { [life = captured.take()] _, _, _ in
                life?.touch()
                calls.increment()
            },
            car.value!.observe(all: paths) { _, _ in calls.increment() },
        ]
        for token in tokens { token.onEnd { ends.append($0) } }
        car.value!.mileage.value = 1
        #expect(calls.value == 1)
        car.clear()
        #expect(tokens.allSatisfy { !$0.isActive })
        try lives.waitUntilNoneIsLeft()
        try eventually("the ends") { ends.count == 2 }
        #expect(ends.entries == [.sourceDeleted, .sourceDeleted])
        #expect(calls.value == 1)
    }

    /// A way to end an observation from outside.
    enum Way: String, CaseIterable, Sendable { case cancel, cancelAndWait, drop }

    @Test("P8 P9 P10 Ended, no path is heard, and no property has observers any more", arguments: Way.allCases)
    func ended(way: Way) throws {
        let car = Car(1)
        let lives = Lives()
        let calls = Counter()
        let life = Slot(lives.make())
        let token = Slot(
            car.observe(all: \.name, \.axle.wheel.pressure) { [life = life.take()] _, _, _ in
                life?.touch()
                calls.increment()
            }
        )
        car.name.value = "Golf"
        switch way {
        case .cancel: token.value!.cancel()
        case .cancelAndWait:
            token.value!.cancelAndWaitBlocking()
            #expect(lives.alive == 0)
        case .drop: token.clear()
        }
        car.name.value = "Polo"
        car.setPressure(2)
        car.axle.value = Axle(3)
        #expect(calls.value == 1)
        try lives.waitUntilNoneIsLeft()
        try eventually("the end of what observes the paths") { car.name.observerCount == 0 }
    }

    @Test("P3 A value that is made of several paths is the right one once the writers have returned: 10,000 rounds")
    func combination() throws {
        let (cars, meetings) = ((0..<100).map { _ in Car(0) }, 100)
        let sums = cars.map { _ in Observed(0) }
        let (finished, wrong, line) = (Counter(), Counter(), StartingLine(2))
        let tokens = zip(cars, sums).map { car, sum in
            car.observe(all: \.mileage, \.axle.wheel.pressure) { _, mileage, pressure in
                let result = mileage + pressure
                // Something between reading and storing, of any length.
                for _ in 0..<(result &* 7919 % 5) { briefWork() }
                sum.value = result
                finished.increment()
            }
        }
        try onThreads(2) { index in
            for meeting in 1...meetings {
                line.wait()
                for car in cars { if index == 0 { car.mileage.value = meeting } else { car.setPressure(meeting) } }
                line.wait()
                guard index == 0 else { continue }
                // A writer that found the other one at it has left its change there.
                while finished.value < meeting * cars.count * 2 { briefWork() }
                for sum in sums where sum.value != meeting * 2 { wrong.increment() }
            }
        }
        #expect(wrong.value == 0)
        withExtendedLifetime(tokens) {}
    }

    @Test(
        "P3 P4 The present values come first; then versions 1, 2, 3, …, one call at a time, with values that never go back"
    )
    func versions() throws {
        let car = Car(0)
        let lines = Log<String>()
        let alone = car.observe(all: \.name, \.mileage, includingInitial: true) { change, name, mileage in
            lines.append("\(change.path.map { "\($0)" } ?? "-") @\(change.version): \(name) \(mileage)")
        }
        car.mileage.value = 3
        car.name.value = "Golf"
        #expect(lines.entries == ["- @0: Beetle 0", "1 @1: Beetle 3", "0 @2: Golf 3"])
        alone.cancel()

        let heard = Log<(change: CombinedChange, values: [Int])>()
        let (inside, overlapping) = (Counter(), Counter())
        let token = Slot<ObservationToken>()
        try onThreads(3) { index in
            switch index {
            case 0:
                token.put(
                    car.observe(all: [\.mileage, \.axle.wheel.pressure], includingInitial: true) { change, values in
                        if inside.increment() > 1 { overlapping.increment() }
                        heard.append((change, values))
                        inside.add(-1)
                    }
                )
            case 1: for number in 4...500 { car.mileage.value = number }
            default: for number in 4...500 { car.setPressure(number) }
            }
        }
        try token.value!.waitUntilIdle()
        #expect(waitsForTheEnd(of: token.value!))
        let entries = heard.entries
        #expect(overlapping.value == 0)
        #expect(entries.map(\.change.version) == Array(0..<UInt64(entries.count)))
        #expect(entries.first?.change.path == nil && entries.dropFirst().allSatisfy { $0.change.path != nil })
        for path in 0..<2 {
            #expect(zip(entries, entries.dropFirst()).allSatisfy { $0.values[path] <= $1.values[path] })
        }
        #expect(entries.last?.values == [500, 500])
    }

    @Test("P6 P12 A change that the callback makes is delivered after it; the end comes last, and at once")
    func fromWithin() {
        let car = Slot(Car(0))
        let (lines, ends) = (Log<String>(), Log<ObservationEnd>())
        let token = car.value!.observe(all: \.mileage, \.axle.wheel.pressure) {
            [held = Weak(car.value!)] changed, mileage, pressure in
            if pressure == 0 { held.object!.setPressure(2) }
            lines.append("\(changed): \(mileage) \(pressure)")
        }
        token.onEnd { ends.append($0) }
        car.value!.mileage.value = 1
        #expect(lines.entries == ["0: 1 0", "1: 1 2"])
        car.clear()
        #expect(!token.isActive)
        #expect(lines.count == 2)
    }

    @Test("P1 P3 Writers of all paths: every change is heard, and the last call has the present values")
    func writers() throws {
        let car = Car(0)
        let heard = Log<(changed: Int, mileage: Int, pressure: Int)>()
        let token = car.observe(all: \.mileage, \.axle.wheel.pressure) { changed, mileage, pressure in
            heard.append((changed, mileage, pressure))
        }
        try onThreads(2) { thread in
            for number in 1...500 { if thread == 0 { car.mileage.value = number } else { car.setPressure(number) } }
        }
        try eventually("the last of 1,000 changes") { heard.count == 1_000 }
        for path in 0..<2 { #expect(heard.entries.filter { $0.changed == path }.count == 500) }
        #expect(heard.entries.last.map { $0.mileage == 500 && $0.pressure == 500 } == true)
        withExtendedLifetime(token) {}
    }
}

extension Axle {
    fileprivate convenience init(_ pressure: Int, life: Life) { self.init(Wheel(pressure), life: life) }
}

/// Some microseconds.
private func briefWork() { for _ in 0..<10 { _ = threadNumber() } }
