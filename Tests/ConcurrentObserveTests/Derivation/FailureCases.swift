// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

// Errors are values. (P25)
extension Promises.DerivedCases {
    /// Returns the number, or fails if it is zero.
    private static func notZero(_ number: Int) throws(Mishap) -> Int {
        if number == 0 { throw .zero }
        return number
    }

    @Test("R059 Fails, recovers, fails, recovers", arguments: GraphUse.allCases)
    func r059(use: GraphUse) {
        let (graph, a) = (DerivedGraph(use), Observed(0))
        let b = graph.failing("b") { get throws(Mishap) in try Self.notZero(get(a)) }
        graph.begin(b)
        #expect(b.value == .failure(.zero))
        a.value = 1
        graph.expect(b, .success(1), "b")
        a.value = 0
        graph.expect(b, .failure(.zero), "b")
        a.value = 2
        graph.expect(b, .success(2), "b")
    }

    @Test("R060 An error is kept")
    func r060() {
        let (graph, a) = (DerivedGraph(.read), Observed(0))
        let b = graph.failing("b") { get throws(Mishap) in try Self.notZero(get(a)) }
        #expect(b.value == b.value && graph.runs == "b")
    }

    @Test("R061 An error goes through", arguments: GraphUse.allCases)
    func r061(use: GraphUse) {
        let (graph, a) = (DerivedGraph(use), Observed(0))
        let b = graph.failing("b") { get throws(Mishap) in
            if get(a) < 0 { throw .negative }
            return try Self.notZero(get(a))
        }
        let c = graph.failing("c") { get throws(Mishap) in try get(b).get() }
        graph.begin(c)
        #expect(c.value == .failure(.zero) && graph.runs.isEmpty)
        a.value = -1
        graph.expect(c, .failure(.negative), "b c")
        a.value = 3
        graph.expect(c, .success(3), "b c")
    }

    @Test("R062 An error is caught", arguments: GraphUse.allCases)
    func r062(use: GraphUse) {
        let (graph, a) = (DerivedGraph(use), Observed(0))
        let b = graph.failing("b") { get throws(Mishap) in try Self.notZero(get(a) * 0) }
        let c = graph.derived("c") { get in
            if case .failure = get(b) { "ok" } else { "none" }
        }
        graph.begin(c)
        a.value = 1
        // The error equals the one before, so that what catches it need not run. (Other suites: it
        // runs, since errors are not compared.)
        graph.expect(c, "ok", "b", "")
    }

    @Test("R063 A neighbour's failure", arguments: GraphUse.allCases)
    func r063(use: GraphUse) {
        let (graph, a, x) = (DerivedGraph(use), Observed(1), Observed(5))
        let bad = graph.failing("bad") { get throws(Mishap) in try Self.notZero(get(a)) }
        let good = graph.derived("good") { get in get(x) }
        graph.begin(bad)
        graph.begin(good)
        a.value = 0
        #expect(good.value == 5 && bad.value == .failure(.zero))
        #expect(graph.runs == "bad")
    }

    @Test("R064 Error, another value, error: one change each, and the set goes through")
    func r064() {
        let (graph, a) = (DerivedGraph(.observed), Observed(1))
        let b = graph.failing("b") { get throws(Mishap) in try Self.notZero(get(a)) }
        graph.begin(b)
        a.value = 0
        a.value = 2
        a.value = 0
        let parts = graph.news.components
        #expect(parts == 3 && a.value == 0)
    }

    @Test("R065 What was read before the error is what it depends on", arguments: GraphUse.allCases)
    func r065(use: GraphUse) {
        let (graph, a, b) = (DerivedGraph(use), Observed(0), Observed(1))
        let c = graph.failing("c") { get throws(Mishap) in try Self.notZero(get(a)) + get(b) }
        graph.begin(c)
        b.value = 2
        graph.expect(c, .failure(.zero), "", "")
        a.value = 1
        graph.expect(c, .success(3), "c")
    }

    @Test("R066 One kind of error is recovered, others go on", arguments: GraphUse.allCases)
    func r066(use: GraphUse) {
        let (graph, a) = (DerivedGraph(use), Observed(1))
        let b = graph.failing("b") { get throws(Mishap) in
            if get(a) < 0 { throw .negative }
            return try Self.notZero(get(a))
        }
        let c = graph.failing("c") { get throws(Mishap) in
            if case .failure(.zero) = get(b) { return 99 }
            return try get(b).get()
        }
        graph.begin(c)
        a.value = 0
        graph.expect(c, .success(99), "b c")
        a.value = -1
        graph.expect(c, .failure(.negative), "b c")
    }

    @Test("R067 Fails from the start: it can be made and observed, and .initial has the error")
    func r067() {
        let (graph, a, log) = (DerivedGraph(.read), Observed(0), Log<Result<Int, Mishap>>())
        let b = graph.failing("b") { get throws(Mishap) in try Self.notZero(get(a)) }
        let token = b.observe(options: .initial) { log.append($0.new) }
        #expect(log.entries == [.failure(.zero)])
        a.value = 1
        #expect(log.entries == [.failure(.zero), .success(1)])
        token.cancel()
    }
}

extension String {
    /// The number of results in the list.
    fileprivate var components: Int {
        split(separator: " ").count { $0.hasPrefix("success") || $0.hasPrefix("failure") }
    }
}

// Cycles trap, with the path. (P25)
extension Promises.DerivedCases {
    @Test("R068 One that reads itself, tracked or not")
    func r068() async {
        await #expect(processExitsWith: .failure) {
            let own = Slot<Derived<Int>>()
            let c = Derived { get in get(own.value!) + 1 }
            own.put(c)
            print(c.value)
        }
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let own = Slot<Derived<Int>>()
            let c = Derived { _ in own.value!.value + 1 }
            own.put(c)
            print(c.value)
        }
        #expect(
            result.map { String(decoding: $0.standardErrorContent, as: UTF8.self).contains("needs itself") } == true
        )
    }

    @Test("R069 Rings of two and three; the message names the path")
    func r069() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let slot = Slot<Derived<Int>>()
            let a = Derived(fileID: "a", line: 1) { get in get(slot.value!) }
            let b = Derived(fileID: "b", line: 2) { get in get(a) }
            slot.put(b)
            let d = Derived(fileID: "d", line: 3) { get in get(b) }
            print(d.value)
        }
        #expect(
            result.map { String(decoding: $0.standardErrorContent, as: UTF8.self).contains("b:2 → a:1 → b:2") } == true
        )
        await #expect(processExitsWith: .failure) {
            let slot = Slot<Derived<Int>>()
            let a = Derived { get in get(slot.value!) }
            let c = Derived { get in get(a) }
            slot.put(Derived { get in get(c) })
            print(a.value)
        }
    }

    @Test("R070 A ring that a source closes: the read traps; observed, the set")
    func r070() async {
        await #expect(processExitsWith: .failure) {
            let (k, slot) = (Observed(false), Slot<Derived<Int>>())
            let b = Derived { get in get(k) ? get(slot.value!) : 0 }
            let a = Derived { get in get(b) }
            slot.put(a)
            check(a.value == 0, "the value is wrong before there is a ring")
            k.value = true
            print(a.value)
        }
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let (k, slot) = (Observed(false), Slot<Derived<Int>>())
            let b = Derived { get in get(k) ? get(slot.value!) : 0 }
            let a = Derived { get in get(b) }
            slot.put(a)
            let token = a.observe { _ in }
            k.value = true
            token.cancel()
            check(false, "the set has not trapped")
        }
        #expect(
            result.map { String(decoding: $0.standardErrorContent, as: UTF8.self).contains("needs itself") } == true
        )
    }

    @Test("R071 A ring that is never read; what is read by two ways is none", arguments: GraphUse.allCases)
    func r071(use: GraphUse) {
        let (graph, slot, s) = (DerivedGraph(use), Slot<Derived<Int>>(), Observed(1))
        let a = Derived { get in get(slot.value!) }
        slot.put(Derived { get in get(a) })
        let b = graph.derived("b") { get in get(s) }
        let c = graph.derived("c") { get in get(b) + get(b) }
        let d = graph.derived("d") { get in get(b) + get(c) }
        graph.begin(d)
        s.value = 2
        graph.expect(d, 6, "b c d")
        slot.clear()
    }

    @Test("R072 An observer that sets the source, with an end")
    func r072() {
        let (a, log) = (Observed(0), Log<(UInt64, Int)>())
        let c = Derived { get in get(a) }
        let token = c.observe { change in
            log.append((change.version, change.new))
            if change.new < 5 { a.value = change.new + 1 }
        }
        a.value = 1
        #expect(a.value == 5 && log.entries.max { $0.0 < $1.0 }?.1 == 5)
        token.cancel()
    }

    @Test("R072 And without")
    func r072Endless() async {
        await #expect(processExitsWith: .failure) {
            let a = Observed(0)
            let c = Derived { get in get(a) }
            let token = c.observe { change in a.value = change.new + 1 }
            a.value = 1
            token.cancel()
        }
    }
}
