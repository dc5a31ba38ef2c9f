// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P24 Derived values are lazy, and evaluated no more than needed")
    struct P24DerivedTests {}
}

extension Promises.P24DerivedTests {
    @Test("P24 Unobserved, a source that only the function of another time has read is not retained")
    func retention() throws {
        let k = Observed(true)
        var source: Observed<Int>? = Observed(1)
        let reference = Weak(source!)
        let slot = Slot(source!)
        let c = Derived { get in get(k) ? slot.value.map { get($0) } ?? 0 : -1 }
        #expect(c.value == 1)
        slot.clear()
        source = nil
        try eventually("the end of a source") { reference.object == nil }
        #expect(c.value == 1)
        k.value = false
        #expect(c.value == -1)
    }

    @Test("P24 Observed, one evaluation for each change, whatever is read meanwhile")
    func counts() {
        let (graph, a) = (DerivedGraph(.observed), Observed(0))
        let c = graph.derived("c") { get in get(a) }
        graph.begin(c)
        let token = c.observe { _ in _ = c.value }
        for value in 1...3 { a.value = value }
        #expect(graph.runs == "c c c" && graph.news == "1 2 3")
        token.cancel()
    }

    @Test("P24 A source that dies under an observed derived value: the link goes with it, the others go on")
    func death() {
        let (a, slot) = (Observed(0), Slot(Observed(5)))
        let c = Derived { get in get(a) + (slot.value.map { get($0) } ?? 0) }
        let received = ReceivedChanges<Int>()
        let token = c.observe(received)
        slot.clear()
        a.value = 1
        #expect(received.changes.map(\.new) == [1] && token.isActive)
        token.cancel()
    }

    @Test("P24 cancelAllObservations ends those of the derived value, and not the links of others")
    func removal() {
        let (a, calls) = (Observed(0), Counter())
        let c = a.map { $0 }
        let (first, second) = (c.observe { _ in calls.increment() }, a.observe { _ in calls.add(100) })
        a.cancelAllObservations()
        #expect(!second.isActive && first.isActive)
        a.value = 1
        #expect(calls.value == 1)
        c.cancelAllObservations()
        a.value = 2
        #expect(calls.value == 1 && !first.isActive && c.observationCount == 0)
    }
}
