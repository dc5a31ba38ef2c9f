// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P6 Re-entrancy: properties")
    struct P06PropertyReentrancyTests {}
}

// MARK: - Setting in a callback

extension Promises.P06PropertyReentrancyTests {
    @Test("P6 A callback sets its own property: every observer receives every version once, the nested ones first")
    func setsItself() {
        let property = Observed("")
        let (before, after) = (ReceivedChanges<String>(), ReceivedChanges<String>())
        let tokens = [
            property.observe(before),
            property.observe { change in if change.version < 4 { property.value = change.new + "x" } },
            property.observe(after),
        ]
        property.value = "a"
        #expect(
            before.lines == [
                "valueChanged  → a @1", "valueChanged a → ax @2", "valueChanged ax → axx @3",
                "valueChanged axx → axxx @4",
            ]
        )
        #expect(after.lines == before.lines.reversed())
        #expect(property.snapshot() == ("axxx", 4))
        withExtendedLifetime(tokens) {}
    }

    @Test("P6 A bounded A sets B sets A ends, with every kind of change", arguments: [4, 30, 200])
    func ping(depth: Int) {
        let (a, b) = (Observed(0), Observed("0"))
        let tokens = [
            a.observe { change in
                let next = change.new + 1
                if next < depth { b.modify { $0 = "\(next)" } }
            },
            b.observe { change in
                let next = Int(change.new)! + 1
                if next < depth { a.exchange(next) }
            },
        ]
        a.value = 0
        #expect(a.value == depth - 2)
        #expect(b.value == "\(depth - 1)")
        #expect(a.version == UInt64(depth / 2))
        withExtendedLifetime(tokens) {}
    }

    @Test("P6 A prior delivery may change the property: the change that it announced comes after")
    func setsInPrior() {
        let property = Observed(0)
        let received = ReceivedChanges<Int>()
        let token = property.observe(options: .prior) { (change: Change<Int>) in
            received.append(change)
            if change.reason == .prior, change.version == 0 { property.modify { $0 = 10 } }
        }
        property.value = 1
        #expect(received.lines == ["prior - → 0 @0", "valueChanged 0 → 10 @1", "valueChanged 10 → 1 @2"])
        withExtendedLifetime(token) {}
    }
}

// MARK: - Observing in a callback

extension Promises.P06PropertyReentrancyTests {
    @Test("P6 An observer added in a callback is not called for that change, but for the next", arguments: [1, 100])
    func addedInACallback(count: Int) {
        let property = Observed(0)
        let tokens = Log<ObservationToken>()
        let received = ReceivedChanges<Int>()
        let token = property.observe { change in
            guard change.version == 1 else { return }
            for _ in 0..<count { tokens.append(property.observe(received)) }
        }
        property.value = 1
        #expect(received.count == 0)
        property.value = 2
        #expect(received.versions == Array(repeating: 2, count: count))
        token.cancel()
    }

    @Test("P6 With initial, it receives that change's value as its first")
    func addedWithInitial() {
        let property = Observed(0)
        let tokens = Log<ObservationToken>()
        let received = ReceivedChanges<Int>()
        let token = property.observe { change in
            if change.version == 1 { tokens.append(property.observe(received, options: .initial)) }
        }
        property.value = 1
        property.value = 2
        #expect(received.lines == ["initial - → 1 @1", "valueChanged 1 → 2 @2"])
        token.cancel()
    }

    @Test("P6 An observer added before a change is made, in its prior delivery, misses no version")
    func addedInPrior() {
        let property = Observed(0)
        let tokens = Log<ObservationToken>()
        let received = ReceivedChanges<Int>()
        let token = property.observe(options: .prior) { change, observation in
            observation.cancel()
            tokens.append(property.observe(received, options: [.initial, .prior]))
        }
        property.value = 1
        #expect(received.lines == ["initial - → 0 @0", "valueChanged 0 → 1 @1"])
        token.cancel()
    }
}

// MARK: - Ending in a callback

extension Promises.P06PropertyReentrancyTests {
    /// The delivery in which the cancellation happens. Also says whether the table grows between it
    /// and the cancelled observer's place.
    enum Moment: String, CaseIterable, Sendable { case change, prior }

    @Test(
        "P6 An observer cancelled earlier in the same pass receives nothing",
        arguments: Moment.allCases,
        [0, 1, 100]
    )
    func cancelledSibling(moment: Moment, growth: Int) throws {
        let property = Observed(0)
        let tokens = Log<ObservationToken>()
        let (sibling, received) = (Slot<ObservationToken>(), ReceivedChanges<Int>())
        let cancelling = property.observe(options: moment == .prior ? .prior : []) { (_: Change<Int>) in
            sibling.value?.cancel()
            for _ in 0..<growth { tokens.append(property.observe { (_: Change<Int>) in }) }
        }
        sibling.put(property.observe(received, options: moment == .prior ? .prior : []))
        property.value = 1
        #expect(received.count == 0)
        #expect(!sibling.value!.isActive)
        withExtendedLifetime(cancelling) {}
        sibling.clear()
    }

    @Test("P6 A callback ends its own observation through the handle, the token, or by dropping the token")
    func endsItself() {
        let property = Observed(0)
        let calls = Log<String>()
        let kept = Slot<ObservationToken>()
        let dropped = Slot<ObservationToken>()
        let byHandle = property.observe { _, observation in
            calls.append("handle")
            observation.cancel()
        }
        kept.put(
            property.observe { (_: Change<Int>) in
                calls.append("token")
                kept.value?.cancel()
            }
        )
        dropped.put(
            property.observe { (_: Change<Int>) in
                calls.append("release")
                dropped.clear()
            }
        )
        property.value = 1
        property.value = 2
        #expect(calls.entries == ["handle", "token", "release"])
        #expect(!byHandle.isActive)
        #expect(kept.value?.isActive == false)
        kept.clear()
    }

    @Test("P6 A callback may drop the last reference to the source: the change is delivered to all, then the end")
    func dropsTheSource() throws {
        let lives = Lives()
        let property = Slot(Observed<Life?>(lives.make()))
        let weak = Weak(property.value!)
        let order = Log<String>()
        let tokens = (0..<3).map { index in
            property.value!.observe { change in
                order.append("\(index) \(change.reason) \(change.version)")
                if index == 0 { property.clear() }
            }.onEnd { order.append("\(index) \($0)") }
        }
        property.value!.value = nil
        try eventually("three ends") { order.count == 6 }
        try Process.settle()
        // The ends come on threads of the library, in whatever order.
        #expect(order.entries.prefix(3) == ["0 valueChanged 1", "1 valueChanged 1", "2 valueChanged 1"])
        #expect(order.entries.dropFirst(3).sorted() == ["0 sourceDeleted", "1 sourceDeleted", "2 sourceDeleted"])
        #expect(weak.object == nil)
        #expect(tokens.allSatisfy { !$0.isActive })
        try lives.waitUntilNoneIsLeft()
    }

    @Test("P6 A body of modify may drop the last reference to the source")
    func dropsTheSourceInModify() throws {
        let property = Slot(Observed([0]))
        let received = ReceivedChanges<[Int]>()
        let token = property.value!.observe(received).recordEnd(to: received)
        property.value!.modify { value in
            property.clear()
            value.append(1)
        }
        try received.ended.wait()
        #expect(received.lines == ["valueChanged [0] → [0, 1] @1", "sourceDeleted"])
        #expect(!token.isActive)
    }

    @Test("P6 A callback that ends its task does not stop the other observers")
    func endsItsTask() async {
        let property = Observed(0)
        let received = ReceivedChanges<Int>()
        let tokens = [
            property.observe { (_: Change<Int>) in unsafe withUnsafeCurrentTask { unsafe $0?.cancel() } },
            property.observe(received),
        ]
        let task = Task {
            property.value = 1
            property.value = 2
            return Task.isCancelled
        }
        #expect(await task.value)
        #expect(received.versions == [1, 2])
        withExtendedLifetime(tokens) {}
    }
}
