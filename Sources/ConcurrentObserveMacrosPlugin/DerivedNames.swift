// SPDX-License-Identifier: Apache-2.0

#if Macros
import SwiftSyntax

/// Classifies the members of a model, for the body of a derived variable that uses their names.
struct DerivedNames {
    enum Kind {
        /// An observed variable. The body reads its storage, for example `object._rpm`.
        case observed(storage: String)
        case derived
        case constant
        /// A method, or a computed variable without the mark. Reads inside it would not be
        /// followed.
        case unfollowed(isMethod: Bool)
    }

    private(set) var kinds: [String: Kind] = [:]
    private let privateTypes: Set<String>

    /// Classifies `members`, including those inside `#if`.
    ///
    /// - Parameter privateTypes: The names of the private types of the class.
    init(_ members: MemberBlockItemListSyntax, privateTypes: Set<String>) {
        self.privateTypes = privateTypes
        add(members)
    }

    private mutating func add(_ members: MemberBlockItemListSyntax) {
        for member in members {
            switch member.decl.as(DeclSyntaxEnum.self) {
            case .ifConfigDecl(let conditional):
                for case .decls(let members) in conditional.clauses.compactMap(\.elements) { add(members) }
            case .variableDecl(let variable): add(variable)
            case .functionDecl(let function) where !function.modifiers.isStatic:
                kinds[function.name.bareText] = .unfollowed(isMethod: true)
            default: break
            }
        }
    }

    private mutating func add(_ variable: VariableDeclSyntax) {
        if case .observed(let observed) = ObservedVariable.read(variable, privateTypes: privateTypes) {
            kinds[observed.name.bare] = .observed(storage: observed.storage)
            return
        }
        guard !variable.isStatic else { return }
        for name in variable.bindings.compactMap({ $0.pattern.as(IdentifierPatternSyntax.self)?.identifier.bareText }) {
            if variable.attributes.has(DerivedVariable.mark) {
                kinds[name] = .derived
            } else {
                kinds[name] =
                    variable.bindingSpecifier.tokenKind == .keyword(.let)
                    ? .constant : .unfollowed(isMethod: false)
            }
        }
    }
}

extension DeclModifierListSyntax {
    /// Whether the declaration is static.
    var isStatic: Bool {
        contains { [.keyword(.static), .keyword(.class)].contains($0.name.tokenKind) }
    }
}

extension TokenSyntax {
    /// The name without backticks.
    var bareText: String { identifier?.name ?? text }
}

extension String {
    /// The name without backticks.
    var bare: String { filter { $0 != "`" } }
}
#endif
