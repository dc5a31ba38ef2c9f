// SPDX-License-Identifier: Apache-2.0

public import ConcurrentObserve

/// The sources and their observers at one moment: properties, registries, paths, groups and derived
/// values, and the events that wait in mailboxes. `description` is the graph as text.
public struct ObservationGraph: Sendable, CustomStringConvertible {
    private let nodes: [Node]

    fileprivate struct Node {
        let name: String
        let kind: String
        let edges: [Edge]
    }

    /// One observer, or several observers with the same description.
    fileprivate struct Edge: Hashable {
        /// Describes the observation.
        let text: String
        /// The index of the node that changes when the observed node changes; nil if there is none.
        let target: Int?
    }

    init(_ sources: [InspectedSource]) {
        var indices: [UInt: Int] = [:]
        for (index, source) in sources.enumerated() { indices[source.id] = index }
        var places = PlaceNames.places(of: sources.flatMap(\.observers).compactMap(\.made)).makeIterator()
        nodes = sources.enumerated().map { index, source in
            Node(
                name: source.label.isEmpty ? Self.name(index, source) : "'\(source.label.onOneLine)'",
                kind: source.label.isEmpty ? "" : Self.kind(source),
                edges: source.observers.map { Edge($0, indices, at: $0.made == nil ? nil : places.next()!) }
            )
        }
    }

    private static func kind(_ source: InspectedSource) -> String {
        switch source.kind {
        case .property: "property"
        case .registry: "registry"
        case .path: "path"
        case .group: "group"
        case .derived(let place): "derived value at \(place)"
        }
    }

    /// The name of a source without a label.
    private static func name(_ index: Int, _ source: InspectedSource) -> String {
        let kind = kind(source)
        return switch source.kind {
        // The name of a derived value has its place already.
        case .derived: kind
        case .path, .group: "\(kind) \(index + 1)"
        case .property, .registry: "\(kind) \(index + 1)" + (source.type.map { " of \($0)" } ?? "")
        }
    }

    /// A line for each source. Below each, a line for each kind of its observers.
    public var description: String {
        if nodes.isEmpty { return "nothing is observed" }
        return nodes.flatMap { node in
            [node.kind.isEmpty ? node.name : "\(node.name), \(node.kind)"]
                + node.edges.counted.map { edge, count in
                    let target = edge.target.map { nodes[$0].name }
                    let words = [edge.text, target ?? ""].filter { !$0.isEmpty }.joined(separator: " to ")
                    return "  → \(words)\(count > 1 ? ", \(count) times" : "")"
                }
        }.joined(separator: "\n")
    }

    /// The graph in the language of Graphviz. `dot -Tsvg` draws it.
    public var graphviz: String {
        var lines = ["digraph observations {", "  rankdir=LR; node [shape=box];"]
        for (index, node) in nodes.enumerated() {
            let text = node.kind.isEmpty ? node.name : "\(node.name)\n\(node.kind)"
            lines.append("  s\(index) [label=\(quoted(text)) style=bold];")
            for (number, (edge, count)) in node.edges.counted.enumerated() {
                let text = count > 1 ? "\(edge.text)\n\(count) times" : edge.text
                if let target = edge.target {
                    lines.append("  s\(index) -> s\(target)\(text.isEmpty ? "" : " [label=\(quoted(text))]");")
                } else {
                    lines.append("  o\(index)_\(number) [label=\(quoted(text))];")
                    lines.append("  s\(index) -> o\(index)_\(number);")
                }
            }
        }
        return (lines + ["}"]).joined(separator: "\n")
    }

    private func quoted(_ text: String) -> String {
        var escaped = ""
        for character in text {
            switch character {
            case "\"", "\\": escaped += "\\\(character)"
            case "\n": escaped += "\\n"
            default: escaped.append(character)
            }
        }
        return "\"\(escaped)\""
    }
}

extension ObservationGraph.Edge {
    fileprivate init(_ observer: InspectedObserver, _ indices: [UInt: Int], at place: String?) {
        let (kind, details) =
            switch observer.kind {
            case .callback: ("callback", "")
            case .mailbox(let place, let counts):
                (
                    "mailbox",
                    ", \(place.onOneLine), \(counts.pending) pending"
                        + (counts.dropped > 0 ? ", \(counts.dropped) dropped" : "")
                )
            case .binding: ("binding", "")
            case .part: ("", "")
            case .pathEnd: ("end of a path", "")
            }
        let label = observer.label.isEmpty ? "" : " '\(observer.label.onOneLine)'"
        let place = place.map { " (\($0))" } ?? ""
        target = observer.target.flatMap { indices[$0] }
        text = kind + label + details + place
    }
}

extension String {
    /// The string on one line. Characters that could begin a line or a terminal's command are
    /// replaced by escape sequences.
    var onOneLine: String {
        unicodeScalars.reduce(into: "") { text, scalar in
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: text += scalar.escaped(asASCII: true)
            default: text.unicodeScalars.append(scalar)
            }
        }
    }
}

extension [ObservationGraph.Edge] {
    /// The distinct elements, in the order of their first occurrence. Each has the number of its
    /// occurrences.
    fileprivate var counted: [(Element, Int)] {
        var order: [Element] = []
        var counts: [Element: Int] = [:]
        for element in self {
            if counts[element] == nil { order.append(element) }
            counts[element, default: 0] += 1
        }
        return order.map { ($0, counts[$0]!) }
    }
}

extension ConcurrentObserveDiagnostics {
    /// Returns the graph of the process, with the observers of each source. The graph has the
    /// sources that have a label, the sources whose observations were recorded, and all sources
    /// that change because of these.
    ///
    /// Each source is inspected separately, so the graph may show different moments. If all
    /// observations of a source were made before `startRecording()`, it is found only by its label,
    /// or through another source that leads to it. Observations whose owners are dead end. (P13)
    /// Call it from any thread, also inside a callback. It never waits for user code.
    ///
    /// - Complexity: O(sources and observers). Reads debug information like
    ///   `observationsByOrigin()`.
    public static func graph() -> ObservationGraph { ObservationGraph(InspectedSource.all(from: nil)) }

    /// Returns the graph of these sources and of all sources that change because of them, each with
    /// its observers. The sources need no label, and no recording.
    ///
    /// - Parameter sources: Properties, weak properties, registries and derived values. Sources of
    ///   other types are left out. For a model, pass its properties.
    public static func graph(of sources: any ObservationSource...) -> ObservationGraph {
        ObservationGraph(InspectedSource.all(from: sources))
    }
}
