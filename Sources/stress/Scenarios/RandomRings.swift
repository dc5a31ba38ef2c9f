// SPDX-License-Identifier: Apache-2.0

extension Scenario {
    /// Random graphs of derived values, with rings: derived values that need themselves. Sources
    /// switch reads on and off, so that rings open and close. While a function runs, another thread
    /// changes the sources. At rest the results are compared with a model of the graph.
    static let randomRings = Scenario(
        name: "random-rings",
        summary: "random rings of derived values open and close while they are read: no wrong value or error stays",
        invariants: [
            "P22.ring-value", "P25.ring-has-error", "P25.error-in-ring", "P25.same-again", "P25.ends", "P2.whole-value",
            "P14.not-while-read", "P14.value-destroyed", "P5.no-lock-around-user-code", "P14.nothing-left",
            "P16.backlog-drains",
        ],
        windows: [
            "a ring is closed at rest", "a ring opened or closed while it was read",
            "sources changed more than 12 times in a read",
        ]
    ) { round in
        let (made, destroyed) = (Tally(), Tally())
        round.load { worker in
            worker.begin("make a graph")
            let graph = RingGraph(&worker.generator, round, made, destroyed)
            let token = worker.generator.oneIn(2) ? graph.observe(&worker.generator) : nil
            for _ in 0..<4 where round.violations.isEmpty { graph.judge(worker) }
            token?.cancel()
            graph.end()
        }
        guard round.violations.isEmpty else { return }
        shareMember(round)
        changeOwnSource(round)
        round.checkRest()
        round.check("the number of destroyed values", destroyed.value, is: made.value, "P14.value-destroyed")
    }
}

/// Reads a value that is a member of many rings, and that cannot have an error.
private func shareMember(_ round: Round) {
    let (shared, others) = (Place<Derived<UInt64>>(), Place<[Derived<Result<UInt64, any Error>>]>())
    _ = shared.exchange(Derived { get in others.content!.reduce(0) { $0 + ((try? get($1).get()) ?? 1) } })
    _ = others.exchange((0..<70).map { _ in Derived(throwing: { get throws(any Error) in get(shared.content!) }) })
    round.check("the member of 70 rings", shared.content!.value, is: 70, "P22.ring-value")
    _ = (shared.exchange(nil), others.exchange(nil))
}

/// Observes all values of a ring. One of them changes what all read, in each run.
private func changeOwnSource(_ round: Round) {
    let (source, runs, nodes) = (Observed<UInt64>(0), Tally(), Place<[Derived<Result<UInt64, any Error>>]>())
    let values = (0..<8).map { node in
        Derived(throwing: { get throws(any Error) in
            if node == 0, runs.increment() < 16_000 { source.modify { $0 += 1 } }
            return get(source) + ((try? get(nodes.content![(node + 1) % 8]).get()) ?? 1)
        })
    }
    _ = nodes.exchange(values)
    let tokens = values.map { $0.observe { _ in checkUserCode("callback") } }
    source.value = 0
    round.drain()
    let count = runs.value
    round.check(count < 4_000, "P25.ends", "a function that changes its source ran \(count) times")
    for token in tokens { token.cancelAndWaitBlocking() }
    round.drain()
    _ = nodes.exchange(nil)
}

/// The value of a node. Its number depends on all that the node's function has read.
private struct RingValue: Equatable, Sendable {
    let tracked: TrackedValue

    func number(_ violations: Violations) -> UInt64 {
        violations.check(tracked.isWhole, "P2.whole-value", "a node's value is made of parts")
        violations.check(tracked.probe.destroyed == 0, "P14.not-while-read", "a node's value is destroyed")
        return tracked.serial
    }

    static func == (left: RingValue, right: RingValue) -> Bool {
        checkUserCode("==")
        return left.tracked.serial == right.tracked.serial
    }
}

/// A derived value. The function never throws; the second form can have the error of a ring.
private enum RingNode: Sendable {
    case plain(Derived<RingValue>)
    case throwing(Derived<Result<RingValue, any Error>>)

    /// The value; nil for an error.
    var value: RingValue? {
        switch self {
        case .plain(let derived): derived.value
        case .throwing(let derived): try? derived.value.get()
        }
    }

    /// Reads the value in a function; nil for an error.
    func value(_ get: borrowing Reader) -> RingValue? {
        switch self {
        case .plain(let derived): get(derived)
        case .throwing(let derived): try? get(derived).get()
        }
    }

    func observe() -> ObservationToken {
        switch self {
        case .plain(let derived): derived.observe { _ in checkUserCode("callback") }
        case .throwing(let derived): derived.observe { _ in checkUserCode("callback") }
        }
    }
}

/// One step of a node's function: it reads a source; or a node; or a source, and then a node if the
/// source's number is even, or if it is odd.
private struct RingStep: Sendable, CustomStringConvertible {
    let source, node: Int?
    /// The remainder by 2 of the source's number with which the node is read.
    let parity: UInt64

    /// Returns whether the node is read while this number is in the source.
    func readsNode(_ number: UInt64?) -> Bool { number.map { $0 % 2 == parity } ?? true }

    var description: String {
        guard let node else { return "s\(source!)" }
        return source.map { "n\(node) if s\($0) is \(parity == 0 ? "even" : "odd")" } ?? "n\(node)"
    }
}

/// A graph of derived values, the nodes. One worker makes, reads and judges it.
private final class RingGraph: Sendable {
    private let sources: [Observed<UInt64>]
    private let throwing: [Bool]
    /// The steps of each node's function.
    private let steps: [[RingStep]]
    /// The functions retain the graph, which retains them until it ends.
    private let nodes = Place<[RingNode]>()
    /// Chooses the changes by another thread. `left` is the number of those that are still to come.
    private let disturbance: Guarded<(generator: Generator, left: Int)>
    private let violations: Violations
    private let (made, destroyed): (Tally, Tally)

    init(_ generator: inout Generator, _ round: Round, _ made: Tally, _ destroyed: Tally) {
        (violations, self.made, self.destroyed) = (round.violations, made, destroyed)
        let (count, sourceCount) = (2 + generator.below(4), 1 + generator.below(3))
        sources = (0..<sourceCount).map { _ in Observed(0) }
        let throwing = (0..<count).map { _ in generator.oneIn(2) }
        self.throwing = throwing
        steps = (0..<count).map { node in
            // Each ring has a node that can have the error: a plain node reads only earlier plain
            // ones.
            let targets = (0..<count).filter { throwing[node] || throwing[$0] || $0 < node }
            var steps = [RingStep(source: generator.below(sourceCount), node: nil, parity: 0)]
            for _ in 0..<generator.below(4) where !targets.isEmpty {
                let source = generator.oneIn(2) ? generator.below(sourceCount) : nil
                let target = targets[generator.below(targets.count)]
                steps.append(RingStep(source: source, node: target, parity: generator.next() % 2))
            }
            return steps.shuffled(using: &generator)
        }
        disturbance = Guarded((Generator(seed: generator.next(), stream: 0), 0))
        let nodes = throwing.enumerated().map { node, canThrow -> RingNode in
            guard canThrow else { return .plain(Derived { get in self.run(node, get) }) }
            return .throwing(Derived(throwing: { get throws(any Error) in self.run(node, get) }))
        }
        _ = self.nodes.exchange(nodes)
    }

    func end() { _ = nodes.exchange(nil) }

    func observe(_ generator: inout Generator) -> ObservationToken {
        nodes.content![generator.below(steps.count)].observe()
    }

    /// The function of a node. After each read, another thread may change a source.
    private func run(_ node: Int, _ get: borrowing Reader) -> RingValue {
        checkUserCode("function")
        let nodes = nodes.content!
        let number = number(of: node) { source in
            defer { disturb() }
            return get(sources[source])
        } _: { target in
            defer { disturb() }
            return nodes[target].value(get)?.number(violations)
        }
        made.increment()
        return RingValue(tracked: TrackedValue(serial: number) { [destroyed] in destroyed.increment() })
    }

    private func disturb() {
        let change = disturbance.withLock { [sources] disturbance -> (Observed<UInt64>, UInt64)? in
            guard disturbance.left > 0, disturbance.generator.oneIn(2) else { return nil }
            disturbance.left -= 1
            return (sources[disturbance.generator.below(sources.count)], disturbance.generator.next() % 8)
        }
        if let (source, number) = change { elsewhere { source.value = number } }
    }

    // MARK: The model

    /// Returns the number that a node's function gives if its reads give these numbers; nil stands
    /// for the error of a node.
    private func number(of node: Int, _ source: (Int) -> UInt64, _ value: (Int) -> UInt64?) -> UInt64 {
        steps[node].reduce(UInt64(node)) { before, step in
            let number = step.source.map(source)
            guard step.node == nil || step.readsNode(number) else { return before }
            let read = step.node.map { value($0) ?? 0 } ?? number!
            var generator = Generator(seed: before, stream: read)
            return generator.next()
        }
    }

    /// Returns the nodes that are in a ring now. The nodes of `cut` count as if they read nothing.
    private func inRings(cut: Set<Int> = []) -> Set<Int> {
        var needs = steps.enumerated().map { node, steps -> Set<Int> in
            cut.contains(node)
                ? [] : Set(steps.filter { $0.readsNode($0.source.map { sources[$0].value }) }.compactMap(\.node))
        }
        for between in needs.indices {
            for node in needs.indices where needs[node].contains(between) { needs[node].formUnion(needs[between]) }
        }
        return Set(needs.indices.filter { needs[$0].contains($0) })
    }

    /// Reads all nodes while another thread changes the sources. Then reads them at rest, and
    /// judges the results.
    func judge(_ worker: Worker) {
        worker.begin("read while sources change")
        let (before, most) = (inRings(), worker.generator.below(26))
        sources[worker.generator.below(sources.count)].value = worker.generator.next() % 8
        disturbance.withLock { $0.left = most }
        _ = results(worker)
        let left = disturbance.withLock { disturbance in
            defer { disturbance.left = 0 }
            return disturbance.left
        }
        worker.begin("read at rest")
        let (results, rings) = (results(worker), inRings())
        for (node, result) in results.enumerated() {
            guard let result else {
                worker.check(rings.contains(node), "P25.error-in-ring", "n\(node) is in no ring: \(text(results))")
                continue
            }
            let expected = number(of: node, { sources[$0].value }, { results[$0] })
            worker.check(result == expected, "P22.ring-value", "n\(node) is not \(expected): \(text(results))")
        }
        let open = inRings(cut: Set(results.indices.filter { results[$0] == nil }))
        worker.check(open.isEmpty, "P25.ring-has-error", "no error in the rings of \(open): \(text(results))")
        // The same numbers as new changes: all is computed again, in another order.
        for source in sources { source.value = source.value }
        let again = self.results(worker)
        worker.check(again == results, "P25.same-again", "before \(text(results)), then \(text(again))")
        if !rings.isEmpty { worker.hit(0) }
        if rings != before { worker.hit(1) }
        if most - left > 12 { worker.hit(2) }
    }

    /// Reads all nodes in a random order. Returns their numbers; nil for an error.
    private func results(_ worker: Worker) -> [UInt64?] {
        let nodes = nodes.content!
        var results = [UInt64?](repeating: nil, count: nodes.count)
        for node in nodes.indices.shuffled(using: &worker.generator) {
            results[node] = nodes[node].value?.number(violations)
        }
        return results
    }

    /// Returns the graph, with these results of the nodes, for the message of a violation.
    private func text(_ results: [UInt64?]) -> String {
        let nodes = steps.indices.map { node in
            let form = throwing[node] ? "can have an error" : "cannot"
            return "n\(node) (\(form)) = \(results[node].map(String.init) ?? "error") reads \(steps[node])"
        }
        return "\(nodes.joined(separator: "; ")); sources \(sources.map(\.value))"
    }
}
