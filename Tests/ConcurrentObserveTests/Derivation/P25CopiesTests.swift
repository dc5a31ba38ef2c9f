// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

// Functions whose sources change whenever they run.

extension Promises {
    @Suite("P25 Evaluations end")
    struct P25CopiesTests {}
}

extension Promises.P25CopiesTests {
    /// The largest number of disturbed runs. An evaluation that would not end by itself ends after
    /// them, too late for the test.
    static let mostDisturbed = 1_000
    /// The largest number of runs of one function for one read: some on present values, one to
    /// learn what it reads, one on copies, and one more for each shape.
    static let mostRuns = 16

    @Test("P25 A read ends though a source changes in each run, and nothing is of a mixture")
    func dynamic() {
        let (x, y, runs) = (Observed(0), Observed("0"), Counter())
        let both = Group(x, y)
        let derived = Derived { get in
            let first = get(x)
            if runs.increment() <= Self.mostDisturbed {
                onAnotherThread {
                    both.commit { transaction in
                        transaction[x] += 1
                        transaction[y] = "\(transaction[x])"
                    }
                }
            }
            return "\(first) \(get(y))"
        }
        let value = derived.value
        #expect(isTwice(value), "\(value)")
        #expect(runs.value <= Self.mostRuns)
        // It is not present any more: the next read runs the function again.
        #expect(derived.value != value)
    }

    @Test("P25 Another shape in each run: as many runs more as there are sources")
    func shapes() {
        let (choice, numbers, runs) = (Observed(0), (0..<6).map { Observed($0) }, Counter())
        let derived = Derived { get in
            let index = get(choice) % numbers.count
            if runs.increment() <= Self.mostDisturbed { onAnotherThread { choice.value += 1 } }
            return get(numbers[index])
        }
        #expect(numbers.indices.contains(derived.value))
        #expect(runs.value <= Self.mostRuns + numbers.count)
    }

    @Test(
        "P25 A read ends if another derived value has read only a property that is no root",
        arguments: [1, 12, 13, 14]
    )
    func withoutRoots(changes: Int) {
        let (own, runs) = (Own(Observed(0)), Counter())
        let other = Derived { get in get(own) }
        let derived = Derived { get in
            let number = get(other)
            let run = runs.increment()
            if run <= changes { onAnotherThread { own.base.value += 1 } }
            if run > Self.mostDisturbed { fatalError("the read does not end") }
            return number
        }
        #expect(derived.value == changes)
        // In the body of a commit the function runs on drafts. (P19)
        runs.add(-runs.value)
        let member = Observed(0)
        Group(member).commit { transaction in
            transaction[member] = 1
            #expect(transaction[derived] == 2 * changes)
        }
    }

    @Test("P25 The static form, of derived values that are disturbed, of weak properties and of paths")
    func named() {
        let (root, runs) = (Garage(), Counter())
        let (number, car) = (Observed(0), Parked())
        root.car.value = car
        root.guest.value = car
        let slow = Derived { get in
            if runs.increment() <= Self.mostDisturbed {
                onAnotherThread {
                    Group(number, car.places).commit { transaction in
                        transaction[number] += 1
                        transaction[car.places] += 1
                    }
                }
            }
            return get(number)
        }
        let computed = Counter()
        let derived = Derived(slow, root.property(\.car.places), root.guest, number) { slow, places, guest, number in
            computed.increment()
            // Never of a mixture. (P23)
            check(slow == number && places == number && guest === car, "the function runs on a mixture")
            return slow
        }
        let value = derived.value
        #expect(value <= number.value && computed.value == 1)
        // Each of its reads may run the other's function so often.
        #expect(runs.value <= Self.mostRuns * Self.mostRuns)
    }

    @Test("P25 A chain of values that are disturbed runs no oftener for each level than one value", arguments: 1...5)
    func nested(depth: Int) {
        let (source, runs) = (Observed(0), Counter())
        let disturbed = { @Sendable (before: Int, get: borrowing Reader) -> Int in
            if runs.increment() <= Self.mostDisturbed * 10 { onAnotherThread { source.value += 1 } }
            return before + get(source)
        }
        var last = Derived { get in
            let before = get(source)
            return disturbed(before, get)
        }
        for _ in 1..<depth {
            last = Derived { [last] get in
                let before = get(last)
                return disturbed(before, get)
            }
        }
        #expect(last.value % (depth + 1) == 0)
        #expect(runs.value <= (Self.mostRuns + 8) * depth, "\(runs.value) runs")
    }

    @Test("P24 On copies a derived value runs once, however often it is read", arguments: [1, 5, 12])
    func ladder(depth: Int) {
        let (source, quiet, runs, laddersRuns) = (Observed(0), Observed("1"), Counter(), Counter())
        var last = Derived { get in
            laddersRuns.increment()
            return get(quiet) + ""
        }
        for _ in 1..<depth {
            last = Derived { [last] get in
                laddersRuns.increment()
                return get(last) == get(last) ? get(last) : "not the same"
            }
        }
        let derived = Derived { [last] get in
            let first = get(source)
            if runs.increment() <= Self.mostDisturbed { onAnotherThread { source.value += 1 } }
            return "\(get(last)) \(first - get(source))"
        }
        #expect(derived.value == "1 0")
        // Once to be kept, and once for each run on copies.
        #expect(laddersRuns.value <= depth * (1 + Self.mostRuns - 12), "\(laddersRuns.value) runs")
    }

    @Test("P14 What copies have kept is destroyed")
    func results() throws {
        let (source, runs, lives) = (Observed(0), Counter(), Lives())
        do {
            let inner = Derived { get in [Kept(get(source), lives)] }
            let derived = Derived { get in
                let first = get(inner)[0].number
                if runs.increment() <= Self.mostDisturbed { onAnotherThread { source.value += 1 } }
                return [first, get(inner)[0].number, get(source)]
            }
            let numbers = derived.value
            #expect(numbers == [numbers[0], numbers[0], numbers[0]])
            #expect(runs.value <= Self.mostRuns, "\(runs.value) runs")
        }
        try lives.waitUntilNoneIsLeft()
    }

    @Test("P25 A result of copies is replaced when it is read again, and observers receive the last")
    func afterwards() {
        let (source, runs, isQuiet) = (Observed([0]), Counter(), Observed(false))
        let derived = Derived { get in
            let first = get(source)
            if !isQuiet.value, runs.increment() <= Self.mostDisturbed {
                onAnotherThread { source.value = [first[0] + 1] }
            }
            return first[0] + get(source)[0]
        }
        let received = Slot<Int>()
        #expect(derived.value % 2 == 0)
        isQuiet.value = true
        #expect(derived.value == 2 * source.value[0])
        let token = derived.observe { change in received.put(change.new) }
        source.value = [500]
        #expect(received.value == 1_000 && derived.value == 1_000 && source.observationCount == 1)
        #expect(token.cancelAndWaitBlocking() == .finished && source.observationCount == 0)
    }
}

private func isTwice(_ text: String) -> Bool {
    let parts = text.split(separator: " ")
    return parts.count == 2 && parts[0] == parts[1]
}

private final class Garage: ConcurrentObservable {
    struct Properties: Sendable { let car: Observed<Parked?> }
    let (car, guest) = (Observed<Parked?>(nil), WeakObserved<Parked>())
    var observedProperties: Properties { Properties(car: car) }
}

private final class Parked: ConcurrentObservable, WeaklyObservable {
    struct Properties: Sendable { let places: Observed<Int> }
    let lifetime = ReferentLifetime()
    let places = Observed(0)
    var observedProperties: Properties { Properties(places: places) }
}

private final class Kept: Sendable {
    let number: Int
    private let life: Life

    init(_ number: Int, _ lives: Lives) { (self.number, life) = (number, lives.make()) }
}
