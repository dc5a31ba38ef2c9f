// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

// Dynamic dependencies, and equality. (P22, P24)
extension Promises.DerivedCases {
    @Test("R035 The branch that is not taken", arguments: GraphUse.allCases)
    func r035(use: GraphUse) {
        let (graph, k, a, b) = (DerivedGraph(use), Observed(true), Observed(1), Observed(2))
        let c = graph.derived("c") { get in get(k) ? get(a) : get(b) }
        graph.begin(c)
        b.value = 3
        graph.expect(c, 1, "", "")
        a.value = 4
        graph.expect(c, 4, "c")
        k.value = false
        graph.expect(c, 3, "c")
        a.value = 5
        graph.expect(c, 3, "", "")
        b.value = 6
        graph.expect(c, 6, "c")
    }

    @Test("R036 A branch that is new leads to what has changed meanwhile")
    func r036() {
        let (graph, k, a, b) = (DerivedGraph(.read), Observed(false), Observed(1), Observed(0))
        let c = graph.derived("c") { get in get(a) }
        let d = graph.derived("d") { get in get(k) ? get(c) : get(b) }
        #expect(d.value == 0)
        k.value = true
        a.value = 2
        #expect(d.value == 2)
    }

    @Test("R037 A condition on the source that is read", arguments: GraphUse.allCases)
    func r037(use: GraphUse) {
        let (graph, a) = (DerivedGraph(use), Observed(0))
        let b = graph.derived("b") { get in get(a) }
        let c = graph.derived("c") { get in get(a) > 0 ? get(a) : get(b) }
        graph.begin(c)
        #expect(c.value == 0)
        a.value = 1
        #expect(c.value == 1)
        a.value = 0
        #expect(c.value == 0)
        if use == .observed { #expect(graph.news == "1 0") }
    }

    @Test("R038 From one source to a derived value", arguments: GraphUse.allCases)
    func r038(use: GraphUse) {
        let (graph, a, b) = (DerivedGraph(use), Observed(0), Observed(5))
        let c = graph.derived("c") { get in get(a) }
        let d = graph.derived("d") { get in get(a) == 0 ? get(b) : get(c) }
        graph.begin(d)
        a.value = 1
        #expect(d.value == 1)
        graph.forget()
        b.value = 10
        graph.expect(d, 1, "", "")
    }

    @Test("R039 Off, changed, on again")
    func r039() {
        let (graph, k, s) = (DerivedGraph(.observed), Observed(true), Observed(1))
        let c = graph.derived("c") { get in get(k) ? get(s) : 0 }
        graph.begin(c)
        k.value = false
        #expect(graph.news == "0")
        s.value = 2
        #expect(graph.news.isEmpty)
        k.value = true
        #expect(graph.news == "2")
    }

    @Test("R040 Another derived value of the source that is not read any more")
    func r040() {
        let (graph, t, s) = (DerivedGraph(.observed), Observed(true), Observed(1))
        let p = graph.derived("p") { get in get(t) ? get(s) : 111 }
        let q = graph.derived("q") { get in get(s) }
        graph.begin(p)
        t.value = false
        s.value = 2
        #expect(q.value == 2 && s.observationCount == 0)
    }

    @Test("R041 What is derived of whether there is something", arguments: GraphUse.allCases)
    func r041(use: GraphUse) {
        let (graph, items) = (DerivedGraph(use), Observed<[Int]?>(nil))
        let l = graph.derived("l") { get in get(items) != nil }
        let m = graph.derived("m") { get in get(l) ? "y" : "n" }
        graph.begin(m)
        items.value = [1]
        #expect(l.value && m.value == "y")
        graph.forget()
        items.value = [4]
        #expect(l.value)
        graph.expect(m, "y", "l", "")
        items.value = nil
        graph.expect(m, "n", "l m")
    }

    @Test("R042 What is not needed any more does not run: a source before it has changed")
    func r042() {
        // The two changes come one after the other, and no read between them: to a reader they are
        // one.
        let (graph, a, b) = (DerivedGraph(.read), Observed(0), Observed(0))
        let c = graph.derived("c") { get in get(b) }
        let d = graph.derived("d") { get in get(a) == 0 ? get(c) : 0 }
        graph.begin(d)
        b.value = 1
        a.value = 1
        graph.expect(d, 0, "d")
    }

    @Test("R043 A derived value that is skipped after the first has changed")
    func r043() {
        let (graph, a, b, c) = (DerivedGraph(.read), Observed(1), Observed(1), Observed(1))
        let d = graph.derived("d") { get in get(c) }
        let e = graph.derived("e") { get in get(a) > 0 ? get(b) + get(d) : get(b) }
        graph.begin(e)
        for property in [a, b, c] { property.value = 2 }
        graph.expect(e, 4, "d e")
        for property in [a, b, c] { property.value = -1 }
        graph.expect(e, -1, "e")
    }

    @Test("R044 Two with overlapping branches", arguments: GraphUse.allCases)
    func r044(use: GraphUse) {
        let (graph, a, b, c) = (DerivedGraph(use), Observed(1), Observed(2), Observed(0))
        let f = graph.derived("f") { get in (get(c) < 2 ? get(a) : 0) + (get(c) > 1 ? get(b) : 0) }
        let g = graph.derived("g") { get in (get(c) > 1 ? get(a) : 0) + (get(c) < 3 ? get(b) : 0) + get(f) }
        graph.begin(g)
        #expect([f.value, g.value] == [1, 3])
        b.value = 3
        graph.expect(g, 4, "g")
        c.value = 2
        #expect([f.value, g.value] == [3, 7])
    }

    @Test("R045 A list of properties: those that are dropped are not followed", arguments: GraphUse.allCases)
    func r045(use: GraphUse) {
        let graph = DerivedGraph(use)
        let strings = (0..<8).map { Observed("\($0)") }
        let list = Observed(strings)
        let joined = graph.derived("joined") { get in
            var text = ""
            for property in get(list) { text += get(property) }
            return text
        }
        graph.begin(joined)
        list.value = Array(strings.prefix(5))
        graph.expect(joined, "01234", "joined")
        list.value = Array(strings.suffix(5))
        graph.expect(joined, "34567", "joined")
        strings[0].value = "x"
        graph.expect(joined, "34567", "", "")
        #expect(strings[0].observationCount == 0)
        strings[7].value = "y"
        graph.expect(joined, "3456y", "joined")
        #expect(strings[7].observationCount == (use == .observed ? 1 : 0))
    }

    @Test("R045 A property that is dropped is not retained until the next read")
    func r045Retains() {
        var dropped: Observed<Int>? = Observed(1)
        let life = Weak(dropped!)
        let list = Observed([dropped!])
        let sum = Derived { get in
            var sum = 0
            for property in get(list) { sum += get(property) }
            return sum
        }
        #expect(sum.value == 1)
        dropped = nil
        list.value = []
        #expect(throws: Never.self) { try eventually("the end of a dropped property") { life.object == nil } }
        #expect(sum.value == 0)
    }

    @Test("R046 A property in a property", arguments: GraphUse.allCases)
    func r046(use: GraphUse) {
        let (graph, first, second) = (DerivedGraph(use), Observed(1), Observed(10))
        let p = Observed(first)
        let c = graph.derived("c") { get in get(get(p)) }
        graph.begin(c)
        first.value = 2
        graph.expect(c, 2, "c")
        p.value = second
        graph.expect(c, 10, "c")
        first.value = 3
        graph.expect(c, 10, "", "")
        let (q, doubled) = (Observed(first.map { 2 * $0 }), second.map { 2 * $0 })
        let d = graph.derived("d") { get in get(get(q)) }
        graph.begin(d)
        first.value = 4
        graph.expect(d, 8, "d")
        q.value = doubled
        graph.expect(d, 20, "d")
    }

    @Test("R047 A list of properties, and an optional one", arguments: GraphUse.allCases)
    func r047(use: GraphUse) {
        let (graph, all) = (DerivedGraph(use), [Observed(1), Observed(2), Observed(3)])
        let list = Observed(all)
        let values = graph.derived("values") { get in
            var values: [Int] = []
            for property in get(list) { values.append(get(property)) }
            return values
        }
        graph.begin(values)
        all[1].value = 100
        graph.expect(values, [1, 100, 3], "values")
        list.value = [all[2], all[1]]
        graph.expect(values, [3, 100], "values")
        let optional = Observed<Observed<Int>?>(nil)
        let value = graph.derived("value") { get -> Int? in
            if let property = get(optional) { get(property) } else { nil }
        }
        graph.begin(value)
        optional.value = all[0]
        graph.expect(value, 1, "value", "Optional(1)")
        all[0].value = 7
        graph.expect(value, 7, "value", "Optional(7)")
    }

    @Test("R048 An index into what is made in the function", arguments: GraphUse.allCases)
    func r048(use: GraphUse) {
        let (graph, n) = (DerivedGraph(use), Observed(0))
        let c = graph.derived("c") { get in [2 * get(n), get(n)][get(n) % 2] }
        graph.begin(c)
        n.value = 1
        graph.expect(c, 1, "c")
        n.value = 2
        graph.expect(c, 4, "c")
    }
}

// Equality. (P24)
extension Promises.DerivedCases {
    @Test(
        "R049 A source is set to an equal value: it runs at most once more, below nothing runs",
        arguments: GraphUse.allCases
    )
    func r049(use: GraphUse) {
        let (graph, a) = (DerivedGraph(use), Observed(1))
        let c = graph.derived("c") { get in get(a) }
        let d = graph.derived("d") { get in get(c) }
        graph.begin(d)
        a.value = 1
        graph.expect(d, 1, "c", "")
    }

    @Test("R050 A result that stays: below nothing runs", arguments: GraphUse.allCases)
    func r050(use: GraphUse) {
        let (graph, a) = (DerivedGraph(use), Observed(1))
        let b = graph.derived("b") { get in get(a) > 0 }
        let c = graph.derived("c") { get in get(b) }
        let d = graph.derived("d") { get in get(c) }
        graph.begin(d)
        a.value = 2
        graph.expect(d, true, "b", "")
    }

    @Test("R051 An even number three times")
    func r051() {
        let (graph, s) = (DerivedGraph(.observed), Observed(0))
        let x = graph.derived("x") { get in get(s) % 2 }
        let y = graph.derived("y") { get in get(x) + 1 }
        graph.begin(y)
        for value in [2, 4, 6] { s.value = value }
        graph.expect(y, 1, "x x x", "")
    }

    @Test("R052 A clamped value", arguments: GraphUse.allCases)
    func r052(use: GraphUse) {
        let (graph, a) = (DerivedGraph(use), Observed(0))
        let b = graph.derived("b") { get in min(max(get(a), 0), 10) }
        let c = graph.derived("c") { get in get(b) }
        graph.begin(c)
        a.value = -1
        graph.expect(c, 0, "b", "")
        a.value = 5
        graph.expect(c, 5, "b c")
        a.value = 11
        graph.expect(c, 10, "b c")
        a.value = 20
        graph.expect(c, 10, "b", "")
    }

    @Test("R053 Two changes in one commit whose sum is the same", arguments: GraphUse.allCases)
    func r053(use: GraphUse) {
        let (graph, a, b) = (DerivedGraph(use), Observed(0), Observed(0))
        let c = graph.derived("c") { get in get(a) + get(b) }
        graph.begin(c)
        Group(a, b).commit { transaction in
            transaction[a] = 1
            transaction[b] = -1
        }
        graph.expect(c, 0, "c", "")
    }

    @Test("R054 Results that cannot be compared: every run is a change")
    func r054() {
        struct Incomparable: Sendable { let number: Int }
        let (graph, a) = (DerivedGraph(.observed), Observed(0))
        let c = graph.incomparable("c") { get in Incomparable(number: get(a) * 0) }
        graph.begin(c)
        a.value = 1
        a.value = 2
        #expect(graph.news.split(separator: "I").count == 2 && graph.runs == "c c")
    }

    @Test("R055 NaN after NaN is a change, as == says")
    func r055() {
        let (graph, a) = (DerivedGraph(.observed), Observed(0))
        let c = graph.derived("c") { get in Double(get(a)) * .nan }
        graph.begin(c)
        a.value = 1
        #expect(graph.news == "nan")
    }

    @Test("R056 The same object again: its == decides, if it has one")
    func r056() {
        let (graph, a, object) = (DerivedGraph(.observed), Observed(0), Counter())
        let plain = graph.incomparable("c") { get in
            _ = get(a)
            return object
        }
        graph.begin(plain)
        a.value = 1
        #expect(!graph.news.isEmpty)
        let compared = Derived { get in Compared(get(a) * 0) }
        let news = Counter()
        let token = compared.observe { _ in news.increment() }
        a.value = 2
        #expect(news.value == 0)
        token.cancel()
    }

    @Test("R057 A parity", arguments: GraphUse.allCases)
    func r057(use: GraphUse) {
        let (graph, a) = (DerivedGraph(use), Observed(42))
        let c = graph.derived("c") { get in get(a) % 2 }
        graph.begin(c)
        for value in [42, 43, 45, 46] {
            a.value = value
            #expect(c.value == value % 2)
        }
        if use == .observed { #expect(graph.news == "1 0") }
    }

    @Test("R058 A rule of one's own compares with the last result that was one")
    func r058() {
        let (graph, a) = (DerivedGraph(.observed), Observed(0.0))
        let c = a.removingDuplicates(by: { abs($0 - $1) < 0.1 }).map { $0 }
        graph.begin(c)
        for step in 1...10 { a.value = Double(step) * 0.04 }
        #expect(graph.news == "0.12 0.24 0.36")
    }
}
