// SPDX-License-Identifier: Apache-2.0

#if Macros
import SwiftDiagnostics
import SwiftSyntax

/// An error that a macro reports. The text says what the macro cannot do, and how to correct the
/// code.
struct Problem: DiagnosticMessage {
    let message: String
    /// The name that distinguishes this problem from the others.
    let name: String

    var diagnosticID: MessageID { MessageID(domain: "ConcurrentObserve", id: name) }
    var severity: DiagnosticSeverity { .error }
}

/// The text of a fix-it. It says what the fix-it changes.
struct Remedy: FixItMessage {
    let message: String
    let name: String

    var fixItID: MessageID { MessageID(domain: "ConcurrentObserve", id: name) }
}

extension Diagnostic {
    /// Makes a problem at `node`. If there is a remedy, adds a fix-it with the changes that correct
    /// the code.
    init(
        at node: some SyntaxProtocol,
        _ name: String,
        _ message: String,
        remedy: String? = nil,
        changes: [FixIt.Change] = []
    ) {
        self.init(
            node: Syntax(node),
            message: Problem(message: message, name: name),
            fixIts: remedy.map { [FixIt(message: Remedy(message: $0, name: name), changes: changes)] } ?? []
        )
    }
}

extension AttributeListSyntax {
    /// Whether one of the attributes has this name.
    func has(_ name: String) -> Bool { contains { $0.as(AttributeSyntax.self)?.simpleName == name } }

    /// Returns the attributes that the macro does not know. The text does not show whether an
    /// attribute is a property wrapper, a result builder, a macro or a global actor.
    ///
    /// - Parameter mark: A known attribute. The attributes that only say who may use a declaration,
    ///   or how it is compiled, are known, too.
    func unknown(but mark: String? = nil) -> [AttributeSyntax] {
        flatMap { element -> [AttributeSyntax] in
            switch element {
            case .attribute(let attribute):
                let name = attribute.simpleName
                return name == mark || Self.harmless.contains(name) ? [] : [attribute]
            case .ifConfigDecl(let conditional):
                return conditional.clauses.flatMap { clause -> [AttributeSyntax] in
                    guard case .attributes(let attributes) = clause.elements else { return [] }
                    return attributes.unknown(but: mark)
                }
            }
        }
    }

    private static let harmless: Set = [
        "available", "inlinable", "inline", "usableFromInline", "nonobjc", "objc", "_spi", "_documentation",
        "_optimize", "_alwaysEmitIntoClient", "backDeployed",
    ]
}

extension AttributeSyntax {
    /// The name of the attribute, without its module.
    var simpleName: String {
        if let member = attributeName.as(MemberTypeSyntax.self) { return member.name.text }
        return attributeName.as(IdentifierTypeSyntax.self)?.name.text ?? attributeName.trimmedDescription
    }
}
#endif
