// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P2 Versions")
    struct P02VersionsTests {}
}

// MARK: - One writer

extension Promises.P02VersionsTests {
    @Test("P2 Versions are 1, 2, 3, …: each change has its own, an equal value included, a failure has none")
    func counting() {
        struct Refused: Error {}
        let property = Observed("a")
        #expect(property.version == 0)
        property.value = "b"
        property.value = "b"
        property.exchange("c")
        property.modify { _ in }
        #expect(property.version == 4)
        #expect(property.compareExchange(expected: "x", desired: "d").exchanged == false)
        #expect(throws: Refused.self) { try property.modify { (_: inout String) throws(Refused) in throw Refused() } }
        #expect(property.version == 4)
        property.compareExchange(expected: "c", desired: "d")
        #expect(property.version == 5)
        #expect(property.snapshot() == ("d", 5))
    }

    @Test("P2 In a callback, the value and the version are already those of the change")
    func duringCallback() {
        let property = Observed([0])
        let seen = Log<String>()
        let token = property.observe { change in
            seen.append("\(change.version) \(property.version) \(property.value) \(property.snapshot().version)")
        }
        property.value = [1]
        property.modify { $0.append(2) }
        #expect(seen.entries == ["1 1 [1] 1", "2 2 [1, 2] 2"])
        withExtendedLifetime(token) {}
    }

    @Test("P2 With one writer, the old value of each change is the new one of the change before, in order")
    func chainOfOneWriter() {
        let property = Observed(String(number: 0))
        let received = ReceivedChanges<String>()
        let token = property.observe(received)
        for number in 1...100 { property.value = String(number: number) }
        #expect(received.changes.map(\.version) == Array(1...100))
        #expect(received.changes.map { $0.old! } == (0..<100).map(String.init(number:)))
        #expect(received.changes.map { $0.new } == (1...100).map(String.init(number:)))
        withExtendedLifetime(token) {}
    }
}

// MARK: - Several writers

extension Promises.P02VersionsTests {
    @Test("P2 The callbacks of one observer overlap on several threads")
    func overlap() throws {
        let property = Observed(0)
        let entered = [Signal("the first callback"), Signal("the second callback")]
        let met = Counter()
        let token = property.observeValues { index in
            entered[index].happen()
            if entered[1 - index].happens(within: patience) { met.increment() }
        }
        try onThreads(2) { property.value = $0 }
        #expect(met.value == 2)
        withExtendedLifetime(token) {}
    }

    @Test("P2 By their versions the changes of several writers form one chain", arguments: numberedTypes.indices)
    func chain(index: Int) throws { try oneChain(numberedType(index)) }

    private func oneChain<Value: Numbered>(_ type: Value.Type) throws {
        let property = Observed(Value(number: 0))
        let received = ReceivedChanges<Value>()
        let token = property.observe(received)
        let returned = Log<Int>()
        let (threads, rounds) = (4, 500)
        try onThreads(threads) { thread in
            for round in 0..<rounds {
                let value = Value(number: 1 + thread * rounds + round)
                switch round % 3 {
                case 0: property.value = value
                case 1: returned.append(property.exchange(value).number)
                default: property.modify { $0 = value }
                }
            }
        }
        let changes = received.changes.sorted { $0.version < $1.version }
        #expect(changes.map(\.version) == Array(1...UInt64(threads * rounds)))
        #expect(changes.first?.old == Value(number: 0))
        #expect(zip(changes, changes.dropFirst()).allSatisfy { $0.new == $1.old })
        #expect(changes.last?.new == property.value)
        // The values that `exchange` returned are links of the same chain, none twice.
        #expect(Set(returned.entries).count == returned.count)
        #expect(Set(returned.entries).isSubset(of: changes.map { $0.old!.number }))
        withExtendedLifetime(token) {}
    }

    @Test("P2 A snapshot's value is that of its version, in each kind of memory", arguments: numberedTypes.indices)
    func snapshots(index: Int) throws { try valueOfItsVersion(numberedType(index)) }

    /// Checks that the number shows which version has the value. Every change adds one.
    private func valueOfItsVersion<Value: Numbered>(_ type: Value.Type) throws {
        let property = Observed(Value(number: 0))
        let mistakes = Log<String>()
        let working = Counter()
        let token = property.observe { change in
            if change.new.number != Int(change.version) { mistakes.append("change \(change.version)") }
        }
        try onThreads(4) { thread in
            if thread < 2 {
                working.increment()
                for _ in 0..<3_000 { property.modify { $0 = Value(number: $0.number + 1) } }
                working.add(-1)
            } else {
                var last = 0
                /// Checks that this thread sees no older value than before.
                func see(_ seen: Int, _ how: String) {
                    if seen < last { mistakes.append("\(how): \(seen) after \(last)") }
                    last = seen
                }
                repeat {
                    let (value, version) = property.snapshot()
                    if value.number != Int(version) { mistakes.append("snapshot \(version): \(value.number)") }
                    see(Int(version), "snapshot")
                    see(property.value.number, "value")
                    see(Int(property.version), "version")
                    see(property.withValue { $0.number }, "withValue")
                } while working.value > 0
            }
        }
        #expect(mistakes.entries.isEmpty)
        #expect(property.snapshot() == (Value(number: 6_000), 6_000))
        withExtendedLifetime(token) {}
        try Process.settle()
    }

    @Test("P2 A thread that has received a version reads this version or a later one")
    func readsWhatItReceived() throws {
        let property = Observed(Row(number: 0))
        let mistakes = Log<String>()
        let token = property.observe { change in
            let (value, version) = property.snapshot()
            if version < change.version || value.number < Int(change.version) {
                mistakes.append("\(version) in the callback of \(change.version)")
            }
        }
        try onThreads(3) { _ in
            for _ in 0..<1_000 {
                let made = property.modify { value -> Int in
                    value = Row(number: value.number + 1)
                    return value.number
                }
                if property.value.number < made { mistakes.append("after \(made): an earlier one") }
            }
        }
        #expect(mistakes.entries.isEmpty)
        withExtendedLifetime(token) {}
    }
}
