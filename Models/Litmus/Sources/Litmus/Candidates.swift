// SPDX-License-Identifier: Apache-2.0

/// Every way in which the reads of a test can read and its writes can be ordered, one location
/// after the other.
///
/// Coherence and atomicity concern one location at a time, and so does most of what `given` asks
/// for: what fails there is left out before the locations are combined.
struct Candidates {
    private let graph: EventGraph
    private let test: Test
    private var choices: [[(readsFrom: [Int: Int], rank: [Int: Int])]] = []

    init(_ test: Test, _ graph: EventGraph) {
        (self.graph, self.test) = (graph, test)
        let locations = Set(graph.events.filter { $0.kind != .barrier }.map(\.location)).sorted()
        choices = locations.map(consistentChoices)
    }

    /// Calls `body` with each candidate whose registers are as given, until it returns true.
    func first(_ body: (Execution, Outcome) -> Bool) -> Bool {
        func combine(_ index: Int, _ readsFrom: [Int: Int], _ rank: [Int: Int]) -> Bool {
            guard index < choices.count else {
                let execution = Execution(graph, readsFrom: readsFrom, rank: rank)
                guard let outcome = outcome(of: execution) else { return false }
                return body(execution, outcome)
            }
            return choices[index].contains { choice in
                combine(
                    index + 1,
                    readsFrom.merging(choice.readsFrom) { $1 },
                    rank.merging(choice.rank) { $1 }
                )
            }
        }
        return combine(0, [:], [:])
    }

    // MARK: One location

    private func consistentChoices(of location: String) -> [(readsFrom: [Int: Int], rank: [Int: Int])] {
        let members = graph.events.indices.filter {
            graph.events[$0].location == location && graph.events[$0].kind != .barrier
        }
        let reads = members.filter { graph.events[$0].kind == .read }
        let writes = members.filter { graph.events[$0].kind == .write }
        var found: [(readsFrom: [Int: Int], rank: [Int: Int])] = []
        for order in coherenceOrders(of: writes) {
            let rank = Dictionary(uniqueKeysWithValues: order.enumerated().map { ($1, $0) })
            func assign(_ rest: ArraySlice<Int>, _ readsFrom: [Int: Int]) {
                guard let read = rest.first else { return found.append((readsFrom, rank)) }
                for write in writes where mayRead(read, from: write) {
                    var next = readsFrom
                    next[read] = write
                    if isCoherent(read, next, rank, writes) { assign(rest.dropFirst(), next) }
                }
            }
            assign(reads[...], [:])
        }
        return found
    }

    /// The orders of writes, the first value first, that keep the order of each thread.
    private func coherenceOrders(of writes: [Int]) -> [[Int]] {
        var found: [[Int]] = []
        func extend(_ prefix: [Int], _ rest: [Int]) {
            if rest.isEmpty { return found.append(prefix) }
            for write in rest where !rest.contains(where: { isBefore($0, write) }) {
                extend(prefix + [write], rest.filter { $0 != write })
            }
        }
        let first = writes.filter { graph.events[$0].isInitial }
        extend(first, writes.filter { !graph.events[$0].isInitial })
        return found
    }

    private func isBefore(_ a: Int, _ b: Int) -> Bool {
        let (a, b) = (graph.events[a], graph.events[b])
        return a.thread == b.thread && a.position < b.position
    }

    private func isCoherent(_ read: Int, _ readsFrom: [Int: Int], _ rank: [Int: Int], _ writes: [Int]) -> Bool {
        let seen = rank[readsFrom[read]!]!
        for write in writes {
            if isBefore(write, read), seen < rank[write]! { return false }
            if isBefore(read, write), seen >= rank[write]! { return false }
        }
        for (other, write) in readsFrom where other != read {
            if isBefore(other, read), rank[write]! > seen { return false }
            if isBefore(read, other), rank[write]! < seen { return false }
        }
        if let update = graph.updates.first(where: { $0.read == read }), rank[update.write]! != seen + 1 {
            return false
        }
        return true
    }

    /// Whether the value can be the one that the test wants, as far as it is known without looking
    /// at other locations.
    private func mayRead(_ read: Int, from write: Int) -> Bool {
        guard let value = constant(write), let instruction = graph.events[read].instruction else { return true }
        if case .update(.compareExchange(expected: .constant(let expected))) = instruction.kind, value != expected {
            return false
        }
        guard let register = instruction.into, let given = test.given[register] else { return true }
        return given == value
    }

    private func constant(_ write: Int) -> Int? {
        guard let instruction = graph.events[write].instruction, case .constant(let value) = instruction.value else {
            return nil
        }
        switch instruction.kind {
        case .update(.add), .update(.or): return nil
        default: return value
        }
    }

    // MARK: Values

    /// The outcome; nil if the registers are not as given, or a value would depend on itself.
    private func outcome(of execution: Execution) -> Outcome? {
        var values: [Int: Int] = [:]
        var underWay: Set<Int> = []
        func value(_ expression: Value) -> Int? {
            switch expression {
            case .constant(let value): value
            case .register(let name, let more):
                // A register that nothing loads begins with 0.
                graph.source[name].map { read in written(execution.readsFrom[read]!).map { $0 + more } } ?? more
            }
        }
        func written(_ write: Int) -> Int? {
            if let known = values[write] { return known }
            guard underWay.insert(write).inserted, let instruction = graph.events[write].instruction else { return nil }
            guard var result = value(instruction.value) else { return nil }
            if case .update(let update) = instruction.kind {
                let read = graph.updates.first { $0.write == write }!.read
                guard let old = written(execution.readsFrom[read]!) else { return nil }
                switch update {
                case .exchange: break
                case .add: result += old
                case .or: result |= old
                case .compareExchange(let expected): guard value(expected) == old else { return nil }
                }
            }
            values[write] = result
            return result
        }

        var outcome = Outcome()
        for (write, event) in graph.events.enumerated() where event.kind == .write {
            guard let value = written(write) else { return nil }
            if !execution.rank.contains(where: {
                graph.events[$0.key].location == event.location && $0.value > execution.rank[write]!
            }) {
                outcome.final[event.location] = value
            }
        }
        for (register, read) in graph.source { outcome.registers[register] = written(execution.readsFrom[read]!)! }
        guard test.given.allSatisfy({ outcome[$0.key] == $0.value }) else { return nil }
        return outcome
    }
}
