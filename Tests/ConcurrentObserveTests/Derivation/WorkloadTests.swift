// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    /// The workloads of js-reactivity-benchmark, with their exact results and numbers of runs.
    @Suite("Derived values: workloads of reactive benchmarks")
    struct DerivedWorkloads {}
}

extension Promises.DerivedWorkloads {
    #if DEBUG
    /// The divisor of the number of writes in a debug build. A release build makes all writes, and
    /// must give the published results.
    static let share = 200
    #else
    static let share = 1
    #endif

    @Test("P24 Grids: sums and evaluations", arguments: Grid.all)
    func grids(grid: Grid) {
        let writes = max(grid.writes / Self.share, 10)
        let result = grid.run(writes: writes)
        #expect(result.sum == grid.expectedSum(writes: writes))
        #expect(result.evaluations == grid.expectedEvaluations(writes: writes))
        if writes == grid.writes {
            #expect(result.sum == grid.sum)
            #expect(result.evaluations == grid.evaluations)
        }
    }

    @Test("P24 What is published for the grids is what a recomputation gives", arguments: Grid.all)
    func published(grid: Grid) {
        #expect(grid.expectedSum(writes: grid.writes) == grid.sum)
        let step = grid.width * (grid.writes / grid.width >= 4 ? grid.writes / grid.width / 4 : 1)
        // The writes go round, so that a part of them says how many run for all.
        #expect(grid.expectedEvaluations(writes: step) * grid.writes / step == grid.evaluations)
    }

    /// Observes each of the values, and counts the calls.
    private func observe(_ derived: [Derived<Int>], _ calls: Counter) -> [ObservationToken] {
        derived.map { $0.observe { _ in calls.increment() } }
    }

    @Test("P24 avoidable: below what stays the same nothing runs")
    func avoidable() {
        let (head, runs, calls) = (Observed(0), Counter(), Counter())
        let c1 = head.map { $0 }
        let c2 = c1.map { _ in 0 }
        let c3 = c2.map { value in
            runs.increment()
            return value + 1
        }
        let c4 = c3.map { $0 + 2 }
        let c5 = c4.map { $0 + 3 }
        let tokens = observe([c5], calls)
        let before = runs.value
        for step in 1...1_000 { head.value = step }
        #expect(c5.value == 6 && runs.value == before && calls.value == 0)
        withExtendedLifetime(tokens) {}
    }

    @Test("P24 broad: fifty pairs of one head")
    func broad() {
        let (head, calls) = (Observed(0), Counter())
        let ends = (0..<50).map { index in head.map { $0 + index }.map { $0 + 1 } }
        let tokens = observe(ends, calls)
        for step in 1...50 { head.value = step }
        #expect(calls.value == 2_500 && ends.last?.value == 50 + 50)
        withExtendedLifetime(tokens) {}
    }

    @Test("P24 deep: a chain of fifty")
    func deep() {
        let (head, calls) = (Observed(0), Counter())
        var last = head.map { $0 + 1 }
        for _ in 1..<50 { last = last.map { $0 + 1 } }
        let tokens = observe([last], calls)
        for step in 1...50 {
            head.value = step
            #expect(last.value == 50 + step)
        }
        #expect(calls.value == 50)
        withExtendedLifetime(tokens) {}
    }

    @Test("P23 diamond: five arms")
    func diamond() {
        let (head, calls) = (Observed(0), Counter())
        let arms = (0..<5).map { _ in head.map { $0 + 1 } }
        let sum = Derived { get in
            var sum = 0
            for arm in arms { sum += get(arm) }
            return sum
        }
        let tokens = observe([sum], calls)
        for step in 1...500 {
            head.value = step
            #expect(sum.value == (step + 1) * 5)
        }
        #expect(calls.value == 500)
        withExtendedLifetime(tokens) {}
    }

    @Test("P23 triangle: a chain of ten, summed")
    func triangle() {
        let (head, calls) = (Observed(0), Counter())
        var chain: [Derived<Int>] = []
        for _ in 0..<9 { chain.append(chain.last.map { $0.map { $0 + 1 } } ?? head.map { $0 + 1 }) }
        let nodes = chain
        let sum = Derived { get in
            var sum = get(head)
            for node in nodes { sum += get(node) }
            return sum
        }
        let tokens = observe([sum], calls)
        for step in 1...100 {
            head.value = step
            #expect(sum.value == 45 + 10 * step)
        }
        #expect(calls.value == 100)
        withExtendedLifetime(tokens) {}
    }

    @Test("P24 repeated: one head read thirty times")
    func repeated() {
        let (head, calls) = (Observed(0), Counter())
        let sum = Derived { get in
            var sum = 0
            for _ in 0..<30 { sum += get(head) }
            return sum
        }
        let tokens = observe([sum], calls)
        for step in 1...100 {
            head.value = step
            #expect(sum.value == 30 * step)
        }
        #expect(calls.value == 100)
        withExtendedLifetime(tokens) {}
    }

    @Test("P24 unstable: another branch each time")
    func unstable() {
        let (head, calls) = (Observed(0), Counter())
        let (double, inverse) = (head.map { 2 * $0 }, head.map { -$0 })
        let sum = Derived { get in
            var sum = 0
            for _ in 0..<20 { sum += get(head) % 2 == 1 ? get(double) : get(inverse) }
            return sum
        }
        let tokens = observe([sum], calls)
        for step in 1...100 {
            head.value = step
            #expect(sum.value == 20 * (step % 2 == 1 ? 2 * step : -step))
        }
        #expect(calls.value == 100)
        withExtendedLifetime(tokens) {}
    }

    @Test("P24 mux: a hundred heads, collected, picked from")
    func mux() {
        let (heads, calls) = ((0..<100).map { _ in Observed(0) }, Counter())
        let all = Derived { get in
            var all: [Int: Int] = [:]
            for (index, head) in heads.enumerated() { all[index] = get(head) }
            return all
        }
        let ends = (0..<100).map { index in all.map { $0[index]! }.map { $0 + 1 } }
        let tokens = observe(ends, calls)
        for factor in 1...2 {
            for index in 0..<10 {
                heads[index].value = index * factor
                #expect(ends[index].value == index * factor + 1)
            }
        }
        // The first head is set to what it was, twice.
        #expect(calls.value == 18)
        withExtendedLifetime(tokens) {}
    }

    /// Layers of four observed values over four sources. The last layer has the published values,
    /// before and after the sources are set to the opposite order.
    @Test(
        "P23 cellx: layers of four",
        arguments: [
            (10, [3, 6, 2, -2], [2, 4, -2, -3]),
            (1_000, [-3, -6, -2, 2], [-2, -4, 2, 3]),
            (2_500, [-3, -6, -2, 2], [-2, -4, 2, 3]),
        ]
    )
    func cellx(layers: Int, before: [Int], after: [Int]) {
        let sources = [1, 2, 3, 4].map { Observed($0) }
        let (runs, calls) = (Counter(), Counter())
        @Sendable func counted(_ body: @escaping @Sendable (Int) -> Int) -> @Sendable (Int) -> Int {
            { value in
                runs.increment()
                return body(value)
            }
        }
        var layer = sources.map { source in source.map(counted { $0 }) }
        var tokens: [ObservationToken] = []
        for _ in 0..<layers {
            let m = layer
            layer = [
                m[1].map(counted { $0 }),
                Derived(m[0], m[2], compute: { first, third in counted { $0 }(first &- third) }),
                Derived(m[1], m[3], compute: { second, fourth in counted { $0 }(second &+ fourth) }),
                m[2].map(counted { $0 }),
            ]
            tokens += observe(layer, calls)
        }
        #expect(layer.map(\.value) == before && runs.value == 4 * (layers + 1))
        PropertyList(sources).commit { transaction in
            for (source, value) in zip(sources, [4, 3, 2, 1]) { transaction[source] = value }
        }
        #expect(layer.map(\.value) == after)
        let changed = Self.changesOfCellx(layers)
        #expect(runs.value == 4 * (layers + 1) + changed.runs && calls.value == changed.calls)
        for token in tokens { token.cancel() }
    }

    /// Returns the number of functions that run when the sources are set to the opposite order,
    /// which are the functions with a changed argument, and the number of results that differ.
    private static func changesOfCellx(_ layers: Int) -> (runs: Int, calls: Int) {
        var (before, after) = ([1, 2, 3, 4], [4, 3, 2, 1])
        var (runs, calls) = (4, 0)
        for _ in 0..<layers {
            let differs = (0..<4).map { before[$0] != after[$0] }
            runs += [differs[1], differs[0] || differs[2], differs[1] || differs[3], differs[2]].count { $0 }
            before = [before[1], before[0] - before[2], before[1] + before[3], before[2]]
            after = [after[1], after[0] - after[2], after[1] + after[3], after[2]]
            calls += (0..<4).count { before[$0] != after[$0] }
        }
        return (runs, calls)
    }

    @Test("P23 mol: branches and joins, in two transactions a round")
    func mol() {
        @Sendable func fib(_ n: Int) -> Int { n < 2 ? 1 : fib(n - 1) + fib(n - 2) }
        @Sendable func hard(_ n: Int) -> Int { n + fib(16) }
        let (a, b) = (Observed(0), Observed(0))
        let c = Derived { get in get(a) % 2 + get(b) % 2 }
        let d = Derived { get -> [Int] in
            let shift: Int = get(a) % 2 - get(b) % 2
            return (0..<5).map { $0 + shift }
        }
        let e = Derived { get -> Int in hard(get(c) + get(a) + get(d)[0]) }
        let f = Derived { get -> Int in
            let third: Int = get(d)[2]
            return hard(third != 0 ? third : get(b))
        }
        let g = Derived { get -> Int in
            let first: Int = get(c)
            let second: Int = first != 0 ? first : get(e) % 2
            return first + second + get(d)[4] + get(f)
        }
        let (h, i) = (g.map { hard($0) }, f.map { hard($0) })
        let calls = Counter()
        let tokens = observe([h, g, i], calls)
        func expected(_ a: Int, _ b: Int) -> [Int] {
            let c = a % 2 + b % 2
            let shift = a % 2 - b % 2
            let d: [Int] = (0..<5).map { $0 + shift }
            let e = hard(c + a + d[0])
            let f = hard(d[2] != 0 ? d[2] : b)
            let second: Int = c != 0 ? c : e % 2
            let g: Int = c + second + d[4] + f
            return [hard(g), g, hard(f)]
        }
        for round in 0..<(Self.share == 1 ? 100 : 5) {
            Group(a, b).commit { transaction in
                transaction[b] = 1
                transaction[a] = 1 + 2 * round
            }
            #expect([h.value, g.value, i.value] == expected(1 + 2 * round, 1))
            Group(a, b).commit { transaction in
                transaction[a] = 2 + 2 * round
                transaction[b] = 2
            }
            #expect([h.value, g.value, i.value] == expected(2 + 2 * round, 2))
        }
        withExtendedLifetime(tokens) {}
    }
}
