// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

extension Scenario {
    /// Random graphs of derived values. Each round draws a new one, and it changes its shape with
    /// the sources' values. Each thread numbers its writes, and writes to one source after the
    /// other. So every result shows which writes it includes: a sequential oracle.
    static let derivedGraphs = Scenario(
        name: "derived-graphs",
        summary:
            "random graphs of derived values change their shape: no result is a mixture, lost, or old when it is read",
        invariants: [
            "P22.current", "P23.no-mixture", "P24.silent-when-equal", "P24.nothing-lost", "P24.links",
            "P24.links-end", "P25.errors", "P2.derived-versions", "P2.derived-order", "P11.derived-kept",
            "P12.derived-death",
            "P5.no-lock-around-user-code", "P14.nothing-left", "P16.backlog-drains",
        ],
        windows: ["a graph has changed its shape", "a result was an error"],
        leastThreads: 2
    ) { round in
        let graph = RandomGraph(round)
        let witnesses = graph.ends.map { DerivedWitness($0, round) }
        let violations = round.violations
        let choice = graph.choice.observe { change in
            guard change.old == change.new else { return }
            violations.report("P24.silent-when-equal", "version \(change.version) changes nothing")
        }

        round.load { worker in
            let history = graph.histories[worker.index % graph.histories.count]
            switch worker.generator.below(16) {
            case 0:
                worker.begin("observe")
                let end = graph.ends[worker.generator.below(graph.ends.count)]
                let delivery: Delivery = worker.generator.oneIn(2) ? .inline : .serial()
                let token = end.observe(options: .initial, delivery: delivery) { change in
                    checkUserCode("callback")
                    graph.judge(change.new, round)
                }
                if worker.generator.oneIn(2) { token.cancel() } else { token.cancelAndWaitBlocking() }
            case 1:
                worker.begin("make and drop")
                if worker.generator.oneIn(16) { graph.makeAndDrop() }
                let token = graph.observeUnkept()
                worker.check(
                    token.isActive,
                    "P11.derived-kept",
                    "the observation of a derived value that nothing else keeps has ended"
                )
                token.cancel()
            case 2...6:
                worker.begin("read")
                graph.judge(graph.ends[worker.generator.below(graph.ends.count)].value, round)
                let twice = graph.twice.value
                worker.check(
                    twice.number == ~twice.complement,
                    "P23.no-mixture",
                    "the words of a result are \(twice.number) and \(twice.complement)"
                )
            default:
                worker.begin("set")
                // Only one thread writes to each history.
                guard worker.index < graph.histories.count else { return }
                let number = history.write()
                if RandomGraph.choice(number) != RandomGraph.choice(number - 1) { worker.hit(0) }
                // A thread sees its own writes at once.
                let result = graph.all.value
                worker.check(
                    result.isOf(number, of: worker.index),
                    "P22.current",
                    "after write \(number) the value is \(result)"
                )
                guard worker.index == 0 else { return }
                let (first, failed) = (history.first.value, graph.failing.value)
                if first % 2 == 0 { worker.hit(1) }
                worker.check(
                    (try? failed.get()) == (first % 2 == 0 ? nil : first),
                    "P25.errors",
                    "the source is \(first), the result \(failed)"
                )
            }
        }

        // The links of dropped derived values end with them.
        round.drain()
        if round.violations.isEmpty {
            for witness in witnesses { witness.settle(round) }
            graph.checkLinks(round, isObserved: true)
        }
        for witness in witnesses { witness.token.cancel() }
        choice.cancel()
        round.drain()
        if round.violations.isEmpty { graph.checkLinks(round, isObserved: false) }
        round.check(
            graph.drops.value == graph.deaths.value,
            "P12.derived-death",
            "of \(graph.drops.value) dropped values the observations of \(graph.deaths.value) have ended"
        )
        round.checkRest()
    }
}

/// Sources to which one thread writes the numbers 1, 2, 3, …, to one source after the other. The
/// number *n* stays in its source until the thread comes round to it: so it is present together
/// with each of the next numbers in the other sources.
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

    func isOf(_ number: UInt64, of history: Int) -> Bool { earliest[history] <= number && number <= latest[history] }

    /// Whether this can be a later result than `before`.
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

/// A random graph over the histories. The number in a function's own source decides which nodes it
/// reads.
private final class RandomGraph: Sendable {
    let histories: [History]
    private let nodes: [[Node]]
    /// Derived from all sources.
    let all: Derived<Writes>
    let failing: Derived<Result<UInt64, Third>>
    /// Most of its results equal the one before.
    let choice: Derived<Bool>
    /// A result of two words without references.
    let twice: Derived<Twice>
    let (drops, deaths) = (Counter(), Counter())
    private let dropped = Guarded<[ObservationToken]>([])

    /// A derived value. Its function reads a source of its own, and nodes of the layer above.
    struct Node: Sendable {
        let derived: Derived<Writes>
        let source: Place
        let always: [Int]
        /// The function reads one of these two; the number in the source decides which one.
        let choice: (Int, Int)?
    }

    /// A source of a history.
    struct Place: Sendable, Hashable { let history, source: Int }

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

    /// Whether functions read the first of their two choices, by the number in their own source.
    static func choice(_ number: UInt64) -> Bool { number / UInt64(History.count) & 1 == 0 }

    func judge(_ writes: Writes, _ round: Round) {
        if writes.isMixture { round.violations.report("P23.no-mixture", "a result is of \(writes)") }
    }

    /// Observes a derived value that nothing else keeps.
    func observeUnkept() -> ObservationToken {
        histories[0].first.map { ~$0 }.observe { _ in checkUserCode("callback") }
    }

    /// Makes a derived value that belongs to a model, observes it, and drops it.
    func makeAndDrop() {
        let source = histories[0].first
        var derived: Derived<UInt64>? = Derived { get in get(source) }.asModels
        let token = derived!.observe { _ in checkUserCode("callback") }
        drops.increment()
        token.onEnd { [deaths] end in if end == .sourceDeleted { deaths.increment() } }
        derived = nil
        dropped.withLock { $0.append(token) }
    }

    /// Checks at rest that each source has one link for each observed value that was last derived
    /// from it.
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
                let (links, read) = (
                    sources[source].observationCount, expected[Place(history: history, source: source)] ?? 0
                )
                round.check(
                    links == read,
                    isObserved ? "P24.links" : "P24.links-end",
                    "a source has \(links) links, and \(read) observed values are derived from it"
                )
            }
        }
    }

    /// The places that a node is derived from at present.
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

/// A number that several threads count up.
private final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    var value: Int { count.load(ordering: .sequentiallyConsistent) }

    func increment() { count.add(1, ordering: .sequentiallyConsistent) }
}

/// An observer of an end of a graph.
private final class DerivedWitness: Sendable {
    let token: ObservationToken
    private let derived: Derived<Writes>
    private let received: VersionedWrites

    init(_ derived: Derived<Writes>, _ round: Round) {
        self.derived = derived
        let received = VersionedWrites(round.violations)
        self.received = received
        token = derived.observe(options: .initial) { change in
            checkUserCode("callback")
            received.note(change)
        }
    }

    /// Checks at rest that the last delivery was the present value.
    func settle(_ round: Round) {
        let (value, version) = derived.snapshot()
        round.check(
            received.last?.new == value && received.last?.version == version,
            "P24.nothing-lost",
            "the last delivery is version \(received.last?.version ?? 0), the value has version \(version)"
        )
        round.check(
            received.early == 0,
            "P2.derived-versions",
            "\(received.early) versions came, but one before them never did"
        )
    }
}

/// The changes that an observer has received, on any threads, judged in the order of their
/// versions.
private final class VersionedWrites: Sendable {
    private struct State {
        var last: Change<Writes>?
        var early: [UInt64: Change<Writes>] = [:]
    }

    private let state = Guarded(State())
    private let violations: Violations

    init(_ violations: Violations) { self.violations = violations }

    var last: Change<Writes>? { state.withLock { $0.last } }
    /// How many versions came while one before them is missing.
    var early: Int { state.withLock { $0.early.count } }

    func note(_ change: Change<Writes>) {
        if change.new.isMixture { violations.report("P23.no-mixture", "a result is of \(change.new)") }
        if let old = change.old, old == change.new {
            violations.report("P24.silent-when-equal", "version \(change.version) changes nothing")
        }
        state.withLock { state in
            state.early[change.version] = change
            guard let first = state.last else {
                guard change.reason == .initial else { return }
                state.last = change
                state.early[change.version] = nil
                return
            }
            var before = first
            while let next = state.early.removeValue(forKey: before.version + 1) {
                judge(next, after: before)
                before = next
            }
            state.last = before
        }
    }

    private func judge(_ change: Change<Writes>, after before: Change<Writes>) {
        if change.old != before.new {
            violations.report("P2.derived-versions", "old of \(change.version) is not new of the one before")
        }
        if !change.new.canFollow(before.new) {
            violations.report("P2.derived-order", "after \(before.new) came \(change.new)")
        }
    }
}

extension Derived {
    /// The derived value as a property of a model: its observations end with it.
    var asModels: Derived { _DerivedStorage().derived { self } }
}
