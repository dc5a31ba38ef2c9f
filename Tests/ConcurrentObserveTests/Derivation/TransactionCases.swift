// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

// Transactions: commits of a group. (P19, P24)
extension Promises.DerivedCases {
    @Test("R085 Set three times in a body: one run, one call", arguments: GraphUse.allCases)
    func r085(use: GraphUse) {
        let (graph, a) = (DerivedGraph(use), Observed(0))
        let c = graph.derived("c") { get in get(a) }
        graph.begin(c)
        PropertyList([a]).commit { transaction in for value in 1...3 { transaction[a] = value } }
        graph.expect(c, 3, "c")
        a.value = 4
        graph.expect(c, 4, "c")
    }

    @Test("R086 Two sources in one commit: one run, one call", arguments: GraphUse.allCases)
    func r086(use: GraphUse) {
        let (graph, a, b) = (DerivedGraph(use), Observed(0), Observed(0))
        let c = graph.derived("c") { get in get(a) + get(b) }
        graph.begin(c)
        Group(a, b).commit { transaction in
            transaction[a] = 1
            transaction[b] = 1
        }
        graph.expect(c, 2, "c")
    }

    @Test("R087 Set and set back in a body: a change to an equal value", arguments: GraphUse.allCases)
    func r087(use: GraphUse) {
        let (graph, a, log) = (DerivedGraph(use), Observed(0), Log<String>())
        let c = graph.derived("c") { get in 2 * get(a) }
        let below = graph.derived("d") { get in get(c) }
        graph.begin(below)
        let token = a.observe { log.append($0.line) }
        for round in 1...3 {
            PropertyList([a]).commit { transaction in
                transaction[a] = 5
                transaction[a] = 0
            }
            graph.expect(below, 0, "c", "")
            #expect(log.entries.last == "valueChanged 0 → 0 @\(round)" && log.count == round)
        }
        token.cancel()
    }

    @Test("R088 One source set back, another one changed: one run", arguments: GraphUse.allCases)
    func r088(use: GraphUse) {
        let (graph, a, b) = (DerivedGraph(use), Observed(0), Observed(0))
        let x = graph.derived("x") { get in 2 * get(a) }
        let y = graph.derived("y") { get in get(x) + get(b) }
        graph.begin(y)
        Group(a, b).commit { transaction in
            transaction[a] = 5
            transaction[a] = 0
            transaction[b] = 20
        }
        graph.expect(y, 20, "x y")
    }

    @Test("R089 A body that throws after setting: everything is as before", arguments: GraphUse.allCases)
    func r089(use: GraphUse) {
        let (graph, a, b) = (DerivedGraph(use), Observed(1), Observed(2))
        let c = graph.derived("c") { get in get(a) + get(b) }
        graph.begin(c)
        #expect(throws: Mishap.zero) {
            try Group(a, b).commit { transaction throws(Mishap) in
                transaction[a] = 10
                transaction[b] = 20
                throw Mishap.zero
            }
        }
        #expect(a.snapshot() == (1, 0) && b.snapshot() == (2, 0))
        graph.expect(c, 3, "", "")
    }

    @Test("R090 A draft reads back what was set; the result is the body's")
    func r090() {
        let (a, b) = (Observed(1), Observed(2))
        let sum = Group(a, b).commit { transaction in
            transaction[a] = 10
            #expect(transaction[a] == 10 && transaction[b] == 2 && a.value == 1)
            return transaction[a] + transaction[b]
        }
        #expect(sum == 12)
    }

    @Test("R091 An observation that the body ends receives nothing")
    func r091() {
        let (a, b, log) = (Observed(0), Observed(0), Log<Int>())
        let c = Derived { get in get(a) + get(b) }
        let token = c.observe { log.append($0.new) }
        Group(a, b).commit { transaction in
            transaction[a] = 1
            transaction[b] = 1
            token.cancel()
        }
        #expect(log.count == 0 && c.value == 2)
    }

    @Test("R093 A commit, or a set, in a body traps")
    func r093() async {
        await #expect(processExitsWith: .failure) {
            let (a, b) = (Observed(0), Observed(0))
            Group(a, b).commit { _ in Group(a, b).commit { _ in } }
        }
        await #expect(processExitsWith: .failure) {
            let (a, b, other) = (Observed(0), Observed(0), Observed(0))
            Group(a, b).commit { _ in other.value = 1 }
        }
    }

    @Test("R094 Each change by itself makes a result, a commit of both one")
    func r094() {
        let (graph, a, b) = (DerivedGraph(.observed), Observed(0), Observed(0))
        let c = graph.derived("c") { get in get(a) * get(b) }
        graph.begin(c)
        for number in 1...5 {
            a.value = number
            b.value = number
            // At the first, 1 · 0 equals 0 · 0.
            graph.expect(c, number * number, "c c", number == 1 ? "1" : "\(number * (number - 1)) \(number * number)")
        }
        for number in 6...9 {
            Group(a, b).commit { transaction in
                transaction[a] = number
                transaction[b] = number
            }
            graph.expect(c, number * number, "c")
        }
    }

    @Test("R095 After a commit an observer of one source sees the others new, and what is derived of them")
    func r095() {
        let (a, b, log) = (Observed(0), Observed(0), Log<String>())
        let c = Derived { get in get(a) + get(b) }
        let tokens = [
            a.observe { log.append("a \($0.new) \(b.value) \(c.value)") },
            b.observe { log.append("b \(a.value) \($0.new) \(c.value)") },
            c.observe { log.append("c \(a.value) \(b.value) \($0.new)") },
        ]
        Group(b, a).commit { transaction in
            transaction[a] = 1
            transaction[b] = 2
        }
        #expect(log.entries.sorted() == ["a 1 2 3", "b 1 2 3", "c 1 2 3"])
        withExtendedLifetime(tokens) {}
    }
}
