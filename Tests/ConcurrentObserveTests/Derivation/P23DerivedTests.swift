// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P23 No result of a mixture of versions")
    struct P23DerivedTests {}
}

extension Promises.P23DerivedTests {
    @Test("P23 A diamond of one source: its arms agree in every result, read or delivered")
    func diamond() throws {
        let (a, mixed) = (Observed(0), Counter())
        let (b, c) = (a.map { $0 }, a.map { -$0 })
        let sum = Derived { get in get(b) + get(c) }
        let pair = Derived(b, c) { [$0, $1] }
        let tokens = [
            pair.observe { if $0.new[0] != -$0.new[1] { mixed.increment() } },
            sum.observe { _ in mixed.increment() },
        ]
        try onThreads(4) { thread in
            for step in 0..<2_000 {
                if thread < 2 { a.value = step * 2 + thread } else if sum.value != 0 { mixed.increment() }
            }
        }
        #expect(mixed.value == 0 && pair.value == [a.value, -a.value])
        withExtendedLifetime(tokens) {}
    }

    @Test("P23 The static form never runs on a mixture; the dynamic one's results on one are discarded")
    func functions() throws {
        // The second follows the first: it is never ahead.
        let (first, second, ranOn, published) = (Observed(0), Observed(0), Counter(), Counter())
        let fixed = Derived(first, second) { first, second in
            if second > first { ranOn.increment() }
            return first - second
        }
        let dynamic = Derived { get in
            // Read the wrong way round, so that a mixture shows.
            let early = get(first)
            return early - get(second)
        }
        let hammer = Hammer(threads: 1) {
            first.modify { $0 += 1 }
            second.modify { $0 += 1 }
        }
        for _ in 0..<20_000 {
            if !(0...1).contains(fixed.value) || !(0...1).contains(dynamic.value) { published.increment() }
        }
        try hammer.stop()
        #expect(ranOn.value == 0 && published.value == 0)
    }

    @Test("P25 A function that names its sources is computed beside writers that never pause")
    func named() throws {
        let p = (0..<8).map { _ in Observed(0) }
        let sum = Derived(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]) {
            (a: Int, b: Int, c: Int, d: Int, e: Int, f: Int, g: Int, h: Int) -> Int in
            a + b + c + d + e + f + g + h
        }
        // Each write is a whole round, except the last one. So a wrong sum shows a mixture.
        let (writes, wrong) = (Counter(), Counter())
        let hammer = Hammer(threads: 2) {
            for property in p { property.modify { $0 += 1 } }
            writes.increment()
        }
        try hammer.waitUntilWarm()
        for _ in 0..<5_000 {
            let before = writes.value * 8
            let now = sum.value
            if now < before || now > (writes.value + 2) * 8 { wrong.increment() }
        }
        try hammer.stop()
        #expect(wrong.value == 0)
    }

    @Test("P23 More shapes than are kept: each result is of the source that was chosen", arguments: [2, 12])
    func shapes(count: Int) throws {
        let (choice, wrong) = (Observed(0), Counter())
        let sources = (0..<count).map { Observed("a source of a heap string, number \($0)") }
        let chosen = Derived { get in
            let index = get(choice)
            return ["\(index)", get(sources[index % count])]
        }
        let inner = Derived { get in get(chosen)[1] }
        let isRight = { @Sendable (pair: [String]) in pair[1].hasSuffix("number \(Int(pair[0])! % count)") }
        try onThreads(4) { thread in
            for step in 0..<3_000 {
                if thread == 0 { choice.value = step }
                if thread == 1 { sources[step % count].modify { $0 = String($0.reversed().reversed()) } }
                if !isRight(chosen.value) || !inner.value.contains("heap string") { wrong.increment() }
            }
        }
        #expect(wrong.value == 0 && isRight(chosen.value) && chosen.value[0] == "2999")
        #expect(inner.value == chosen.value[1])
    }
}
