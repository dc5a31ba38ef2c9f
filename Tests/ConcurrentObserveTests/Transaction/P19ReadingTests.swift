// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P19 Properties that a commit reads")
    struct P19ReadingTests {}
}

private struct Refusal: Error {}

extension Promises.P19ReadingTests {
    @Test("P19 A property that a commit reads does not change, and its observers are not called")
    func reads() {
        let (member, limit, name) = (Observed(10), Observed(3), Observed("a"))
        let received = Counter()
        let tokens = [limit.observe { _ in received.increment() }, name.observe { _ in received.increment() }]
        let left = Group(member, name.readOnly).commit(reading: Group(limit, limit.readOnly)) { transaction in
            transaction[member] -= transaction[limit]
            return transaction[limit.readOnly]
        }
        #expect(left == 3 && member.snapshot() == (7, 1) && limit.snapshot() == (3, 0) && received.value == 0)
        withExtendedLifetime(tokens) {}
    }

    @Test("P19 A property that a commit reads and that is a member may be set; lists read, too")
    func both() {
        let (first, second) = (Observed(1), Observed(2))
        let list = PropertyList([first, second])
        list.commit(reading: first) { transaction in transaction[first] = transaction[second] }
        PropertyList([second]).commit(reading: list) { transaction in transaction[second] += transaction[first] }
        #expect(list.value == [2, 4] && first.version == 1 && second.version == 1)
    }

    @Test("P19 A body that throws releases what the commit reads")
    func throwing() {
        let (member, limit) = (Observed(10), Observed(3))
        #expect(throws: Refusal.self) {
            try Group(member, member).commit(reading: limit) { transaction throws(Refusal) in
                transaction[member] = transaction[limit]
                throw Refusal()
            }
        }
        limit.value = 4
        member.value = 11
        #expect(limit.snapshot() == (4, 1) && member.snapshot() == (11, 1))
    }

    @Test("P19 No other thread changes what a commit reads while its body runs")
    func heldStill() throws {
        let (member, limit) = (Observed(0), Observed(0))
        let written = Signal("the write after the body")
        let writer = Slot<TestThread>()
        Group(member, member).commit(reading: limit) { transaction in
            writer.put(
                TestThread {
                    limit.value = 1
                    written.happen()
                }
            )
            #expect(!written.happens(within: .milliseconds(5)))
            #expect(limit.value == 0)
            transaction[member] = transaction[limit]
        }
        try written.wait()
        try writer.take()?.join()
        #expect(member.snapshot() == (0, 1) && limit.snapshot() == (1, 1))
    }

    @Test("P19 Two commits that read each other's property leave no state that neither has allowed")
    func noSkew() throws {
        let (first, second) = (Observed(0), Observed(0))
        for _ in 0..<200 {
            let threads = [
                TestThread {
                    PropertyList([first]).commit(reading: second) { transaction in
                        if transaction[second] == 0 { transaction[first] = 1 }
                    }
                },
                TestThread {
                    PropertyList([second]).commit(reading: first) { transaction in
                        if transaction[first] == 0 { transaction[second] = 1 }
                    }
                },
            ]
            for thread in threads { try thread.join() }
            #expect(first.value + second.value == 1)
            (first.value, second.value) = (0, 0)
        }
    }
}
