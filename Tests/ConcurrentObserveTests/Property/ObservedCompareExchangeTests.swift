// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("compareExchange")
    struct ObservedCompareExchangeTests {}
}

extension Promises.ObservedCompareExchangeTests {
    @Test(
        "It sets the property if it has the expected value, and says what it has found",
        arguments: numberedTypes.indices
    )
    func outcomes(index: Int) { compare(numberedType(index)) }

    private func compare<Value: Numbered>(_ type: Value.Type) {
        let (one, two, three) = (Value(number: 1), Value(number: 2), Value(number: 3))
        let property = Observed(one)
        let received = ReceivedChanges<Value>()
        let token = property.observe(received)
        #expect(property.compareExchange(expected: two, desired: three) == (false, one))
        #expect(property.snapshot() == (one, 0))
        #expect(property.compareExchange(expected: one, desired: three) == (true, one))
        #expect(property.snapshot() == (three, 1))
        #expect(property.compareExchange(expected: three, desired: three) == (true, three))
        #expect(property.snapshot() == (three, 2))
        #expect(received.changes.map(\.old) == [one, three])
        #expect(received.changes.map(\.new) == [three, three])
        withExtendedLifetime(token) {}
    }

    @Test("Values are compared with their own ==, not by their bits")
    func ownEquality() {
        let zero = Observed(0.0)
        #expect(zero.compareExchange(expected: -0.0, desired: 1).exchanged)
        let number = Observed(Double.nan)
        #expect(!number.compareExchange(expected: .nan, desired: 1).exchanged)
        let accent = Observed("e\u{301}")
        #expect(accent.compareExchange(expected: "é", desired: "e").exchanged)
        let nothing = Observed<Int?>(nil)
        #expect(nothing.compareExchange(expected: nil, desired: 1).exchanged)
        #expect(nothing.value == 1)
    }

    @Test("No increment of several threads is lost", arguments: numberedTypes.indices)
    func counter(index: Int) throws { try count(numberedType(index)) }

    private func count<Value: Numbered>(_ type: Value.Type) throws {
        let property = Observed(Value(number: 0))
        let received = ReceivedChanges<Value>()
        let token = property.observe(received)
        let (threads, rounds) = (4, 500)
        try onThreads(threads) { _ in
            for _ in 0..<rounds {
                var expected = property.value
                while true {
                    let next = Value(number: expected.number + 1)
                    let (exchanged, original) = property.compareExchange(expected: expected, desired: next)
                    if exchanged { break }
                    expected = original
                }
            }
        }
        #expect(property.value.number == threads * rounds)
        #expect(property.version == UInt64(threads * rounds))
        #expect(received.changes.allSatisfy { $0.new.number == Int($0.version) && $0.old!.number + 1 == $0.new.number })
        withExtendedLifetime(token) {}
        try Process.settle()
    }

    @Test("A change that comes in while the values are compared makes it compare again", arguments: [false, true])
    func repeated(becomesEqualAgain: Bool) {
        let property = Slot<Observed<Compared>>()
        let comparisons = Counter()
        let expected = Compared(1) {
            guard comparisons.increment() == 1 else { return }
            property.value!.value = Compared(2)
            if becomesEqualAgain { property.value!.value = Compared(1) }
        }
        property.put(Observed(Compared(1)))
        let (exchanged, original) = property.value!.compareExchange(expected: expected, desired: Compared(3))
        #expect(comparisons.value == 2)
        #expect(exchanged == becomesEqualAgain)
        #expect(original.number == (becomesEqualAgain ? 1 : 2))
        #expect(property.value!.value.number == (becomesEqualAgain ? 3 : 2))
        #expect(property.value!.version == (becomesEqualAgain ? 3 : 1))
        property.clear()
    }

    @Test("If several threads expect the same value, one wins, each time")
    func oneWinner() throws {
        for round in 0..<300 {
            let property = Observed(String(number: round))
            let winners = Log<Int>()
            try onThreads(3) { thread in
                let desired = String(number: 1_000 + thread)
                if property.compareExchange(expected: String(number: round), desired: desired).exchanged {
                    winners.append(1_000 + thread)
                }
            }
            #expect(winners.entries == [property.value.number])
        }
    }
}
