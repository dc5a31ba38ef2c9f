// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Scenario {
    /// Random graphs of derived values. Each round makes a new graph, and the values of the sources
    /// change its shape. Each thread numbers its writes, and writes to its sources one after the
    /// other. Every result therefore shows which writes it includes, and can be compared with a
    /// sequential order.
    static let derivedGraphs = Scenario(
        name: "derived-graphs",
        summary:
            "random graphs of derived values change their shape: no result is a mixture, lost, or old when it is read",
        invariants: [
            "P22.current", "P23.no-mixture", "P24.silent-when-equal", "P24.nothing-lost", "P24.links", "P24.links-end",
            "P25.errors", "P2.derived-versions", "P2.derived-order", "P11.derived-kept", "P12.derived-death",
            "P5.no-lock-around-user-code", "P14.nothing-left", "P16.backlog-drains",
        ],
        windows: ["a graph has changed its shape", "a result was an error"],
        leastThreads: 2
    ) { round in
        let graph = RandomGraph(round)
        let witnesses = graph.ends.map { DerivedWitness($0, round) }
        let violations = round.violations
        let choice = graph.choice.observe { change in
            violations.check(change.old != change.new, "P24.silent-when-equal") {
                "version \(change.version) changes nothing"
            }
        }
        round.load { worker in
            switch worker.generator.below(16) {
            case 0: worker.observe(graph)
            case 1: worker.makeAndDrop(graph)
            case 2...6: worker.read(graph)
            default: worker.set(graph)
            }
        }

        // The links of derived values end when these are released.
        round.drain()
        if round.violations.isEmpty {
            for witness in witnesses { witness.settle(round) }
            graph.checkLinks(round, isObserved: true)
        }
        for witness in witnesses { witness.token.cancel() }
        choice.cancel()
        round.drain()
        if round.violations.isEmpty { graph.checkLinks(round, isObserved: false) }
        round.check("the number of ended values", graph.deaths.value, is: graph.drops.value, "P12.derived-death")
        round.checkRest()
    }
}

// MARK: - What the threads do

extension Worker {
    fileprivate func observe(_ graph: RandomGraph) {
        begin("observe")
        let violations = round.violations
        let delivery: Delivery = generator.oneIn(2) ? .inline : .serial()
        let token = graph.ends[generator.below(graph.ends.count)].observe(options: .initial, delivery: delivery) {
            checkUserCode("callback")
            $0.new.judge(violations)
        }
        if generator.oneIn(2) { token.cancel() } else { token.cancelAndWaitBlocking() }
    }

    /// Makes a derived value and releases it, and observes another one that only the observation
    /// retains.
    fileprivate func makeAndDrop(_ graph: RandomGraph) {
        begin("make and drop")
        if generator.oneIn(16) { graph.makeAndDrop() }
        let token = graph.first.map { ~$0 }.observe { _ in checkUserCode("callback") }
        check(token.isActive, "P11.derived-kept", "a derived value ends that only its observation keeps")
        token.cancel()
    }

    fileprivate func read(_ graph: RandomGraph) {
        begin("read")
        graph.ends[generator.below(graph.ends.count)].value.judge(round.violations)
        let twice = graph.twice.value
        check(twice.number == ~twice.complement, "P23.no-mixture", "the words of a result are \(twice)")
    }

    /// Writes the next number to the thread's own history, if it has one. Checks that the present
    /// values include this write.
    fileprivate func set(_ graph: RandomGraph) {
        begin("set")
        guard index < graph.histories.count else { return }
        let number = graph.histories[index].write()
        if RandomGraph.choice(number) != RandomGraph.choice(number - 1) { hit(0) }
        let result = graph.all.value
        check(result.isOf(number, of: index), "P22.current", "after write \(number) the value is \(result)")
        guard index == 0 else { return }
        let (first, failed) = (graph.first.value, graph.failing.value)
        if first % 2 == 0 { hit(1) }
        check("the result of \(first)", try? failed.get(), is: first % 2 == 0 ? nil : first, "P25.errors")
    }
}

// MARK: - The graph

/// Sources to which one thread writes the numbers 1, 2, 3, …, to one source after the other. The
/// number *n* stays in its source until the thread comes to that source again. It is therefore
/// present together with each of the next numbers in the other sources.
private final class History: Sendable {
    let sources = (0..<History.count).map { Observed(UInt64($0)) }
    private let last = Atomic<UInt64>(UInt64(History.count - 1))
    static var count: Int { 3 }

    var first: Observed<UInt64> { sources[0] }

    /// Writes the next number to the next source. Returns the number.
    func write() -> UInt64 {
        let number = last.add(1, ordering: .relaxed).newValue
        sources[Int(number) % Self.count].value = number
        return number
    }
}

/// The moments at which a result was possible: for each history, the earliest and the latest write
/// after which it was. A mixture of values was possible at no moment.
private struct Writes: Equatable, Sendable, CustomStringConvertible {
    private var earliest = SIMD4<UInt64>(repeating: 0)
    private var latest = SIMD4<UInt64>(repeating: .max)

    init() {}

    init(_ number: UInt64, of history: Int) {
        earliest[history] = number
        latest[history] = number + UInt64(History.count) - 1
    }

    mutating func add(_ other: Writes) {
        for history in 0..<4 {
            earliest[history] = max(earliest[history], other.earliest[history])
            latest[history] = min(latest[history], other.latest[history])
        }
    }

    var isMixture: Bool { (0..<4).contains { earliest[$0] > latest[$0] } }

    func judge(_ violations: Violations) { violations.check(!isMixture, "P23.no-mixture", "a result is of \(self)") }

    func isOf(_ number: UInt64, of history: Int) -> Bool { earliest[history] <= number && number <= latest[history] }

    /// Returns whether this result can come after `before`.
    func canFollow(_ before: Writes) -> Bool { !(0..<4).contains { latest[$0] < before.earliest[$0] } }

    var description: String { (0..<4).map { "\(earliest[$0])…\(latest[$0])" }.joined(separator: ", ") }

    static func == (left: Writes, right: Writes) -> Bool {
        checkUserCode("==")
        return left.earliest == right.earliest && left.latest == right.latest
    }
}

private struct Third: Error, Equatable {}

/// A number and its complement.
private struct Twice: Equatable, Sendable { let number, complement: UInt64 }

/// A random graph over the histories. A number from the function's own source decides which nodes
/// the function reads.
private final class RandomGraph: Sendable {
    let histories: [History]
    private let nodes: [[Node]]
    /// A derived value that depends on all sources.
    let all: Derived<Writes>
    let failing: Derived<Result<UInt64, Third>>
    /// A derived value most of whose results equal the previous one.
    let choice: Derived<Bool>
    /// A result of two words without references.
    let twice: Derived<Twice>
    let (drops, deaths) = (Tally(), Tally())
    private let dropped = Guarded<[ObservationToken]>([])

    /// A derived value. Its function reads its own source, and nodes of the layer above.
    struct Node: Sendable {
        let derived: Derived<Writes>
        let source: Place
        let always: [Int]
        /// The indices of two nodes. The function reads one of them; the number in its source
        /// decides which one.
        let choice: (Int, Int)?
    }

    /// The place of a source: its history, and its index there.
    struct Place: Sendable, Hashable { let history, source: Int }

    var first: Observed<UInt64> { histories[0].first }
    var ends: [Derived<Writes>] { nodes.last!.map(\.derived) }

    init(_ round: Round) {
        var generator = Generator(seed: round.seed, stream: 977)
        let histories = (0..<min(max(round.threads / 2, 1), 4)).map { _ in History() }
        self.histories = histories
        @Sendable func read(_ place: Place, _ get: borrowing Reader) -> (number: UInt64, writes: Writes) {
            let number = get(histories[place.history].sources[place.source])
            return (number, Writes(number, of: place.history))
        }
        let places = histories.indices.flatMap { history in
            (0..<History.count).map { Place(history: history, source: $0) }
        }
        var nodes = [
            places.map { place in
                Node(derived: Derived { get in read(place, get).writes }, source: place, always: [], choice: nil)
            }
        ]
        for _ in 0..<2 {
            let row = nodes.last!.map(\.derived)
            nodes.append(
                (0..<4).map { _ in
                    let place = Place(history: generator.below(histories.count), source: 0)
                    let always = (0..<3).map { _ in generator.below(row.count) }
                    let choice = (generator.below(row.count), generator.below(row.count))
                    let derived = Derived { get in
                        var (number, writes) = read(place, get)
                        writes.add(get(row[Self.choice(number) ? choice.0 : choice.1]))
                        for index in always { writes.add(get(row[index])) }
                        return writes
                    }
                    return Node(derived: derived, source: place, always: always, choice: choice)
                }
            )
        }
        self.nodes = nodes
        all = Derived { get in
            var writes = Writes()
            for place in places { writes.add(read(place, get).writes) }
            return writes
        }
        let first = histories[0].first
        choice = Derived { get in get(first) & 64 == 0 }
        twice = first.map { Twice(number: $0, complement: ~$0) }
        failing = Derived(throwing: { get throws(Third) in
            let number = get(first)
            if number % 2 == 0 { throw Third() }
            return number
        })
    }

    /// Returns whether a function reads the first of its two choices when its own source has this
    /// number.
    static func choice(_ number: UInt64) -> Bool { number / UInt64(History.count) & 1 == 0 }

    /// Makes a derived value that belongs to a model, observes it, and releases it.
    func makeAndDrop() {
        var derived: Derived<UInt64>? = Derived { [first] get in get(first) }.asModels
        let token = derived!.observe { _ in checkUserCode("callback") }
        drops.increment()
        token.onEnd { [deaths] end in if end == .sourceDeleted { deaths.increment() } }
        derived = nil
        dropped.withLock { $0.append(token) }
    }

    /// Checks at rest that each source has one link for each observed value that depends on it now.
    func checkLinks(_ round: Round, isObserved: Bool) {
        var expected: [Place: Int] = [:]
        if isObserved {
            expected[Place(history: 0, source: 0)] = 1
            for end in nodes.last!.indices {
                for place in roots(nodes.count - 1, end) { expected[place, default: 0] += 1 }
            }
        }
        for (history, sources) in histories.map(\.sources).enumerated() {
            for source in sources.indices {
                round.check(
                    "the number of a source's links",
                    sources[source].observationCount,
                    is: expected[Place(history: history, source: source)] ?? 0,
                    isObserved ? "P24.links" : "P24.links-end"
                )
            }
        }
    }

    /// Returns the places of the sources on which a node depends now.
    private func roots(_ layer: Int, _ index: Int) -> Set<Place> {
        let node = nodes[layer][index]
        var roots: Set<Place> = [node.source]
        guard let choice = node.choice else { return roots }
        let number = histories[node.source.history].sources[node.source.source].value
        for read in node.always + [Self.choice(number) ? choice.0 : choice.1] {
            roots.formUnion(self.roots(layer - 1, read))
        }
        return roots
    }
}

/// An observer of the last layer of a graph. The changes come on any thread. It checks them in the
/// order of their versions.
private final class DerivedWitness: Sendable {
    fileprivate struct State {
        var last: Change<Writes>?
        /// The changes that came while an earlier version was still missing, by version.
        var early: [UInt64: Change<Writes>] = [:]
    }

    let token: ObservationToken
    private let derived: Derived<Writes>
    private let state: Guarded<State>

    init(_ derived: Derived<Writes>, _ round: Round) {
        self.derived = derived
        let (state, violations) = (Guarded(State()), round.violations)
        self.state = state
        token = derived.observe(options: .initial) { change in
            checkUserCode("callback")
            change.new.judge(violations)
            violations.check(change.old != change.new, "P24.silent-when-equal") {
                "version \(change.version) changes nothing"
            }
            state.withLock { $0.note(change, violations) }
        }
    }

    /// Checks at rest that the last change has the present value.
    func settle(_ round: Round) {
        let (value, version) = derived.snapshot()
        let (last, early) = state.withLock { ($0.last, $0.early.count) }
        round.check(last?.new == value && last?.version == version, "P24.nothing-lost") {
            "the last delivery is version \(last?.version ?? 0), the value has version \(version)"
        }
        round.check("the number of versions that came without the one before", early, is: 0, "P2.derived-versions")
    }
}

extension DerivedWitness.State {
    fileprivate mutating func note(_ change: Change<Writes>, _ violations: Violations) {
        guard var before = last else {
            if change.reason == .initial { last = change } else { early[change.version] = change }
            return
        }
        early[change.version] = change
        while let next = early.removeValue(forKey: before.version + 1) {
            let (version, old) = (next.version, before.new)
            violations.check(next.old == old, "P2.derived-versions", "\(version) does not follow the one before")
            violations.check(next.new.canFollow(old), "P2.derived-order", "after \(old) came \(next.new)")
            before = next
        }
        last = before
    }
}

extension Derived {
    /// The derived value as a property of a model. Its observations end with the model.
    var asModels: Derived { _DerivedStorage().derived { self } }
}
