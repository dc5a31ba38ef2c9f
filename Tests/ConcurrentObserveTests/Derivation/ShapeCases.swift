// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

// Graph shape, no glitches. (P22, P23, P24)
extension Promises.DerivedCases {
    @Test("R001 A chain of three runs each once", arguments: GraphUse.allCases)
    func r001(use: GraphUse) {
        let (graph, a) = (DerivedGraph(use), Observed(0))
        let b = graph.derived("b") { get in get(a) }
        let c = graph.derived("c") { get in get(b) }
        let d = graph.derived("d") { get in get(c) }
        graph.begin(d)
        a.value = 1
        graph.expect(d, 1, "b c d")
    }

    @Test("R002 Read from either end, each runs once", arguments: GraphUse.allCases)
    func r002(use: GraphUse) {
        let (graph, a) = (DerivedGraph(use), Observed(0))
        let b = graph.derived("b") { get in get(a) + 1 }
        let c = graph.derived("c") { get in get(b) + 1 }
        let d = graph.derived("d") { get in get(c) + 1 }
        graph.begin(d)
        a.value = 10
        #expect([b.value, c.value, d.value] == [11, 12, 13])
        #expect(graph.runs == "b c d")
        a.value = 0
        #expect([d.value, c.value, b.value] == [3, 2, 1])
        #expect(graph.runs == "b c d")
    }

    @Test("R003 A diamond", arguments: GraphUse.allCases)
    func r003(use: GraphUse) {
        let (graph, a) = (DerivedGraph(use), Observed(42))
        let b = graph.derived("b") { get in get(a) + 1 }
        let c = graph.derived("c") { get in get(a) + 2 }
        let d = graph.derived("d") { get in get(b) * get(c) }
        graph.begin(d)
        a.value = 24
        graph.expect(d, 25 * 26, "b c d")
    }

    @Test("R004 A diamond with a tail", arguments: GraphUse.allCases)
    func r004(use: GraphUse) {
        let (graph, a) = (DerivedGraph(use), Observed(42))
        let b = graph.derived("b") { get in get(a) + 1 }
        let c = graph.derived("c") { get in get(a) + 2 }
        let d = graph.derived("d") { get in get(b) * get(c) }
        let e = graph.derived("e") { get in get(d) }
        graph.begin(e)
        a.value = 24
        graph.expect(e, 25 * 26, "b c d e")
    }

    @Test("R005 Two tails at a join that is reached by two ways", arguments: GraphUse.allCases)
    func r005(use: GraphUse) {
        let (graph, a) = (DerivedGraph(use), Observed(0))
        let b = graph.derived("b") { get in get(a) }
        let c = graph.derived("c") { get in get(a) }
        let d = graph.derived("d") { get in get(c) }
        let e = graph.derived("e") { get in get(b) + get(d) }
        let f = graph.derived("f") { get in get(e) }
        let g = graph.derived("g") { get in get(e) }
        graph.begin(f, g)
        for value in 1...2 {
            a.value = value
            #expect([e.value, f.value, g.value] == [2 * value, 2 * value, 2 * value])
            #expect(graph.runs == "b c d e f g")
        }
    }

    @Test("R006 Arms of unequal length", arguments: GraphUse.allCases, [(0, 2), (1, 2), (1, 3)])
    func r006(use: GraphUse, lengths: (Int, Int)) {
        let (graph, a) = (DerivedGraph(use), Observed(1))
        func arm(_ name: String, _ length: Int) -> Derived<Int>? {
            var last: Derived<Int>?
            for index in 0..<length {
                let before = last
                last = graph.derived("\(name)\(index)") { get in before.map { get($0) } ?? get(a) }
            }
            return last
        }
        let (left, right) = (arm("l", lengths.0), arm("r", lengths.1))
        let join = graph.derived("join") { get in (left.map { get($0) } ?? get(a)) + (right.map { get($0) } ?? get(a)) }
        graph.begin(join)
        a.value = 5
        #expect(join.value == 10)
        #expect(graph.runs.split(separator: " ").count { $0 == "join" } == 1)
        if use == .observed { #expect(graph.news == "10") }
    }

    @Test("R007 A source and what is derived of it, joined", arguments: GraphUse.allCases)
    func r007(use: GraphUse) {
        let (graph, a) = (DerivedGraph(use), Observed(2))
        let b = graph.derived("b") { get in get(a) - 1 }
        let c = graph.derived("c") { get in get(a) + get(b) }
        let d = graph.derived("d") { get in get(c) }
        graph.begin(d)
        #expect(d.value == 3)
        a.value = 4
        graph.expect(d, 7, "b c d")
    }

    @Test("R008 Constant arms beside one that changes", arguments: GraphUse.allCases)
    func r008(use: GraphUse) {
        let (graph, a) = (DerivedGraph(use), Observed(0))
        let b = graph.derived("b") { get in get(a) }
        let c = graph.derived("c") { get in get(a) * 0 }
        let d = graph.derived("d") { get in get(a) * 0 }
        let two = graph.derived("two") { get in get(b) + get(c) }
        let three = graph.derived("three") { get in get(c) + get(b) + get(d) }
        graph.begin(two, three)
        a.value = 7
        #expect([two.value, three.value] == [7, 7])
        #expect(graph.runs == "b c d three two")
    }

    @Test("R009 Both arms constant: the join does not run", arguments: GraphUse.allCases)
    func r009(use: GraphUse) {
        let (graph, a) = (DerivedGraph(use), Observed(0))
        let b = graph.derived("b") { get in get(a) * 0 }
        let c = graph.derived("c") { get in get(a) * 0 }
        let d = graph.derived("d") { get in get(b) + get(c) }
        graph.begin(d)
        a.value = 7
        graph.expect(d, 0, "b c", "")
    }

    @Test("R010 A function ends after those that it reads", arguments: GraphUse.allCases)
    func r010(use: GraphUse) {
        let (a, log) = (Observed(0), Log<String>())
        @Sendable func logged(_ name: String, _ value: Int) -> Int {
            log.append(name)
            return value
        }
        let b = Derived { get in logged("b", get(a)) }
        let c = Derived { get in logged("c", get(a)) }
        let d = Derived { get in logged("d", get(b) + get(c)) }
        let e = Derived { get in logged("e", get(d)) }
        let graph = DerivedGraph(use)
        graph.begin(e)
        a.value = 1
        #expect(e.value == 2)
        #expect(log.entries == ["b", "c", "d", "e", "b", "c", "d", "e"])
    }

    @Test("R011 A value, what is derived of it, and five arms", arguments: GraphUse.allCases)
    func r011(use: GraphUse) {
        let (graph, a) = (DerivedGraph(use), Observed(0))
        let b = graph.derived("b") { get in get(a) }
        let c = graph.derived("c") { get in get(a) + get(b) }
        let d = graph.derived("d") { get in get(a) + get(c) }
        graph.begin(d)
        a.value = 1
        graph.expect(d, 3, "b c d")
        let wide = DerivedGraph(use)
        let arms = (0..<5).map { index in wide.derived("\(index)") { get in get(a) + index } }
        let g = wide.derived("g") { get in
            var sum = 0
            for arm in arms { sum += get(arm) }
            return sum
        }
        wide.begin(g)
        a.value = 2
        wide.expect(g, 20, "0 1 2 3 4 g")
    }

    @Test("R012 Each reads the two before it, or one twice: no run more", arguments: GraphUse.allCases)
    func r012(use: GraphUse) {
        let (graph, a) = (DerivedGraph(use), Observed(0))
        let b = graph.derived("b") { get in get(a) }
        let c = graph.derived("c") { get in get(b) + get(a) }
        let d = graph.derived("d") { get in get(c) + get(b) }
        let e = graph.derived("e") { get in get(d) + get(c) }
        graph.begin(e)
        a.value = 1
        graph.expect(e, 5, "b c d e")
        let doubled = DerivedGraph(use)
        var last = doubled.derived("t") { get in get(a) + get(a) }
        for _ in 1..<20 {
            let before = last
            last = doubled.derived("t") { get in get(before) + get(before) }
        }
        doubled.begin(last)
        a.value = 3
        #expect(last.value == 3 << 20)
        #expect(doubled.runs.split(separator: " ").count == 20)
    }

    @Test("R013 Two diamonds, one above the other", arguments: GraphUse.allCases)
    func r013(use: GraphUse) {
        let (graph, a) = (DerivedGraph(use), Observed(1))
        let b = graph.derived("b") { get in get(a) }
        let c = graph.derived("c") { get in get(a) }
        let d = graph.derived("d") { get in get(b) + get(c) }
        let e = graph.derived("e") { get in get(d) }
        let f = graph.derived("f") { get in get(d) }
        let g = graph.derived("g") { get in get(e) + get(f) }
        graph.begin(g)
        #expect(g.value == 4)
        a.value = 2
        graph.expect(g, 8, "b c d e f g")
    }

    @Test("R014 Two sources in two functions, changed one after the other", arguments: GraphUse.allCases)
    func r014(use: GraphUse) {
        let (graph, a, b) = (DerivedGraph(use), Observed(1), Observed(10))
        let c = graph.derived("c") { get in get(a) + get(b) }
        let d = graph.derived("d") { get in get(a) * get(b) }
        let e = graph.derived("e") { get in get(c) + get(d) }
        graph.begin(e)
        #expect(e.value == 21)
        a.value = 2
        if use == .observed { graph.expect(e, 32, "c d e", "32") }
        b.value = 20
        graph.expect(e, 62, "c d e", "62")
    }

    @Test("R015 Six of one source, all observed")
    func r015() {
        let (graph, a) = (DerivedGraph(.observed), Observed(0))
        let six = (0..<6).map { index in graph.derived("c") { get in get(a) + index } }
        for derived in six { graph.begin(derived) }
        a.value = 10
        #expect(graph.news == "10 11 12 13 14 15")
        a.value = 20
        #expect(graph.news == "20 21 22 23 24 25")
    }

    @Test("R016 What changes by one of two ways", arguments: GraphUse.allCases)
    func r016(use: GraphUse) {
        let (graph, p, q) = (DerivedGraph(use), Observed(0), Observed(0))
        let x = graph.derived("x") { get in get(p) }
        let y = graph.derived("y") { get in get(p) % 2 + get(q) }
        let z = graph.derived("z") { get in get(x) + get(y) }
        graph.begin(z)
        p.value = 2
        graph.expect(z, 2, "x y z")
        q.value = 1
        graph.expect(z, 3, "y z")
    }

    @Test("R017 Four arms of two sources", arguments: GraphUse.allCases)
    func r017(use: GraphUse) {
        let (graph, s, f) = (DerivedGraph(use), Observed(1), Observed(0))
        let t = graph.derived("t") { get in get(s) > 0 }
        let u = graph.derived("u") { get in get(s) > 0 }
        let v = graph.derived("v") { get in get(s) }
        let w = graph.derived("w") { get in get(s) + get(f) }
        let z = graph.derived("z") { get in (get(t) ? 1 : 0) + (get(u) ? 1 : 0) + get(v) + get(w) }
        graph.begin(z)
        f.value = 1
        graph.expect(z, 5, "w z")
        s.value = 2
        graph.expect(z, 7, "t u v w z")
    }

    @Test("R018 The level of what is read changes", arguments: GraphUse.allCases)
    func r018(use: GraphUse) {
        let (graph, l) = (DerivedGraph(use), Observed(0))
        let l1 = graph.derived("l1") { get in get(l) + 1 }
        let l2 = graph.derived("l2") { get in get(l1) + 1 }
        let l3 = graph.derived("l3") { get in get(l2) + 1 }
        let x = graph.derived("x") { get in get(l) == 10 ? get(l3) : 42 }
        let y = graph.derived("y") { get in get(x) + get(l) }
        graph.begin(y)
        l.value = 5
        graph.expect(y, 47, "x y")
        l.value = 10
        graph.expect(y, 23, "l1 l2 l3 x y")
    }

    @Test("R019 Three observed of one change")
    func r019() {
        let (graph, v) = (DerivedGraph(.observed), Observed(1))
        let x = graph.derived("x") { get in 2 * get(v) }
        let y = graph.derived("y") { get in 3 * get(v) }
        let z = graph.derived("z") { get in get(x) + get(y) }
        graph.begin(x, y, z)
        v.value = 3
        #expect(graph.news == "6 9 15")
        #expect(graph.runs == "x y z")
    }

    @Test("R020 A chain of a thousand", arguments: GraphUse.allCases)
    func r020(use: GraphUse) throws {
        let isRight = Flag()
        // Each value is a few calls on the stack of the thread that reads.
        let thread = TestThread(stackSize: 8 << 20) {
            let (graph, a) = (DerivedGraph(use), Observed(0))
            var last = Derived { get in get(a) }
            for _ in 1..<1_000 {
                let before = last
                last = Derived { get in get(before) + 1 }
            }
            graph.begin(last)
            a.value = 1
            if last.value == 1_000, use == .read || graph.news == "1000" { isRight.set() }
        }
        try thread.join()
        #expect(isRight.isSet)
    }
}
