// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Glibc
import Testing

// Threads. (P3, P22, P23, P25)
extension Promises.DerivedCases {
    @Test("R113 Ten thousand changes and a reader: never falling, the last exact")
    func r113() throws {
        let (a, runs, falls) = (Observed(0), Counter(), Counter())
        let c = Derived { get in
            runs.increment()
            return 10 * get(a)
        }
        let received = ReceivedChanges<Int>()
        let token = c.observe(received)
        try onThreads(2) { thread in
            if thread == 0 {
                for value in 1...10_000 { a.value = value }
            } else {
                var last = 0
                for _ in 0..<10_000 {
                    let value = c.value
                    if value < last || value % 10 != 0 { falls.increment() }
                    last = value
                }
            }
        }
        #expect(c.value == 100_000 && falls.value == 0)
        // Published at most once for each change. (Other suites: run. Here a reader that finds the
        // function running evaluates for itself.)
        #expect(received.count <= 10_000 && runs.value <= 20_001)
        #expect(received.changes.map(\.version) == (1...UInt64(received.count)).map { $0 })
        token.cancel()
    }

    @Test("R114 Price and quantity: each total is one of a pair that was there")
    func r114() throws {
        let (price, quantity, wrong) = (Observed(6), Observed(2), Counter())
        let tax = Derived { get in get(price) / 3 }
        let total = Derived { get in get(quantity) * (get(price) + get(tax)) }
        @Sendable func judge(_ value: Int) { if value & (value - 1) != 0 { wrong.increment() } }
        let token = total.observe { judge($0.new) }
        try onThreads(3) { thread in
            for step in 0..<5_000 {
                switch thread {
                case 0: price.value = 6 << (step % 16)
                case 1: quantity.value = 2 << (step % 16)
                default: judge(total.value)
                }
            }
        }
        #expect(wrong.value == 0 && total.value == quantity.value * (price.value + price.value / 3))
        token.cancel()
    }

    @Test("R115 Sixteen threads read a stale one: one result is published")
    func r115() throws {
        let (a, runs) = (Observed(0), Counter())
        let c = Derived { get in
            runs.increment()
            return get(a)
        }
        #expect(c.value == 0)
        a.value = 1
        let wrong = Counter()
        try onThreads(16) { _ in if c.snapshot() != (1, 1) { wrong.increment() } }
        // One result, not one run: a thread that finds another evaluating does not wait for it,
        // since that could close a ring.
        #expect(wrong.value == 0 && (2...17).contains(runs.value) && c.version == 1)
    }

    @Test("R116 Two functions, each of which waits until the other runs")
    func r116() throws {
        let (a, first, second) = (Observed(0), Flag(), Flag())
        @Sendable func meet(_ own: Flag, _ other: Flag) {
            own.set()
            while !other.isSet { sched_yield() }
        }
        let c = Derived { get in
            meet(first, second)
            return get(a)
        }
        let d = Derived { get in
            meet(second, first)
            return get(a)
        }
        try onThreads(2) { _ = $0 == 0 ? c.value : d.value }
        #expect(c.value == 0 && d.value == 0)
    }

    @Test("R117 A function that takes long holds up no other thread")
    func r117() throws {
        let (a, other) = (Observed(0), Observed(0))
        let (isInside, mayGo) = (Flag(), Flag())
        let c = Derived { get in
            if get(a) == 1 {
                isInside.set()
                while !mayGo.isSet { sched_yield() }
            }
            return get(a)
        }
        let e = Derived { get in get(a) + get(other) }
        let tokens = [c.observe { _ in }, e.observe { _ in }]
        let thread = TestThread { a.value = 1 }
        try eventually("the function's run") { isInside.isSet }
        #expect(anotherThreadFinishes { other.value = 5 })
        #expect(anotherThreadFinishes { check(e.value == 6, "the other value is not current") })
        // And a change of the very source: the evaluation is left to the thread that is at it.
        #expect(anotherThreadFinishes { a.value = 2 })
        mayGo.set()
        try thread.join()
        #expect(c.value == 2)
        withExtendedLifetime(tokens) {}
    }

    @Test("R118 Ten writers, serial observers come and go; a million modifications")
    func r118() throws {
        let (a, backwards) = (Observed(0), Counter())
        let c = Derived { get in get(a) }
        try onThreads(12) { thread in
            if thread < 10 {
                for step in 0..<500 { a.value = step * 10 + thread }
                return
            }
            for _ in 0..<20 {
                let last = Log<Int>()
                let token = c.observe(delivery: .serial()) { change in
                    // Serial: one at a time, in the order of the versions.
                    let before = last.entries.last { $0 % 10 == change.new % 10 }
                    if let before, before > change.new { backwards.increment() }
                    last.append(change.new)
                }
                usleep(500)
                token.cancelAndWaitBlocking()
            }
        }
        #expect(backwards.value == 0)
        a.value = 0
        let token = c.observe { _ in }
        try onThreads(2) { _ in for _ in 0..<50_000 { a.modify { $0 += 1 } } }
        #expect(c.value == 100_000)
        token.cancel()
    }

    @Test("R119 Four threads set and read")
    func r119() throws {
        let a = Observed(0)
        let c = Derived { get in get(a) }
        let d = Derived { get in get(c) + get(a) }
        let received = ReceivedChanges<Int>()
        let token = d.observe(received)
        let odd = Counter()
        try onThreads(4) { thread in
            for step in 0..<2_000 {
                a.value = step * 4 + thread
                if d.value % 2 != 0 { odd.increment() }
            }
        }
        #expect(odd.value == 0 && d.value == 2 * a.value)
        let last = received.changes.max { $0.version < $1.version }
        #expect(last?.new == d.value && last?.version == d.version)
        token.cancel()
    }

    @Test("R120 A change beside a read: the old sum or the new one, then the new one")
    func r120() throws {
        for _ in 0..<200 {
            let (x, y, z) = (Observed(100), Observed(10), Observed(1))
            let c = Derived(x, y, z) { $0 + $1 + $2 }
            let wrong = Counter()
            try onThreads(2) { thread in
                if thread == 0 { x.value = 1_000 } else if ![111, 1_011].contains(c.value) { wrong.increment() }
            }
            #expect(wrong.value == 0 && c.value == 1_011)
        }
    }

    @Test("R121 Four threads make, observe and drop derived values of one that is set")
    func r121() throws {
        let a = Observed(0)
        let hammer = Hammer(threads: 1) { a.modify { $0 += 1 } }
        try onThreads(4) { _ in
            for _ in 0..<200 {
                let c = Derived { get in get(a) }
                let token = c.observe { _ in }
                _ = c.value
                token.cancel()
            }
        }
        try hammer.stop()
        try eventually("the end of the links") { a.observationCount == 0 }
    }

    @Test("R122 Philosophers: no snapshot has two neighbours eating", arguments: [true, false])
    func r122(isStatic: Bool) throws {
        let seats = 5
        let eats = (0..<seats).map { _ in Observed(false) }
        // A fork is held by the neighbour on its left, on its right, or by neither; by both it
        // never is.
        let forks = (0..<seats).map { index -> Derived<Int> in
            let (left, right) = (eats[index], eats[(index + 1) % seats])
            if isStatic { return Derived(left, right) { ($0 ? 1 : 0) + ($1 ? 1 : 0) } }
            return Derived { get in (get(left) ? 1 : 0) + (get(right) ? 1 : 0) }
        }
        let most = Derived { get in
            var most = 0
            for fork in forks { most = max(most, get(fork)) }
            return most
        }
        let both = Counter()
        let token = most.observe { if $0.new > 1 { both.increment() } }
        // Hand-ordered: one seat at a time sits down, its neighbours standing.
        let round = Counter()
        let hammer = Hammer(threads: 1) {
            let seat = round.increment() % seats
            eats[seat].value = true
            eats[seat].value = false
        }
        for _ in 0..<2_000 { if most.value > 1 { both.increment() } }
        try hammer.stop()
        #expect(both.value == 0)
        token.cancel()
    }

    @Test("R123 At rest: current, registered at the roots of what was read last, its version moved with its value")
    func r123() throws {
        let (k, a, b) = (Observed(0), Observed(0), Observed(0))
        let ofA = Derived { get in get(a) }
        let d = Derived { get in get(k) % 2 == 0 ? get(ofA) : get(b) }
        let received = ReceivedChanges<Int>()
        let token = d.observe(received)
        try onThreads(3) { thread in
            for step in 1...1_000 {
                switch thread {
                case 0: k.value = step
                case 1: a.value = step
                default: b.value = -step
                }
            }
        }
        for last in 0...1 {
            k.value = last
            #expect(d.value == (last == 0 ? a.value : b.value))
            // At the roots of the derived value that is read, not at that itself.
            #expect([k, a, b].map(\.observationCount) == (last == 0 ? [1, 1, 0] : [1, 0, 1]))
        }
        let changes = received.changes.sorted { $0.version < $1.version }
        #expect(changes.map(\.version) == (1...UInt64(changes.count)).map { $0 })
        #expect(
            zip(changes, changes.dropFirst()).allSatisfy { $0.new == $1.old } && changes.allSatisfy { $0.new != $0.old }
        )
        #expect(changes.last?.new == d.value)
        token.cancel()
    }
}
