// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

// Re-entrancy, order, untracked reads, what is made in a function. (P1, P2, P6, P25)
extension Promises.DerivedCases {
    @Test("R096 An observer of the source sets another that is read too")
    func r096() {
        let (a, b) = (Observed(0), Observed(0))
        let d = Derived { get in get(b) }
        let token = a.observe { b.value = 2 * $0.new }
        a.value = 5
        #expect(d.value == 10)
        token.cancel()
    }

    @Test("R097 An observer sets two, one after the other: each pair that is received was there")
    func r097() {
        let (graph, a, b, c) = (DerivedGraph(.observed), Observed(0), Observed(0), Observed(0))
        let d = graph.derived("d") { get in [get(b), get(c)] }
        let token = a.observe { change in
            b.value = change.new + 1
            c.value = change.new + 2
        }
        graph.begin(d)
        a.value = 10
        #expect(graph.news == "[11, 0] [11, 12]")
        token.cancel()
    }

    @Test("R098 An observer, .initial too, sets the source back")
    func r098() {
        let (s, calls) = (Observed(1), Counter())
        let c = Derived { get in get(s) }
        let token = c.observe(options: .initial) { change in
            guard change.new > 0 else { return }
            calls.increment()
            s.value = 0
        }
        #expect(s.value == 0 && c.value == 0)
        for value in 1...3 {
            s.value = value
            #expect(s.value == 0 && c.value == 0)
        }
        #expect(calls.value == 4)
        token.cancel()
    }

    @Test("R099 The source's first observer sets it back: the highest versions carry the last value")
    func r099() {
        let (a, ofSource, ofDerived) = (Observed(0), ReceivedChanges<Int>(), ReceivedChanges<Int>())
        let c = Derived { get in get(a) }
        let first = a.observe { if $0.new == 1 { a.value = 0 } }
        let tokens = [a.observe(ofSource), c.observe(ofDerived), first]
        a.value = 1
        #expect(ofSource.changes.max { $0.version < $1.version }?.new == 0)
        #expect(ofDerived.changes.max { $0.version < $1.version }?.new == 0)
        withExtendedLifetime(tokens) {}
    }

    @Test("R100 The function sets what it does not read", arguments: GraphUse.allCases)
    func r100(use: GraphUse) {
        let (graph, a, side) = (DerivedGraph(use), Observed(0), Observed(0))
        let reader = Derived { get in get(side) }
        let c = graph.derived("c") { get in
            side.value = 10 * get(a)
            return get(a)
        }
        graph.begin(c)
        a.value = 1
        #expect(c.value == 1 && side.value == 10 && reader.value == 10)
        let failing = graph.failing("f") { get throws(Mishap) -> Int in
            side.value = -get(a)
            throw .zero
        }
        #expect(failing.value == .failure(.zero) && side.value == -1)
    }

    @Test("R101 The function sets what it has read: that traps")
    func r101() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let a = Observed(0)
            let c = Derived { get in
                let value = get(a)
                a.value = value + 1
                return value
            }
            print(c.value)
        }
        #expect(result.map { String(decoding: $0.standardErrorContent, as: UTF8.self).contains("has read") } == true)
        await #expect(processExitsWith: .failure) {
            let a = Observed(0)
            let b = Derived { get in get(a) }
            let c = Derived { get in
                let value = get(b)
                a.value = value + 1
                return value
            }
            print(c.value)
        }
    }

    @Test("R102 A callback makes a property, a derived value and an observer, and sets")
    func r102() {
        let (a, log) = (Observed(0), Log<String>())
        let outer = Derived { get in get(a) }
        let token = outer.observe { change in
            log.append("outer \(change.new)")
            let inner = Observed(0)
            let derived = Derived { get in get(inner) }
            let innerToken = derived.observe { log.append("inner \($0.new)") }
            inner.value = 7
            innerToken.cancel()
        }
        a.value = 1
        #expect(log.entries == ["outer 1", "inner 7"])
        token.cancel()
    }

    @Test("R103 In the order of registration, on the setter's thread")
    func r103() {
        let (a, log) = (Observed(0), Log<String>())
        let c = Derived { get in get(a) }
        let tokens = (0..<3).map { index in c.observe { _ in log.append("\(index) \(threadNumber())") } }
        a.value = 1
        #expect(log.entries == (0..<3).map { "\($0) \(threadNumber())" })
        withExtendedLifetime(tokens) {}
    }

    @Test("R104 Versions 1, 2, 3, each old the new before; none for an equal result; also of one that was read before")
    func r104() {
        for reads in 0..<3 {
            let (a, received) = (Observed(0), ReceivedChanges<Int>())
            let c = Derived { get in get(a) / 2 }
            for read in 0..<reads {
                a.value = -2 * (read + 1)
                _ = c.value
            }
            a.value = 0
            let first = c.version
            let token = c.observe(received)
            for value in 1...6 { a.value = value }
            #expect(received.versions == [first + 1, first + 2, first + 3] && c.version == first + 3)
            #expect(received.changes.map(\.old) == [0, 1, 2] && received.changes.map(\.new) == [1, 2, 3])
            token.cancel()
        }
    }

    @Test("R105 The first ends the third; one added waits for the next change")
    func r105() {
        let (a, log, third, added) = (Observed(0), Log<String>(), Slot<ObservationToken>(), Slot<ObservationToken>())
        let c = Derived { get in get(a) }
        let first = c.observe { _ in
            third.value?.cancel()
            if added.value == nil { added.put(c.observe { log.append("added \($0.new)") }) }
        }
        let second = c.observe { log.append("second \($0.new)") }
        third.put(c.observe { log.append("third \($0.new)") })
        a.value = 1
        a.value = 2
        #expect(log.entries == ["second 1", "second 2", "added 2"])
        for token in [first, second, third.value!, added.value!] { token.cancel() }
        third.clear()
        added.clear()
    }

    @Test("R106 An untracked read", arguments: GraphUse.allCases)
    func r106(use: GraphUse) {
        let (graph, a, b) = (DerivedGraph(use), Observed(1), Observed(10))
        let c = graph.derived("c") { get in get(a) + b.value }
        graph.begin(c)
        b.value = 20
        graph.expect(c, 11, "", "")
        a.value = 2
        graph.expect(c, 22, "c")
    }

    @Test("R107 An untracked read of a derived value", arguments: GraphUse.allCases)
    func r107(use: GraphUse) {
        let (graph, a) = (DerivedGraph(use), Observed(1))
        let b = Derived { get in get(a) }
        let c = graph.derived("c") { _ in b.value }
        graph.begin(c)
        a.value = 2
        graph.expect(c, 1, "", "")
        #expect(b.value == 2)
    }

    /// Reads for a function, as a part of it.
    private static func helper(_ x: Observed<Int>, _ get: borrowing Reader) -> Int { get(x) }

    @Test("R108 A helper that is given the reader tracks; one that is not does not", arguments: GraphUse.allCases)
    func r108(use: GraphUse) {
        let (graph, x, y) = (DerivedGraph(use), Observed(1), Observed(10))
        @Sendable func untracked() -> Int { y.value }
        let c = graph.derived("c") { get in Self.helper(x, get) + untracked() }
        graph.begin(c)
        y.value = 20
        graph.expect(c, 11, "", "")
        x.value = 2
        graph.expect(c, 22, "c")
    }

    @Test("R109 One that is made and read in the function", arguments: GraphUse.allCases)
    func r109(use: GraphUse) {
        let (graph, a) = (DerivedGraph(use), Observed(3))
        let b = graph.derived("b") { get in
            let inner = Derived { get in get(a) }
            return get(inner)
        }
        graph.begin(b)
        for value in 4...5 {
            a.value = value
            graph.expect(b, value, "b")
        }
    }

    @Test("R110 One that is made in the function and never read does not run")
    func r110() {
        let (graph, a) = (DerivedGraph(.read), Observed(3))
        let b = Derived { get in
            let inner = graph.derived("inner") { get in get(a) }
            return withExtendedLifetime(inner) { get(a) }
        }
        #expect(b.value == 3 && graph.runs.isEmpty)
    }

    @Test("R111 32 levels, each made in the one above")
    func r111() {
        let a = Observed(0)
        @Sendable func level(_ number: Int) -> Derived<Int> {
            Derived { get in number == 32 ? get(a) + number : get(level(number + 1)) }
        }
        let top = level(1)
        #expect(top.value == 32)
        a.value = 1
        #expect(top.value == 33)
    }

    @Test("R112 One that was made in the function and kept stays current")
    func r112() {
        let (a, slot) = (Observed(1), Slot<Derived<Int>>())
        let b = Derived { get in
            let inner = Derived { get in 10 * get(a) }
            if slot.value == nil { slot.put(inner) }
            return get(inner)
        }
        #expect(b.value == 10)
        a.value = 2
        #expect(b.value == 20 && slot.value?.value == 20)
        slot.clear()
    }
}
