// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P10 Token lifetime: properties")
    struct P10PropertyTokenTests {}
}

extension Promises.P10PropertyTokenTests {
    @Test("P10 A token that is not kept is dropped at once, and sees nothing but the initial value")
    func notKept() throws {
        let lives = Lives()
        let property = Observed(0)
        let received = ReceivedChanges<Int>()
        do {
            let life = lives.make()
            _ = property.observe(options: .initial) { (change: Change<Int>) in
                life.touch()
                received.append(change)
            }
        }
        property.value = 1
        #expect(received.lines == ["initial - → 0 @0"])
        try lives.waitUntilNoneIsLeft()
    }

    @Test("P10 Dropping the last reference ends the observation, not an earlier one")
    func lastReference() {
        let property = Observed("a")
        let received = ReceivedChanges<String>()
        let (first, second) = (Slot(property.observe(received)), Slot<ObservationToken>())
        second.put(first.value!)
        first.clear()
        property.value = "b"
        #expect(received.count == 1)
        second.clear()
        property.value = "c"
        #expect(received.count == 1)
    }

    @Test("P10 Dropped inside its own callback, which goes on with its captures alive", arguments: [false, true])
    func droppedInside(inPrior: Bool) throws {
        let lives = Lives()
        let property = Observed(0)
        let token = Slot<ObservationToken>()
        let aliveInside = Log<Int>()
        do {
            let life = lives.make()
            token.put(
                property.observe(options: inPrior ? .prior : []) { (_: Change<Int>) in
                    token.clear()
                    aliveInside.append(lives.alive)
                    life.touch()
                }
            )
        }
        property.value = 1
        property.value = 2
        #expect(aliveInside.entries == [1])
        try lives.waitUntilNoneIsLeft()
    }

    @Test("P10 Sets and arrays keep tokens; emptying them ends the observations, exactly those")
    func collections() {
        let property = Observed(0)
        let (left, right) = (Counter(), Counter())
        var set = Set<ObservationToken>()
        var array: [ObservationToken] = []
        for _ in 0..<3 {
            property.observe { (_: Change<Int>) in left.increment() }.store(in: &set)
            property.observeValues { _ in right.increment() }.store(in: &array)
        }
        property.value = 1
        set.removeAll()
        property.value = 2
        #expect(left.value == 3)
        #expect(right.value == 6)
        array.removeAll()
        property.value = 3
        #expect(right.value == 6)
    }
}
