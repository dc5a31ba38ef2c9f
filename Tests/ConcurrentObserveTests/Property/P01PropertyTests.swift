// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P1 Exactly once: properties")
    struct P01PropertyTests {}
}

// MARK: - One thread

extension Promises.P01PropertyTests {
    @Test("P1 One observer receives one change once")
    func oneObserver() {
        let property = Observed(0)
        let received = ReceivedChanges<Int>()
        let token = property.observe(received)
        #expect(received.count == 0)
        property.value = 7
        #expect(received.lines == ["valueChanged 0 → 7 @1"])
        withExtendedLifetime(token) {}
    }

    @Test("P1 Two observers receive every change, in the order of registration")
    func twoObservers() {
        let property = Observed("zero")
        let received = Log<String>()
        let tokens = [
            property.observeValues { received.append("first \($0)") },
            property.observeValues { received.append("second \($0)") },
        ]
        property.value = "one"
        property.value = "two"
        #expect(received.entries == ["first one", "second one", "first two", "second two"])
        withExtendedLifetime(tokens) {}
    }

    @Test("P1 Every way to change the property is one change")
    func everyOperation() {
        let property = Observed(0)
        let received = ReceivedChanges<Int>()
        let token = property.observe(received)
        property.value = 1
        property.exchange(2)
        property.modify { $0 += 1 }
        property.compareExchange(expected: 3, desired: 4)
        property.compareExchange(expected: 3, desired: 5)
        #expect(
            received.lines == [
                "valueChanged 0 → 1 @1", "valueChanged 1 → 2 @2", "valueChanged 2 → 3 @3", "valueChanged 3 → 4 @4",
            ]
        )
        withExtendedLifetime(token) {}
    }

    @Test("P1 An observer of one property is silent when another of the same object is set")
    func otherProperty() {
        final class Car: Sendable { let name = Observed("Beetle"), mileage = Observed(0) }
        let (car, other) = (Car(), Car())
        let received = ReceivedChanges<String>()
        let token = car.name.observe(received)
        car.mileage.value = 1
        other.name.value = "Golf"
        #expect(received.count == 0)
        #expect(car.name.value == "Beetle")
        car.name.value = "Polo"
        #expect(received.lines == ["valueChanged Beetle → Polo @1"])
        #expect(other.name.value == "Golf")
        withExtendedLifetime(token) {}
    }

    @Test("P1 A change without observers is made; later observers do not receive it")
    func noObserver() {
        let property = Observed(0)
        property.value = 1
        let received = ReceivedChanges<Int>()
        let token = property.observe(received)
        #expect(received.count == 0)
        token.cancel()
        property.value = 2
        #expect(received.count == 0)
        #expect(property.value == 2)
    }

    @Test("P1 A closure registered twice is called twice, and once when one registration is gone")
    func sameClosureTwice() {
        let property = Observed(0)
        let received = Log<Int>()
        let closure: @Sendable (Int) -> Void = { received.append($0) }
        let before = ConcurrentObserveDiagnostics.current().liveObservers
        let (first, second) = (property.observeValues(closure), property.observeValues(closure))
        #expect(ConcurrentObserveDiagnostics.current().liveObservers - before == 2)
        property.value = 1
        #expect(received.entries == [1, 1])
        first.cancel()
        property.value = 2
        #expect(received.entries == [1, 1, 2])
        second.cancel()
        #expect(ConcurrentObserveDiagnostics.current().liveObservers == before)
    }

    @Test("P1 Delivery is on the thread that makes the change, before the change returns")
    func changingThread() throws {
        let property = Observed(0)
        let threads = Log<Int>()
        let mistakes = Log<String>()
        let token = property.observe { (_: Change<Int>) in threads.append(threadNumber()) }
        try onNewThread {
            let changes: [@Sendable () -> Void] = [
                { property.value = 1 }, { property.exchange(2) }, { property.modify { $0 = 3 } },
                { property.compareExchange(expected: 3, desired: 4) },
            ]
            for (index, change) in changes.enumerated() {
                change()
                let expected = Array(repeating: threadNumber(), count: index + 1)
                if threads.entries != expected { mistakes.append("change \(index + 1)") }
            }
        }
        #expect(mistakes.entries.isEmpty)
        withExtendedLifetime(token) {}
    }

    @Test("P1 The delivered count is exact with 10,000 observers", arguments: [1, 8, 9, 10_000])
    func manyObservers(count: Int) {
        let property = Observed([0])
        let calls = (0..<count).map { _ in Counter() }
        let tokens = calls.map { counter in property.observeValues { counter.add($0[0]) } }
        for _ in 0..<3 { property.value = [1] }
        #expect(calls.allSatisfy { $0.value == 3 })
        for index in stride(from: 0, to: count, by: 2) { tokens[index].cancel() }
        property.value = [1]
        #expect(calls.enumerated().allSatisfy { index, calls in calls.value == (index.isMultiple(of: 2) ? 3 : 4) })
        withExtendedLifetime(tokens) {}
    }
}

// MARK: - Many threads

extension Promises.P01PropertyTests {
    @Test("P1 Each of many observers receives each version of many writers once", arguments: numberedTypes.indices)
    func severalWriters(index: Int) throws { try everyVersionOnce(numberedType(index)) }

    private func everyVersionOnce<Value: Numbered>(_ type: Value.Type) throws {
        let property = Observed(Value(number: 0))
        let received = (0..<10).map { _ in ReceivedChanges<Value>() }
        let tokens = received.map { property.observe($0) }
        let (threads, rounds) = (4, 200)
        try onThreads(threads) { thread in
            for round in 0..<rounds {
                let value = Value(number: thread * rounds + round)
                switch round % 4 {
                case 0: property.value = value
                case 1: property.exchange(value)
                case 2: property.modify { $0 = value }
                default: while !property.compareExchange(expected: property.value, desired: value).exchanged {}
                }
            }
        }
        let total = UInt64(threads * rounds)
        #expect(property.version == total)
        for received in received {
            #expect(received.versions == Array(1...total))
            #expect(received.changes.map { $0.new.number }.sorted() == Array(0..<threads * rounds))
        }
        withExtendedLifetime(tokens) {}
        try Process.settle()
    }

    @Test("P1 An observer receives what begins after its registration, whatever registers, ends and grows meanwhile")
    func duringChurn() throws {
        let property = Observed(0)
        let constant = ReceivedChanges<Int>()
        let constantToken = property.observe(constant)
        let mistakes = Log<String>()
        let (threads, rounds) = (4, 200)
        try onThreads(threads) { thread in
            for round in 0..<rounds {
                let number = 1 + thread * rounds + round
                let received = Counter()
                let others = (0..<(round % 20)).map { _ in property.observe { (_: Change<Int>) in } }
                let token = property.observeValues { if $0 == number { received.increment() } }
                property.value = number
                if received.value != 1 { mistakes.append("change \(number) was delivered \(received.value) times") }
                token.cancel()
                property.value = number
                if received.value != 1 { mistakes.append("change \(number) was delivered after cancel()") }
                withExtendedLifetime(others) {}
            }
        }
        #expect(mistakes.entries.isEmpty)
        #expect(constant.versions == Array(1...UInt64(threads * rounds * 2)))
        withExtendedLifetime(constantToken) {}
        try Process.settle()
    }
}
