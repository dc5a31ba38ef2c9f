// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The compiler's description of the symbols of a module, as far as the checks need it.
struct SymbolGraph: Decodable {
    struct Module: Decodable { let name: String }
    struct Named: Decodable { let identifier: String }
    struct Identifier: Decodable { let precise: String }
    struct Names: Decodable { let title: String }
    struct Fragment: Decodable { let spelling: String }
    struct Constraint: Decodable { let kind, lhs, rhs: String }
    struct Extension: Decodable { let constraints: [Constraint]? }
    struct Comment: Decodable { let lines: [Line] }
    struct Line: Decodable { let text: String }

    struct Symbol: Decodable {
        let identifier: Identifier
        let kind: Named
        let pathComponents: [String]
        let names: Names
        let declarationFragments: [Fragment]?
        let swiftExtension: Extension?
        let docComment: Comment?

        var path: String { pathComponents.joined(separator: ".") }
        /// Whether the symbol comes from a conformance.
        var isSynthesized: Bool { identifier.precise.contains("::SYNTHESIZED::") }
        var isDocumented: Bool {
            docComment?.lines.contains { !$0.text.trimmingCharacters(in: .whitespaces).isEmpty } == true
        }
    }

    struct Relationship: Decodable {
        let source, target, kind: String
        let targetFallback: String?
        let swiftConstraints: [Constraint]?
    }

    let module: Module
    let symbols: [Symbol]
    let relationships: [Relationship]

    /// Reads one of the compiler's files.
    init(file: String) throws {
        self = try JSONDecoder().decode(SymbolGraph.self, from: Data(contentsOf: URL(fileURLWithPath: file)))
    }

    /// The public symbols without a comment, one in each line. Members that come from a conformance
    /// are left out.
    var undocumented: [String] {
        symbols.filter { !$0.isSynthesized && !$0.isDocumented }.map {
            "\(module.name) \($0.kind.identifier) \($0.path)"
        }
    }

    /// The declarations of the module, one in each line: module, kind, name, declaration.
    var declarations: Set<String> {
        let own = symbols.filter { !$0.isSynthesized }
        let byIdentifier = Dictionary(own.map { ($0.identifier.precise, $0) }) { $1 }
        let requirements = Set(relationships.filter { $0.kind == "requirementOf" }.map(\.source))
            .subtracting(relationships.filter { $0.kind == "defaultImplementationOf" }.map(\.target))
        var lines: Set<String> = []
        for (identifier, symbol) in byIdentifier {
            let kind = symbol.kind.identifier
            let name =
                requirements.contains(identifier)
                ? "requirement" : kind.hasPrefix("swift.") ? String(kind.dropFirst(6)) : kind
            let fragments = (symbol.declarationFragments ?? []).map(\.spelling).joined()
            let declaration = fragments.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            lines.insert(
                "\(module.name) \(name) \(symbol.path) | \(declaration)"
                    + conditions(symbol.swiftExtension?.constraints)
            )
        }
        for relation in relationships where relation.kind == "conformsTo" || relation.kind == "inheritsFrom" {
            guard let source = byIdentifier[relation.source] else { continue }
            let target = byIdentifier[relation.target]?.names.title ?? relation.targetFallback ?? relation.target
            // The compiler adds these to nearly every type, and its versions do so differently.
            if ["Swift.Copyable", "Swift.Escapable", "Swift.SendableMetatype"].contains(target) { continue }
            lines.insert(
                "\(module.name) conformance \(source.path) | : \(target)" + conditions(relation.swiftConstraints)
            )
        }
        return lines
    }

    private func conditions(_ constraints: [Constraint]?) -> String {
        let signs = ["conformance": ":", "superclass": ":", "sameType": "=="]
        let all = (constraints ?? []).map { "\($0.lhs) \(signs[$0.kind] ?? $0.kind) \($0.rhs)" }.sorted()
        return all.isEmpty ? "" : " [where \(all.joined(separator: ", "))]"
    }
}
