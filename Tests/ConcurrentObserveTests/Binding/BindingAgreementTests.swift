// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P3 Pairs agree, also if a side corrects what it receives")
    struct BindingAgreementTests {}
}

/// A graph of properties, pairs and one-way bindings, drawn from a seed.
private final class Graph: Sendable {
    enum Edge: CustomStringConvertible {
        case pair(Int, Int)
        case clamp(Int, Int)
        case oneWay(from: Int, to: Int, adds: Int)

        var description: String {
            switch self {
            case .pair(let one, let other): "\(one) <-> \(other)"
            case .clamp(let property, let limit): "\(property) <= \(limit)"
            case .oneWay(let from, let to, let adds): "\(from) -> \(to) + \(adds)"
            }
        }
    }

    let properties: [Observed<Int>]
    let edges: [Edge]
    private let tokens: [ObservationToken]

    init(_ edges: [Edge], properties count: Int) {
        let properties = (0..<count).map { _ in Observed(0) }
        (self.properties, self.edges) = (properties, edges)
        tokens = edges.map { edge in
            switch edge {
            case .pair(let one, let other): properties[one].bindBidirectionally(with: properties[other])
            case .clamp(let property, let limit):
                properties[property].bind(to: properties[property]) { min($0, limit) }
            case .oneWay(let from, let to, let adds): properties[from].bind(to: properties[to]) { $0 + adds }
            }
        }
    }

    convenience init(seed: UInt64, oneWay: Bool) {
        var random = SplitMix(seed: seed)
        let count = Int.random(in: 2...8, using: &random)
        let edges = (0..<Int.random(in: 1...12, using: &random)).map { _ in
            let one = Int.random(in: 0..<count, using: &random)
            let other = (one + Int.random(in: 1..<count, using: &random)) % count
            switch Int.random(in: 0..<(oneWay ? 4 : 3), using: &random) {
            case 0, 1: return Edge.pair(one, other)
            case 2: return Edge.clamp(one, Int.random(in: 50...150, using: &random))
            default: return Edge.oneWay(from: one, to: other, adds: Int.random(in: 0...2, using: &random))
            }
        }
        self.init(edges, properties: count)
    }

    /// The pairs whose sides differ.
    var disagreeing: [Edge] {
        edges.filter { edge in
            guard case .pair(let one, let other) = edge else { return false }
            return properties[one].value != properties[other].value
        }
    }

    /// The number of changes that all properties have had.
    var changes: UInt64 { properties.reduce(0) { $0 + $1.version } }
}

extension Promises.BindingAgreementTests {
    @Test("P3 A side that corrects what it receives corrects its partner, in either order of registration")
    func correcting() {
        for edges: [Graph.Edge] in [
            [.clamp(1, 100), .pair(0, 1)], [.pair(0, 1), .clamp(1, 100)],
            [.clamp(0, 100), .pair(0, 1)], [.pair(0, 1), .clamp(0, 100)],
        ] {
            let graph = Graph(edges, properties: 2)
            for property in graph.properties {
                property.value = 250
                #expect(graph.properties.map(\.value) == [100, 100], "\(edges)")
            }
        }
    }

    @Test("P3 A correction passes a chain of pairs back to its beginning")
    func chain() {
        for edges: [Graph.Edge] in [
            [.pair(0, 1), .pair(1, 2), .clamp(2, 100)], [.clamp(2, 100), .pair(1, 2), .pair(0, 1)],
            [.pair(0, 1), .clamp(2, 100), .pair(2, 1)],
            [.pair(0, 1), .pair(1, 2), .clamp(2, 100), .oneWay(from: 1, to: 3, adds: 0)],
        ] {
            let graph = Graph(edges, properties: 4)
            graph.properties[0].value = 250
            #expect(graph.properties.prefix(3).map(\.value) == [100, 100, 100], "\(edges)")
        }
    }

    @Test("P3 A correction of a commit's change reaches its partner")
    func commit() {
        for edges: [Graph.Edge] in [[.clamp(1, 100), .pair(0, 1)], [.pair(0, 1), .clamp(1, 100)]] {
            let graph = Graph(edges, properties: 3)
            let group = Group(graph.properties[0], graph.properties[2])
            group.commit { draft in
                draft[graph.properties[0]] = 250
                draft[graph.properties[2]] = 1
            }
            #expect(graph.properties.map(\.value) == [100, 100, 1], "\(edges)")
        }
    }

    @Test("P3 Sides that correct to different values agree, and the propagation ends")
    func conflict() {
        let (one, other) = (Observed(0), Observed(0))
        let tokens = [
            one.bind(to: one) { min($0, 100) }, one.bindBidirectionally(with: other),
            other.bind(to: other) { max($0, 200) },
        ]
        for number in [50, 250, 150] {
            one.value = number
            #expect(one.value == other.value)
            other.value = number
            #expect(one.value == other.value)
        }
        withExtendedLifetime(tokens) {}
    }

    @Test("P3 In random graphs of pairs and corrections all pairs agree after each change", arguments: [false, true])
    func random(oneWay: Bool) {
        for seed in 0..<2_000 as Range<UInt64> {
            let graph = Graph(seed: seed, oneWay: oneWay)
            var random = SplitMix(seed: seed)
            let made = graph.changes
            #expect(graph.disagreeing.isEmpty, "seed \(seed), at the beginning: \(graph.edges)")
            for _ in 0..<5 {
                let property = graph.properties.randomElement(using: &random)
                property?.value = Int.random(in: 0...200, using: &random)
                guard graph.disagreeing.isEmpty else {
                    Issue.record(
                        "seed \(seed): \(graph.disagreeing) of \(graph.edges): \(graph.properties.map(\.value))"
                    )
                    return
                }
            }
            #expect(graph.changes - made < 20_000, "seed \(seed): \(graph.edges)")
        }
    }

    @Test("P3 Pairs of which a side corrects agree when racing writers have returned")
    func racing() async {
        for seed in 0..<200 as Range<UInt64> {
            var random = SplitMix(seed: seed)
            let edges = [Graph.Edge.pair(0, 1), .clamp(Int(seed % 3), 100), .pair(1, 2)]
            let graph = Graph(edges.shuffled(using: &random), properties: 3)
            await withTaskGroup(of: Void.self) { group in
                for writer in 0..<3 {
                    group.addTask {
                        for number in 0..<20 {
                            graph.properties[(writer + number) % 3].value = 80 + number * 3 + writer
                        }
                    }
                }
            }
            #expect(graph.disagreeing.isEmpty, "seed \(seed): \(graph.properties.map(\.value)) of \(graph.edges)")
        }
    }
}
