// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P14 Values whose destruction blocks, or comes back")
    struct P14BlockedDestructionTests {}
}

extension Promises.P14BlockedDestructionTests {
    @Test("P14 A body of withValue that blocks holds up nothing else")
    func blockedReader() throws {
        let lives = Lives()
        let (property, other) = (Observed(Compared(0)), Observed(Compared(0)))
        let (entered, exit) = (Signal("the body"), Signal("the body's release"))
        let reader = TestThread {
            property.withValue { _ in
                entered.happen()
                exit.hold()
            }
        }
        try entered.wait()
        let goesOn = anotherThreadFinishes {
            for number in 1...200 {
                for property in [property, other] {
                    property.value = Compared(number, life: lives.make())
                    property.modify { $0 = Compared(-number, life: lives.make()) }
                    let life = Slot(lives.make())
                    let token = property.observe { [life = life.take()] (_: Change<Compared>) in life?.touch() }
                    property.value = Compared(0)
                    #expect(token.cancelAndWaitBlocking() == .finished)
                }
            }
        }
        #expect(goesOn)
        // Values and closures of the same property and of the other.
        try lives.waitUntilNoneIsLeft()
        #expect(lives.dead == 1_200)
        exit.happen()
        try reader.join()
        try Process.settle()
    }

    @Test("P14 A value's deinit that blocks holds up no other destruction, change or wait", arguments: [1, 30])
    func blockedDeinits(count: Int) throws {
        let property = Observed(Compared(0))
        let release = Signal("the release of the blocked")
        let (blocked, free, begun) = (Lives(), Lives(), Counter())
        for number in 0..<count {
            let life = blocked.make {
                begun.increment()
                release.hold()
            }
            property.value = Compared(number, life: life)
        }
        for number in 0..<200 { property.value = Compared(number, life: free.make()) }
        property.value = Compared(0)
        try free.waitUntilNoneIsLeft()
        try eventually("the beginning of all blocked ones") { begun.value == count }
        #expect(blocked.dead == 0)
        #expect(property.observe { (_: Change<Compared>) in }.cancelAndWaitBlocking() == .finished)
        #expect(ConcurrentObserveDiagnostics.drain(deadline: .now + glance) == .timedOut)
        release.happen()
        try blocked.waitUntilNoneIsLeft()
        try Process.settle()
    }

    @Test(
        "P14 A value's deinit may read, set, change and observe its own property, and set it to a value that does so again"
    )
    func reenters() throws {
        let lives = Lives()
        let property = Observed(Compared(0))
        // Without the values, which it would keep.
        let versions = Log<UInt64>()
        let token = property.observe { (change: Change<Compared>) in versions.append(change.version) }
        let depth = 100
        @Sendable func generation(_ number: Int) -> Compared {
            guard number < depth else { return Compared(number) }
            let life = lives.make {
                let inner = property.observe(options: [.initial, .prior]) { (_: Change<Compared>) in }
                property.modify { $0 = Compared(-number) }
                property.compareExchange(expected: Compared(-number), desired: Compared(-number))
                _ = (property.value, property.snapshot(), property.withValue { $0.number })
                inner.cancel()
                property.value = generation(number + 1)
                property.exchange(Compared(number + 1))
            }
            return Compared(number, life: life)
        }
        property.value = generation(1)
        property.value = Compared(0)
        try eventually("the last generation") { lives.dead == depth - 1 }
        try Process.settle()
        #expect(lives.alive == 0)
        // Two to begin with, and four of each generation.
        #expect(property.snapshot().version == UInt64(2 + 4 * (depth - 1)))
        #expect(versions.entries.sorted() == Array(1...property.version))
        #expect(property.value.number == depth)
        token.cancel()
    }

    @Test("P14 A value's deinit may drop the last reference to the property whose value it was")
    func dropsTheProperty() throws {
        let lives = Lives()
        // Without the values, which it would keep.
        let lines = Log<String>()
        let property = Slot(Observed<Life?>(nil))
        let token = property.value!.observe { change in lines.append("\(change.reason) @\(change.version)") }
            .onEnd { lines.append("\($0)") }
        property.value!.value = lives.make { property.clear() }
        let weak = Weak(property.value!)
        weak.object?.value = nil
        try lives.waitUntilNoneIsLeft()
        try eventually("the end of the property") { weak.object == nil }
        try eventually("the end of the observation") { lines.count >= 3 }
        #expect(lines.entries == ["valueChanged @1", "valueChanged @2", "sourceDeleted"])
        #expect(!token.isActive)
    }

    @Test("P14 Writers whose values die slowly do not wait, and all values die in the end")
    func slow() throws {
        let lives = Lives()
        let property = Observed(Compared(0))
        try onThreads(2) { thread in
            for _ in 0..<100 { property.value = Compared(thread, life: lives.make { briefPause() }) }
        }
        property.value = Compared(0)
        try lives.waitUntilNoneIsLeft()
        #expect(lives.dead == 200)
    }
}
