// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

// Life of observations. (P1, P4, P8, P11, P12)
extension Promises.DerivedCases {
    @Test("R073 .initial: one call before observe returns; then one for each change")
    func r073() {
        let (a, log) = (Observed(1), Log<String>())
        let c = Derived { get in get(a) }
        let token = c.observe(options: .initial) { log.append($0.line) }
        #expect(log.entries == ["initial - → 1 @0"])
        a.value = 2
        #expect(log.entries.last == "valueChanged 1 → 2 @1")
        let silent = c.observe { _ in log.append("none") }
        #expect(log.count == 2)
        token.cancel()
        silent.cancel()
    }

    @Test("R074 Ended, ended twice, dropped: silent")
    func r074() {
        let (a, calls) = (Observed(0), Counter())
        let c = Derived { get in get(a) }
        let token = c.observe { _ in calls.increment() }
        token.cancel()
        token.cancel()
        var dropped: ObservationToken? = c.observe { _ in calls.increment() }
        withExtendedLifetime(dropped) {}
        dropped = nil
        a.value = 1
        #expect(calls.value == 0)
    }

    @Test("R075 Ends itself")
    func r075() {
        let (a, log) = (Observed(0), Log<Int>())
        let c = Derived { get in get(a) }
        let token = c.observe { change, observation in
            log.append(change.new)
            if change.new >= 3 { observation.cancel() }
        }
        for value in 1...5 { a.value = value }
        #expect(log.entries == [1, 2, 3] && !token.isActive)
    }

    @Test("R076 One of two ends; after both, a new one works")
    func r076() throws {
        let (a, log) = (Observed(0), Log<String>())
        let c = Derived { get in get(a) }
        let first = c.observe { log.append("first \($0.new)") }
        let second = c.observe { log.append("second \($0.new)") }
        first.cancel()
        a.value = 1
        second.cancel()
        a.value = 2
        try Process.settle()
        let third = c.observe { log.append("third \($0.new)") }
        a.value = 3
        #expect(log.entries == ["second 1", "third 3"])
        third.cancel()
    }

    @Test("R077 The source counts one, until the last ends")
    func r077() {
        let a = Observed(0)
        let b = Derived { get in get(a) }
        let c = Derived { get in get(b) }
        let tokens = (0..<3).map { _ in c.observe { _ in } }
        #expect(a.observationCount == 1 && c.observationCount == 3)
        tokens[0].cancel()
        tokens[1].cancel()
        #expect(a.observationCount == 1)
        tokens[2].cancel()
        #expect(a.observationCount == 0)
    }

    @Test("R078 Unobserved and dropped: freed at once")
    func r078() {
        let (a, lives) = (Observed(0), Lives())
        func make() {
            let life = lives.make()
            let c = Derived { get in
                life.touch()
                return get(a)
            }
            #expect(c.value == 0)
        }
        make()
        #expect(lives.alive == 0 && a.observationCount == 0)
    }

    @Test("R079 The closure owns what it reads; a token keeps what it observes")
    func r079() throws {
        let (a, log, lives) = (Observed(0), Log<Int>(), Lives())
        var c: Derived<Int>? = Derived { get in get(a) }
        let d = Derived { [c = c!] get in get(c) + 1 }
        c = nil
        let token = d.observe { log.append($0.new) }
        a.value = 1
        #expect(log.entries == [2])
        token.cancel()
        var alone: Derived<Int>? = Derived { [life = lives.make()] get in
            life.touch()
            return get(a) * 10
        }
        let other = alone!.observe { log.append($0.new) }
        alone = nil
        a.value = 2
        #expect(log.entries == [2, 20] && lives.alive == 1)
        other.cancel()
        try lives.waitUntilNoneIsLeft()
    }

    @Test("R080 The last reference to an observed one of a model is dropped: .sourceDeleted, once")
    func r080() throws {
        final class Model: Sendable {
            private let stored = _DerivedStorage<Int>()

            func derived(of a: Observed<Int>) -> Derived<Int> { stored.derived { Derived { get in get(a) } } }
        }
        let (a, received) = (Observed(0), ReceivedChanges<Int>())
        var model: Model? = Model()
        let token = model!.derived(of: a).observe(received).recordEnd(to: received)
        a.value = 1
        model = nil
        try received.ended.wait()
        a.value = 2
        #expect(a.observationCount == 0)
        #expect(received.lines == ["valueChanged 0 → 1 @1", "sourceDeleted"] && !token.isActive)
    }

    @Test("R081 What a callback reads is no dependency")
    func r081() {
        let (graph, a, other) = (DerivedGraph(.observed), Observed(0), Observed(0))
        let c = graph.derived("c") { get in get(a) }
        let token = c.observe { _ in _ = other.value }
        graph.begin(c)
        a.value = 1
        graph.forget()
        other.value = 1
        #expect(graph.runs.isEmpty && other.observationCount == 0)
        token.cancel()
    }

    @Test("R082 A new token in the same variable: the old observation ends")
    func r082() throws {
        let (a, log, lives) = (Observed(0), Log<String>(), Lives())
        let c = Derived { get in get(a) }
        func observe(_ name: String) -> ObservationToken {
            let life = lives.make()
            return c.observe { _ in
                life.touch()
                log.append(name)
            }
        }
        var token = observe("first")
        token = observe("second")
        a.value = 1
        #expect(log.entries == ["second"])
        try eventually("the end of the first closure") { lives.alive == 1 }
        token.cancel()
    }

    @Test("R083 The function ends an observation of the source: it is not called")
    func r083() {
        let (s, slot, log) = (Observed(0), Slot<ObservationToken>(), Log<String>())
        let c = Derived { get in
            if get(s) == 1 { slot.value?.cancel() }
            return get(s)
        }
        let second = c.observe { _ in log.append("derived") }
        slot.put(s.observe { _ in log.append("source") })
        s.value = 1
        s.value = 2
        #expect(log.entries == ["derived", "derived"])
        second.cancel()
        slot.clear()
    }

    @Test("R084 A callback makes a derived value each time")
    func r084() throws {
        let (a, lives, log, slot) = (Observed(0), Lives(), Log<Int>(), Slot<Derived<Int>>())
        let token = a.observe { change in
            let life = lives.make()
            let made = Derived { get in
                life.touch()
                return get(a) + 1
            }
            log.append(made.value)
            slot.put(made)
        }
        for value in 1...3 { a.value = value }
        #expect(log.entries == [2, 3, 4])
        try eventually("the end of those that were replaced") { lives.alive == 1 }
        token.cancel()
        slot.clear()
    }
}

// Transactions. What needs a commit of several properties is in TransactionCases.swift.
extension Promises.DerivedCases {
    @Test("R092 What the body of a modify reads is not followed")
    func r092() {
        let (graph, a, b) = (DerivedGraph(.observed), Observed(0), Observed(0))
        let x = Derived { get in get(a) }
        let y = graph.derived("y") { get in get(b) }
        graph.begin(y)
        b.modify { $0 = x.value + 1 }
        graph.expect(y, 1, "y", "1")
        #expect(a.observationCount == 0)
    }
}
