// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

// Functions that other threads lead to new objects whenever they run. Their evaluations end once
// these threads pause.

extension Promises.P25CopiesTests {
    /// The number of runs that lead to new objects. It is larger than the number after which the
    /// function runs on copies.
    private static let mostLed = 40

    @Test("P25 A path that leads to new objects in each run, until other threads pause", arguments: [1, 3])
    func newByPath(sets: Int) {
        let (root, runs) = (Yard(0), Counter())
        let derived = Derived { get in
            let first = get(root.number)
            if runs.increment() <= Self.mostLed { onAnotherThread { root.replace(sets) } }
            return [first, get(root.property(\.shed.door.number))]
        }
        let value = derived.value
        #expect(value[0] == value[1], "\(value)")
        #expect(runs.value <= Self.mostLed + 1, "\(runs.value) runs")
    }

    @Test("P25 A list of new objects in each run, until other threads pause", arguments: [1, 3])
    func newInList(sets: Int) {
        let (list, runs) = (Observed([Door(0), Door(0)]), Counter())
        let derived = Derived { get in
            let doors = get(list)
            if runs.increment() <= Self.mostLed {
                onAnotherThread {
                    for _ in 0..<sets {
                        let doors = [Door(0), Door(0)]
                        // Changed before they are there.
                        for door in doors { door.number.value = runs.value }
                        list.value = doors
                    }
                }
            }
            return doors.map { get($0.number) }
        }
        let value = derived.value
        #expect(value[0] == value[1], "\(value)")
        #expect(runs.value <= Self.mostLed + 1, "\(runs.value) runs")
    }

    @Test(
        "P23 An object that is met for the first time, and has changed since the copies were taken, is not taken as it is"
    )
    func changedSince() {
        let (number, list, runs) = (Observed(0), Observed([Door(0)]), Counter())
        let derived = Derived { get in
            let (first, doors) = (get(number), get(list))
            if runs.increment() <= Self.mostLed {
                onAnotherThread {
                    Group(number, doors[0].number).commit { transaction in
                        transaction[number] = runs.value
                        transaction[doors[0].number] = runs.value
                    }
                    let next = Door(runs.value)
                    list.value = [next]
                }
            }
            return [first, get(doors[0].number)]
        }
        let value = derived.value
        #expect(value[0] == value[1], "\(value)")
        // As long as that goes on, and one more.
        #expect(runs.value == Self.mostLed + 1, "\(runs.value) runs")
    }
}

private final class Yard: ConcurrentObservable {
    struct Properties: Sendable { let shed: Observed<Shed> }
    let shed: Observed<Shed>
    let number: Observed<Int>
    var observedProperties: Properties { Properties(shed: shed) }

    init(_ number: Int) { (shed, self.number) = (Observed(Shed(number)), Observed(number)) }

    /// Replaces the objects on the way by others with the same numbers.
    func replace(_ times: Int) {
        for _ in 0..<times {
            let next = Shed(0)
            // Changed before it is there.
            next.door.value = Door(0)
            next.door.value.number.value = number.value + 1
            Group(shed, number).commit { transaction in
                transaction[number] += 1
                transaction[shed] = next
            }
        }
    }
}

private final class Shed: ConcurrentObservable {
    struct Properties: Sendable { let door: Observed<Door> }
    let door: Observed<Door>
    var observedProperties: Properties { Properties(door: door) }

    init(_ number: Int) { door = Observed(Door(number)) }
}

private final class Door: ConcurrentObservable {
    struct Properties: Sendable { let number: Observed<Int> }
    let number: Observed<Int>
    var observedProperties: Properties { Properties(number: number) }

    init(_ number: Int) { self.number = Observed(number) }
}
