// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P14 Destruction of values")
    struct P14ValueDestructionTests {}
}

// MARK: - Promptly, once

extension Promises.P14ValueDestructionTests {
    /// A way to replace a value.
    struct Replacement: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let replace: @Sendable (Observed<Compared>) -> Void

        static let all = [
            Replacement(testDescription: "set") { $0.value = Compared(2) },
            Replacement(testDescription: "exchange") { $0.exchange(Compared(2)) },
            Replacement(testDescription: "modify") { $0.modify { $0 = Compared(2) } },
            Replacement(testDescription: "compareExchange") {
                $0.compareExchange(expected: Compared(1), desired: Compared(2))
            },
            Replacement(testDescription: "set, observed") { property in
                let token = property.observe(options: .prior) { (_: Change<Compared>) in }
                property.value = Compared(2)
                token.cancel()
            },
        ]
    }

    @Test("P14 A replaced value is destroyed once, promptly, without further traffic", arguments: Replacement.all)
    func promptly(replacement: Replacement) throws {
        try Process.settle()
        var properties: [Observed<Compared>] = []
        try expectPromptly(
            {
                let lives = Lives()
                properties.append(Observed(Compared(1, life: lives.make())))
                return (lives, properties.last!.observe { (_: Change<Compared>) in })
            },
            end: { _ in replacement.replace(properties.last!) }
        )
        try Process.settle()
        #expect(properties.allSatisfy { $0.value.number == 2 })
    }

    @Test(
        "P14 A value that compareExchange does not set is destroyed with the caller's copy, at once",
        arguments: [false, true]
    )
    func refused(afterComparingTwice: Bool) {
        let lives = Lives()
        let property = Slot<Observed<Compared>>()
        let comparisons = Counter()
        let expected = Compared(afterComparingTwice ? 1 : 7) {
            if afterComparingTwice, comparisons.increment() == 1 { property.value!.value = Compared(3) }
        }
        property.put(Observed(Compared(1)))
        #expect(
            !property.value!.compareExchange(expected: expected, desired: Compared(2, life: lives.make())).exchanged
        )
        #expect(lives.dead == 1)
        property.clear()
    }

    @Test("P14 Whatever holds the references, each is released once")
    func kinds() throws {
        let lives = Lives()
        replaceAndDrop { lives.make() }
        replaceAndDrop { Optional(lives.make()) }
        replaceAndDrop { [lives.make(), lives.make()] }
        replaceAndDrop { (1, lives.make()) }
        replaceAndDrop { lives.make() as any Sendable }
        replaceAndDrop { Compared(1, life: lives.make()) }
        replaceAndDrop { () -> @Sendable () -> Void in { [life = lives.make()] in life.touch() } }
        replaceAndDrop { ["a": lives.make()] }
        try lives.waitUntilNoneIsLeft()
        #expect(lives.dead == 9 * 6)
        try Process.settle()
    }

    /// Puts six values into every place that a property has for them, and releases them.
    private func replaceAndDrop<Value: Sendable>(_ make: () -> Value) {
        let property = Observed(make())
        let tokens = [[], [.initial, .prior]].map { (options: ObservationOptions) in
            property.observe(options: options) { (_: Change<Value>) in }
        }
        property.value = make()
        property.exchange(make())
        property.modify { $0 = make() }
        try? property.modify { (value: inout Value) throws(WaitedInVain) in
            value = make()
            throw WaitedInVain(for: "nothing")
        }
        tokens[0].cancel()
        property.value = make()
    }

    @Test("P14 However many threads write and read, each value is destroyed once, and none before its readers are done")
    func storm() throws {
        let lives = Lives()
        let property = Slot(Observed(Compared(0, life: lives.make())))
        let observed = property.value!
        let token = observed.observe { (_: Change<Compared>) in }
        let rounds = 2_000
        try onThreads(4) { thread in
            for round in 0..<rounds {
                switch (thread, round % 3) {
                case (0, _): observed.value = Compared(round, life: lives.make())
                case (1, 0): observed.exchange(Compared(round, life: lives.make()))
                case (1, 1): observed.modify { $0 = Compared(round, life: lives.make()) }
                case (1, _):
                    observed.compareExchange(expected: observed.value, desired: Compared(round, life: lives.make()))
                case (2, _): _ = observed.value
                default: observed.withValue { _ in _ = observed.snapshot() }
                }
            }
        }
        try Process.settle()
        #expect(lives.alive == 1)
        #expect(lives.dead == 2 * rounds)
        token.cancel()
    }
}

// MARK: - Readers

extension Promises.P14ValueDestructionTests {
    @Test("P14 Not while withValue holds it, and promptly afterwards; replaced by others meanwhile, which die at once")
    func held() throws {
        let times = try (0..<7).map { _ in
            let (lives, later) = (Lives(), Lives())
            let property = Observed(Compared(1, life: lives.make()))
            let (entered, exit) = (Signal("the body"), Signal("the body's release"))
            let numbers = Log<Int>()
            let reader = TestThread {
                property.withValue { value in
                    entered.happen()
                    exit.hold()
                    numbers.append(value.number)
                }
            }
            try entered.wait()
            for number in 2..<50 { property.value = Compared(number, life: later.make()) }
            property.value = Compared(50)
            try later.waitUntilNoneIsLeft()
            // Longer than any pause of the library's.
            #expect(ConcurrentObserveDiagnostics.drain(deadline: .now + .milliseconds(100)) == .timedOut)
            #expect(lives.alive == 1)
            exit.happen()
            try reader.join()
            #expect(numbers.entries == [1])
            return try lives.waitUntilNoneIsLeft()
        }
        #expect(times.sorted()[3] < .milliseconds(100), "of \(times)")
    }

    @Test("P14 Nested reads hold each its own value, deeper than a thread's first frames, until their bodies return")
    func nested() throws {
        let property = Observed(Compared(0))
        let depth = 30
        let all = (0..<depth).map { _ in Lives() }
        let mistakes = Log<String>()
        @Sendable func read(_ level: Int) {
            property.value = Compared(level, life: all[level].make())
            property.withValue { value in
                property.value = Compared(-1)
                if level + 1 < depth { read(level + 1) }
                // This level and the outer ones hold their values, the deeper ones none.
                if anotherThreadFinishes({ _ = try? all.dropFirst(level + 1).forEach { try $0.waitUntilNoneIsLeft() } })
                {
                    if all.map(\.alive) != (0..<depth).map({ $0 <= level ? 1 : 0 }) {
                        mistakes.append("level \(level)")
                    }
                }
                if value.number != level { mistakes.append("\(value.number) at level \(level)") }
            }
        }
        try onNewThread { read(0) }
        #expect(mistakes.entries.isEmpty)
        for lives in all { try lives.waitUntilNoneIsLeft() }
    }

    @Test("P14 A body of withValue that throws lets its value go")
    func throwing() throws {
        let lives = Lives()
        let property = Observed(Compared(1, life: lives.make()))
        #expect(throws: WaitedInVain.self) {
            try property.withValue { (_: borrowing Compared) throws(WaitedInVain) in throw WaitedInVain(for: "it") }
        }
        property.value = Compared(2)
        try lives.waitUntilNoneIsLeft()
        #expect(ConcurrentObserveDiagnostics.drain(deadline: .now + patience) == .finished)
    }

    @Test("P14 A copy that a reader has taken outlives its replacement, and dies with the reader's last use")
    func copies() throws {
        let lives = Lives()
        let property = Observed<Life?>(lives.make())
        let copy = Slot(property.value!)
        property.value = nil
        try Process.settle()
        #expect(lives.alive == 1)
        copy.value!.touch()
        copy.clear()
        #expect(lives.alive == 0)
    }
}
