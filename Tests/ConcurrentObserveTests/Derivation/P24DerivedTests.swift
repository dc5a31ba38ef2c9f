// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P24 Derived values are lazy, and evaluated no more than needed")
    struct P24DerivedTests {}
}

extension Promises.P24DerivedTests {
    @Test("P24 P8 Of a group's members, read together, an observed value follows each, also after cancellations at one")
    func followsMembers() {
        let (first, second, runs) = (Observed(1), Observed(2), Counter())
        let derived = Derived { get in
            let (left, right) = get(Group(first, second))
            runs.increment()
            return left + right + get(PropertyList([first, second])).reduce(0, +)
        }
        let received = Log<Int>()
        let token = derived.observeValues { received.append($0) }
        #expect(first.observationCount == 1 && second.observationCount == 1)
        first.cancelAllObservations()
        first.value = 10
        Group(first, second).commit { transaction in
            transaction[first] = 20
            transaction[second] = 3
        }
        #expect(received.entries == [24, 46])
        #expect(runs.value == 3)
        #expect(token.cancelAndWaitBlocking() == .finished)
        #expect(first.observationCount == 0 && second.observationCount == 0)
    }

    @Test("P22 P23 Beside commits, what a function reads of a group, and beside it, was present together")
    func groupBesideCommits() throws {
        let (first, second, mixtures) = (Observed(0), Observed(0), Counter())
        let derived = Derived { get in
            let (left, right) = get(Group(first, second))
            if left != right { mixtures.increment() }
            return (left, get(first))
        }
        let results = Counter()
        let token = derived.observe { change in if change.new.0 != change.new.1 { results.increment() } }
        try onThreads(3) { thread in
            for _ in 0..<2_000 {
                if thread == 0 {
                    let (left, right) = derived.value
                    if left != right { results.increment() }
                } else {
                    Group(first, second).commit { transaction in
                        transaction[first] += 1
                        transaction[second] += 1
                    }
                }
            }
        }
        #expect(mixtures.value == 0 && results.value == 0)
        #expect(derived.value == (4_000, 4_000))
        token.cancel()
    }

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
