// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P20 Snapshots")
    struct P20SnapshotTests {}
}

extension Promises.P20SnapshotTests {
    @Test("P20 Money that commits move is neither lost nor made, in any snapshot", arguments: [2, 4, 16])
    func sums(accounts: Int) throws {
        let properties = (0..<accounts).map { _ in Observed(1_000) }
        let list = PropertyList(properties)
        let (mistakes, step) = (Counter(), Counter())
        let writers = Hammer(threads: 3) {
            let number = step.increment()
            let (from, to) = (properties[number % accounts], properties[(number / 3 + 1) % accounts])
            Group(from, to).commit { transaction in
                transaction[from] -= 10
                transaction[to] += 10
            }
        }
        try writers.waitUntilWarm()
        try onThreads(2) { _ in
            var last: UInt64 = 0
            for _ in 0..<5_000 {
                let (values, version) = list.snapshot()
                if values.reduce(0, +) != accounts * 1_000 || version < last { mistakes.increment() }
                last = version
            }
        }
        try writers.stop()
        #expect(mistakes.value == 0)
    }

    @Test("P20 Objects and strings that are committed together are found together")
    func references() throws {
        let lives = Lives()
        do {
            let (text, number, pair) = (Observed("0"), Observed(0), Observed((0, lives.make())))
            let group = Group(text, number, pair)
            let (mistakes, step) = (Counter(), Counter())
            let writers = Hammer(threads: 2) {
                let value = step.increment()
                group.commit { transaction in
                    transaction[text] = "a long string, so that it is on the heap: \(value)"
                    transaction[number] = value
                    transaction[pair] = (value, lives.make())
                }
            }
            try writers.waitUntilWarm()
            try onThreads(2) { _ in
                for _ in 0..<5_000 {
                    let (text, number, pair) = group.value
                    if !text.hasSuffix(" \(number)") || pair.0 != number { mistakes.increment() }
                }
            }
            try writers.stop()
            #expect(mistakes.value == 0)
        }
        try lives.waitUntilNoneIsLeft()
    }

    @Test("P20 A snapshot waits for no body")
    func bodies() {
        let (first, second, third) = (Observed(0), Observed(0), Observed(0))
        let (group, found) = (Group(first, second, third), Counter())
        Group(first, third).commit { transaction in
            transaction[first] = 1
            let isDone = anotherThreadFinishes {
                for _ in 0..<100 { if group.value == (0, 0, 0) { found.increment() } }
            }
            #expect(isDone)
        }
        #expect(found.value == 100)
        first.modify { _ in
            let isDone = anotherThreadFinishes { if group.value == (1, 0, 0) { found.increment() } }
            #expect(isDone)
        }
        #expect(found.value == 101)
    }
}
