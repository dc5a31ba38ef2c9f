// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

// Laziness and counts. (P24)
extension Promises.DerivedCases {
    @Test("R021 Unobserved and never read, it never runs, and is registered nowhere")
    func r021() {
        let (graph, a) = (DerivedGraph(.read), Observed(0))
        let c = graph.derived("c") { get in get(a) }
        a.value = 1
        #expect(graph.runs.isEmpty)
        #expect(a.observationCount == 0)
        #expect(c.value == 1 && a.observationCount == 0)
    }

    @Test("R022 A second read runs nothing; several changes, one read: one run")
    func r022() {
        let (graph, a, b) = (DerivedGraph(.read), Observed(0), Observed(0))
        let c = graph.derived("c") { get in get(a) + get(b) }
        graph.begin(c)
        #expect(c.value == 0)
        graph.expect(c, 0, "")
        (a.value, b.value, a.value) = (1, 2, 3)
        graph.expect(c, 5, "c")
    }

    @Test("R023 Of no sources: one run for ever", arguments: GraphUse.allCases)
    func r023(use: GraphUse) {
        let (graph, count) = (DerivedGraph(use), Counter())
        let c = graph.derived("c") { _ in count.value }
        graph.begin(c)
        count.increment()
        graph.expect(c, 0, "", "")
    }

    @Test("R024 Made, or observed with .initial, after a change: the first value is right")
    func r024() {
        let (graph, a) = (DerivedGraph(.read), Observed(0))
        let c = graph.derived("c") { get in get(a) }
        a.value = 5
        let log = Log<Int>()
        let token = c.observe(options: .initial) { log.append($0.new) }
        #expect(log.entries == [5] && c.value == 5 && graph.runs == "c")
        token.cancel()
    }

    @Test("R025 Nil is a value", arguments: GraphUse.allCases)
    func r025(use: GraphUse) {
        let (graph, a) = (DerivedGraph(use), Observed(0))
        let c = graph.derived("c") { get -> Int? in get(a) == 0 ? nil : get(a) }
        graph.begin(c)
        #expect(c.value == nil && graph.runs.isEmpty)
        a.value = 1
        graph.expect(c, 1, "c", "Optional(1)")
        a.value = 0
        graph.expect(c, nil, "c", "nil")
    }

    @Test("R026 Read thrice in one function: one registration, one run, one call")
    func r026() {
        let (graph, a) = (DerivedGraph(.observed), Observed(0))
        let c = graph.derived("c") { get in get(a) + get(a) + get(a) }
        graph.begin(c)
        #expect(a.observationCount == 1)
        a.value = 1
        graph.expect(c, 3, "c", "3")
    }

    @Test("R027 Read, then observed: no run")
    func r027() {
        let (graph, a) = (DerivedGraph(.read), Observed(0))
        let c = graph.derived("c") { get in get(a) }
        #expect(c.value == 0)
        graph.forget()
        graph.observe(c)
        #expect(graph.runs.isEmpty)
        a.value = 1
        #expect(graph.news == "1")
    }

    @Test("R028 The observer ends: nothing runs, the source's others go on, a later read is right")
    func r028() {
        let (graph, a) = (DerivedGraph(.observed), Observed(0))
        let b = graph.derived("b") { get in get(a) }
        let c = graph.derived("c") { get in get(b) }
        graph.begin(c)
        let others = Counter()
        let other = a.observe { _ in others.increment() }
        graph.end()
        a.value = 1
        #expect(graph.runs.isEmpty && graph.news.isEmpty && others.value == 1)
        #expect(c.value == 1 && graph.runs == "b c")
        other.cancel()
    }

    @Test("R029 Observed, a read after the change runs nothing")
    func r029() {
        let (graph, a) = (DerivedGraph(.observed), Observed(0))
        let c = graph.derived("c") { get in get(a) }
        graph.begin(c)
        a.value = 1
        #expect(graph.runs == "c")
        graph.expect(c, 1, "", "1")
    }

    @Test("R030 An observer of the source, registered first, reads the new value: one run, one call")
    func r030() {
        let (graph, a, seen) = (DerivedGraph(.observed), Observed(0), Log<Int>())
        let c = graph.derived("c") { get in get(a) }
        let token = a.observe { _ in seen.append(c.value) }
        graph.begin(c)
        a.value = 1
        #expect(seen.entries == [1])
        graph.expect(c, 1, "c", "1")
        token.cancel()
    }

    @Test("R031 What is not read does not run")
    func r031() {
        let (graph, f, p, q) = (DerivedGraph(.observed), Observed(true), Observed(1), Observed(2))
        let x = graph.derived("x") { get in get(p) }
        let y = graph.derived("y") { get in get(q) }
        let c = graph.derived("c") { get in get(f) ? get(x) : get(y) }
        graph.begin(c)
        q.value = 3
        graph.expect(c, 1, "", "")
    }

    @Test("R032 Observed, ended, changed, observed again with .initial")
    func r032() throws {
        let (graph, a, log) = (DerivedGraph(.read), Observed(0), Log<Int>())
        let c = graph.derived("c") { get in get(a) }
        let first = c.observe { _ in }
        first.cancel()
        try Process.settle()
        graph.forget()
        a.value = 2
        let second = c.observe(options: .initial) { log.append($0.new) }
        #expect(log.entries == [2] && graph.runs == "c")
        a.value = 3
        #expect(log.entries == [2, 3])
        second.cancel()
    }

    @Test("R033 Mapped to a constant, by a key path; a combination of nothing")
    func r033() {
        let (graph, a) = (DerivedGraph(.observed), Observed("a"))
        let (constant, count) = (a.map { _ in 1 }, a.map(\.count))
        graph.begin(constant)
        a.value = "b"
        #expect(graph.news.isEmpty)
        graph.begin(count)
        a.value = "cd"
        #expect(graph.news == "2")
        let nothing = Derived { _ in 7 }
        graph.begin(nothing)
        a.value = "e"
        #expect(nothing.value == 7 && graph.news == "1")
    }

    @Test("R034 Combined of combined: value, observer and a newcomer's .initial agree")
    func r034() {
        let (a, b, c) = (Observed(1), Observed(100), Observed(10_000))
        let sum = a.combine(b, +).combine(c, +)
        let (news, initial) = (Log<Int>(), Log<Int>())
        let token = sum.observe { news.append($0.new) }
        a.value = 2
        b.value = 200
        a.value = 3
        a.value = 4
        let newcomer = sum.observe(options: .initial) { initial.append($0.new) }
        #expect(news.entries == [10_102, 10_202, 10_203, 10_204])
        #expect(initial.entries == [10_204] && sum.value == 10_204)
        token.cancel()
        newcomer.cancel()
    }
}
