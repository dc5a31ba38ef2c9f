// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P2, P3 Versions of paths")
    struct P02PathVersionsTests {}
}

// MARK: - One writer

extension Promises.P02PathVersionsTests {
    @Test("P2 One writer: versions 1, 2, 3, …, each beginning with the value that the one before has left")
    func oneWriter() {
        let fleet = Fleet(Car(0))
        let received = ReceivedChanges<Int>()
        let token = fleet.observe(\.car.axle.wheel.pressure, received)
        for number in 1...200 {
            switch number % 7 {
            case 0: fleet.car.value = Car(number)
            case 1: fleet.car.value.axle.value = Axle(number)
            case 2: fleet.car.value.axle.value.wheel.value = Wheel(number)
            default: fleet.car.value.setPressure(number)
            }
        }
        #expect(received.mistakes(from: 0).isEmpty)
        #expect(received.chain.map(\.new) == Array(1...200))
        withExtendedLifetime(token) {}
    }

    @Test("P2 A path's versions are its own: those of the end, changed long before, do not show")
    func ownVersions() {
        let car = Car(0)
        for number in 1...9 { car.setPressure(number) }
        let received = ReceivedChanges<Int>()
        let token = car.observe(\.axle.wheel.pressure, received)
        car.setPressure(10)
        let other = Axle(0)
        for number in 1...5 { other.wheel.value.pressure.value = number }
        car.axle.value = other
        car.setPressure(11)
        #expect(received.lines.map { $0.suffix(2) } == ["@1", "@2", "@3"])
        withExtendedLifetime(token) {}
    }

    @Test("P2 A step is replaced in the body of the end's own modify: that change belongs to the path no more")
    func replacedInBody() {
        let car = Car(1)
        let received = ReceivedChanges<Int>()
        let token = car.observe(\.axle.wheel.pressure, received)
        let old = car.axle.value.wheel.value
        old.pressure.modify { pressure in
            #expect(anotherThreadFinishes { car.axle.value.wheel.value = Wheel(10) })
            pressure = 2
        }
        car.setPressure(11)
        #expect(received.lines == ["pathChanged(depth: 1) 1 → 10 @1", "valueChanged 10 → 11 @2"])
        withExtendedLifetime(token) {}
    }

    @Test("P2 The same, led to the same end again: the body's change is the path's, after the replacement")
    func replacedBySameInBody() {
        let car = Car(1)
        let received = ReceivedChanges<Int>()
        let token = car.observe(\.axle.wheel.pressure, received)
        let wheel = car.axle.value.wheel.value
        wheel.pressure.modify { pressure in
            #expect(anotherThreadFinishes { car.axle.value = Axle(wheel) })
            pressure = 2
        }
        #expect(received.lines == ["pathChanged(depth: 0) 1 → 1 @1", "valueChanged 1 → 2 @2"])
        withExtendedLifetime(token) {}
    }

    @Test("P2 Another thread replaces a step while the body of the end's modify runs, and does not wait for it")
    func replacedByAnotherDuringBody() throws {
        let car = Car(1)
        let received = ReceivedChanges<Int>()
        let token = car.observe(\.axle.wheel.pressure, received)
        let wheel = car.axle.value.wheel.value
        let hasReplaced = Log<Bool>()
        wheel.pressure.modify { pressure in
            hasReplaced.append(anotherThreadFinishes { car.axle.value = Axle(10) })
            hasReplaced.append(anotherThreadFinishes { car.axle.value.wheel.value = wheel })
            hasReplaced.append(anotherThreadFinishes { car.axle.value = Axle(20) })
            pressure = 2
        }
        #expect(hasReplaced.entries == [true, true, true])
        #expect(
            received.lines == [
                "pathChanged(depth: 0) 1 → 10 @1", "pathChanged(depth: 1) 10 → 1 @2",
                "pathChanged(depth: 0) 1 → 20 @3",
            ]
        )
        withExtendedLifetime(token) {}
    }
}

// MARK: - Several writers

extension Promises.P02PathVersionsTests {
    @Test(
        "P2 P3 Writers of all steps: one chain without gaps, and the last word is the present value",
        arguments: 2...4
    )
    func manyWriters(threads: Int) throws {
        for _ in 0..<8 {
            let wheels = (0..<3).map { Wheel(-1 - $0) }
            let fleet = Fleet(Car(Axle(wheels[0])))
            let received = (0..<3).map { _ in ReceivedChanges<Int>() }
            let tokens = received.map { fleet.observe(\.car.axle.wheel.pressure, $0) }
            try onThreads(threads) { thread in
                for round in 0..<150 {
                    let number = thread * 1000 + round
                    let wheel = wheels[number * 7 % 3]
                    switch number * 13 % 16 {
                    case 0: fleet.car.value = Car(Axle(wheel))
                    case 1: fleet.car.value.axle.value = Axle(wheel)
                    case 2, 3: fleet.car.value.axle.value.wheel.value = wheel
                    case 4:
                        let link = fleet.car.value.axle.value.wheel
                        Group(wheel.pressure, link).commit { transaction in
                            transaction[link] = wheel
                            transaction[wheel.pressure] = number
                        }
                    default: wheel.pressure.modify { $0 = number }
                    }
                }
            }
            // Replacements that kept racing are delivered by a thread of the library.
            try Process.settle()
            let present = fleet.car.value.pressure
            for received in received {
                #expect(received.mistakes(from: -1).isEmpty)
                #expect(received.chain.last?.new == present)
            }
            withExtendedLifetime(tokens) {}
        }
    }

    @Test("P2 P3 The same with a step that is nil now and then")
    func manyWritersAndNil() throws {
        for _ in 0..<15 {
            let axle = Axle(0)
            let car = Car(Axle(1), second: axle)
            let received = ReceivedChanges<Int?>()
            let token = car.observe(\.second.wheel.pressure, received)
            try onThreads(3) { thread in
                for round in 0..<120 {
                    switch (thread, round % 4) {
                    case (0, 0): car.second.value = nil
                    case (0, _): car.second.value = axle
                    case (1, 0): axle.wheel.value = Wheel(round)
                    default: axle.wheel.value.pressure.value = thread * 1000 + round
                    }
                }
            }
            try Process.settle()
            #expect(received.mistakes(from: 0).isEmpty)
            #expect(received.chain.last?.new == car.second.value?.wheel.value.pressure.value)
            withExtendedLifetime(token) {}
        }
    }

    @Test("P1 P2 Writers of the end alone: every change of every one, exactly once")
    func writersOfTheEnd() throws {
        let car = Car(0)
        let received = ReceivedChanges<Int>()
        let token = car.observe(\.axle.wheel.pressure, received)
        try onThreads(3) { _ in
            for _ in 0..<1000 { car.axle.value.wheel.value.pressure.modify { $0 += 1 } }
        }
        #expect(received.count == 3000)
        #expect(received.chain.map(\.new) == Array(1...3000))
        #expect(received.mistakes(from: 0).isEmpty)
        withExtendedLifetime(token) {}
    }

    @Test("P1 One writer replaces steps, others change the end: each replacement is delivered")
    func replacementsOfOneWriter() throws {
        let car = Car(0)
        let received = ReceivedChanges<Int>()
        let token = car.observe(\.axle.wheel.pressure, received)
        let writers = Hammer(threads: 2) { car.axle.value.wheel.value.pressure.modify { $0 += 1 } }
        try writers.waitUntilWarm()
        for round in 0..<300 {
            if round.isMultiple(of: 2) {
                car.axle.value = Axle(round)
            } else {
                car.axle.value.wheel.value = Wheel(round)
            }
        }
        try writers.stop()
        let depths = received.chain.compactMap { change in
            if case .pathChanged(let depth) = change.reason { depth } else { nil }
        }
        #expect(depths == (0..<300).map { $0 % 2 })
        #expect(received.mistakes(from: 0).isEmpty)
        #expect(received.chain.last?.new == car.pressure)
        withExtendedLifetime(token) {}
        try Process.settle()
    }
}

// MARK: - A path that passes the property at which it ends

private final class Node: ConcurrentObservable {
    let name: String
    let next = Observed<Node?>(nil)

    init(_ name: String) { self.name = name }
}

private final class Chain: ConcurrentObservable {
    let head = Observed<Node?>(nil)
}

extension Promises.P02PathVersionsTests {
    @Test("P2 One thread: a path that passes the property at which it ends receives its versions in order")
    func passesItsEnd() {
        let (first, chain) = (Node("first"), Chain())
        let (second, third) = (Node("second"), Node("third"))
        first.next.value = first
        second.next.value = third
        chain.head.value = first
        let (lines, longer, others) = (Log<String>(), Log<String>(), Log<String>())
        @Sendable func line(_ change: Change<Node?>) -> String {
            "\(change.reason) \(change.old??.name ?? "nil") → \(change.new?.name ?? "nil") @\(change.version)"
        }
        let tokens = [
            first.observe(\.next.next) { lines.append(line($0)) },
            chain.observe(\.head.next.next) { longer.append(line($0)) },
            chain.observe(\.head.next.next, delivery: .serial()) { others.append(line($0)) },
        ]
        first.next.value = second
        #expect(
            lines.entries == ["valueChanged first → second @1", "pathChanged(depth: 0) second → third @2"]
        )
        let expected = ["valueChanged first → second @1", "pathChanged(depth: 1) second → third @2"]
        #expect(longer.entries == expected)
        #expect(others.entries == expected)
        first.next.value = nil
        #expect(lines.entries.last == "pathChanged(depth: 0) third → nil @3")
        #expect(longer.entries.last == "pathChanged(depth: 1) third → nil @3")
        withExtendedLifetime(tokens) {}
    }

    @Test("P2 P12 The root goes in a callback of a change that its path both passes and ends at")
    func endsWhilePassing() throws {
        let root = Slot(Node("first"))
        root.value!.next.value = root.value
        let lines = Log<String>()
        let token = root.value!.observe(\.next.next) { (change: Change<Node?>) in
            lines.append("\(change.reason) @\(change.version)")
            root.clear()
        }
        token.onEnd { lines.append("\($0)") }
        root.value!.next.value = Node("second")
        try eventually("the end") { lines.entries.contains("sourceDeleted") }
        try Process.settle()
        #expect(lines.entries == ["valueChanged @1", "pathChanged(depth: 0) @2", "sourceDeleted"])
        #expect(!token.isActive)
    }
}
