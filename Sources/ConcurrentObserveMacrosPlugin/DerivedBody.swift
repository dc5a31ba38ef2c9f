// SPDX-License-Identifier: Apache-2.0

#if Macros
import SwiftDiagnostics
import SwiftLexicalLookup
import SwiftSyntax
import SwiftSyntaxBuilder

/// The body of a derived variable, rewritten so that it reads through a reader: `rpm` becomes
/// `_derivedReader.follow(_rpm)`.
///
/// If the body declares a name that the class has, too, the name means the body's own declaration,
/// as it does for the compiler.
final class DerivedBody: SyntaxRewriter {
    private let names: DerivedNames
    private let variable: DerivedVariable
    private let model: String
    /// The kinds of the members that the body uses, by their names. The function captures these
    /// members.
    private(set) var captures: [String: DerivedNames.Kind] = [:]
    private(set) var problems: [Diagnostic] = []

    /// The names in the body for the reader and for the object. Bodies do not use these names by
    /// chance.
    static let reader = "_derivedReader"
    static let object = "_derivedObject"
    /// The function that the body calls if it uses a model itself.
    private static let unfollowed = "unfollowed"

    init(_ variable: DerivedVariable, _ names: DerivedNames, model: String) {
        (self.variable, self.names, self.model) = (variable, names, model)
        super.init(viewMode: .sourceAccurate)
    }

    /// The statements of the body, rewritten.
    var statements: CodeBlockItemListSyntax { visit(variable.body) }

    override func visit(_ node: DeclReferenceExprSyntax) -> ExprSyntax {
        if node.isMemberName { return ExprSyntax(node) }
        if node.baseName.bareText == Self.unfollowed, names.kinds[Self.unfollowed] == nil,
            !isLocal(node, node.baseName)
        {
            return unfollowed(node)
        }
        switch node.baseName.tokenKind {
        case .keyword(.Self): return expression(model, as: node)
        case .keyword(.self): return refused(node, "'self'")
        default: return isLocal(node, node.baseName) ? ExprSyntax(node) : read(node.baseName, at: node)
        }
    }

    override func visit(_ node: IdentifierTypeSyntax) -> TypeSyntax {
        guard node.name.tokenKind == .keyword(.Self) else { return super.visit(node) }
        return TypeSyntax(node.with(\.name, node.name.with(\.tokenKind, .identifier(model))))
    }

    override func visit(_ node: MemberAccessExprSyntax) -> ExprSyntax {
        guard let base = node.base?.as(DeclReferenceExprSyntax.self), base.baseName.tokenKind == .keyword(.self) else {
            return super.visit(node)
        }
        return read(node.declName.baseName, at: node)
    }

    // `if let spare` is short for `if let spare = spare`.
    override func visit(_ node: OptionalBindingConditionSyntax) -> OptionalBindingConditionSyntax {
        guard node.initializer == nil, let name = node.pattern.as(IdentifierPatternSyntax.self)?.identifier,
            names.kinds[name.bareText] != nil, !isLocal(node, name)
        else { return super.visit(node) }
        let value = read(name.trimmed, at: DeclReferenceExprSyntax(baseName: name.trimmed))
        return node.with(\.pattern.trailingTrivia, .space)
            .with(\.initializer, InitializerClauseSyntax(equal: .equalToken(trailingTrivia: .space), value: value))
    }

    // `[rpm]` is short for `[rpm = rpm]`.
    override func visit(_ node: ClosureCaptureSyntax) -> ClosureCaptureSyntax {
        guard node.initializer == nil, names.kinds[node.name.bareText] != nil, !isLocal(node, node.name) else {
            return super.visit(node)
        }
        let value = read(node.name.trimmed, at: DeclReferenceExprSyntax(baseName: node.name.trimmed))
        return node.with(\.name.trailingTrivia, .space)
            .with(\.initializer, InitializerClauseSyntax(equal: .equalToken(trailingTrivia: .space), value: value))
    }

    /// Returns the reader in place of `unfollowed`. If the reader is called with a followed model,
    /// it returns the model itself.
    private func unfollowed(_ node: DeclReferenceExprSyntax) -> ExprSyntax {
        guard node.parent?.as(FunctionCallExprSyntax.self)?.calledExpression.id == node.id else {
            let remedy = "call it with the model: '{ \(Self.unfollowed)($0) }'"
            return refused(node, "'\(Self.unfollowed)' as a function value; \(remedy)", node)
        }
        return expression(Self.reader, as: node)
    }

    /// Returns the expression that replaces a read of a member of the class.
    private func read(_ name: TokenSyntax, at node: some ExprSyntaxProtocol) -> ExprSyntax {
        let text = name.bareText
        guard let kind = names.kinds[text] else { return ExprSyntax(node) }
        switch kind {
        case .observed, .derived, .constant:
            captures[text] = kind
            return expression("\(Self.reader).follow(_\(text))", as: node)
        case .unfollowed(let isMethod):
            let remedy =
                isMethod ? "make it static, with what it reads as parameters" : "mark it '@\(DerivedVariable.mark)'"
            return refused(name, "'\(text)', whose reads are not followed; \(remedy)", node)
        }
    }

    /// Makes an expression that is surrounded by the same spaces as another one.
    private func expression(_ text: String, as other: some ExprSyntaxProtocol) -> ExprSyntax {
        ExprSyntax("\(raw: text)")
            .with(\.leadingTrivia, other.leadingTrivia).with(\.trailingTrivia, other.trailingTrivia)
    }

    private func refused(_ node: DeclReferenceExprSyntax, _ what: String) -> ExprSyntax {
        refused(node, "\(what), other than for a variable's name: what is read of it elsewhere is not followed", node)
    }

    private func refused(
        _ place: some SyntaxProtocol,
        _ what: String,
        _ node: some ExprSyntaxProtocol
    ) -> ExprSyntax {
        problems.append(
            Diagnostic(at: place, "derived-body", "'\(variable.name)' cannot be derived: it uses \(what)")
        )
        return ExprSyntax(node)
    }

    /// Whether the body itself declares the name.
    private func isLocal(_ node: some SyntaxProtocol, _ name: TokenSyntax) -> Bool {
        let body = variable.body.position..<variable.body.endPosition
        return node.lookup(name.identifier).contains { $0.names.contains { body.contains($0.position) } }
    }
}

extension DeclReferenceExprSyntax {
    /// Whether the name comes after a dot or in a key path.
    fileprivate var isMemberName: Bool {
        parent?.as(MemberAccessExprSyntax.self)?.declName.id == id
            || parent?.is(KeyPathPropertyComponentSyntax.self) == true
    }
}
#endif
