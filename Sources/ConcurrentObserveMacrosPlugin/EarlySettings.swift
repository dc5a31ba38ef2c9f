// SPDX-License-Identifier: Apache-2.0

#if Macros
import SwiftDiagnostics
import SwiftSyntax

/// Finds assignments in an initialiser that are changes, and that come before every variable has a
/// value.
///
/// The compiler would report that `self` is used too early, which the programmer does not expect
/// for an assignment. Only assignments that the compiler also refuses are found: a variable that
/// needs a value has none in the code above.
struct EarlySettings {
    /// The variables that have an initial value.
    private var begun: Set<String> = []
    /// The variables that must get their values in the initialisers.
    private var required: [String] = []

    init(_ members: [MemberBlockItemSyntax]) {
        for case let declaration? in members.map({ $0.decl.as(VariableDeclSyntax.self) }) {
            switch ObservedVariable.read(declaration) {
            case .observed(let variable):
                if variable.initialValue != nil { begun.insert(variable.name) } else { required.append(variable.name) }
            case .plain where declaration.bindingSpecifier.tokenKind == .keyword(.let):
                for binding in declaration.bindings where binding.initializer == nil {
                    guard let name = binding.pattern.as(IdentifierPatternSyntax.self) else { continue }
                    required.append(name.identifier.text)
                }
            default: break
            }
        }
    }

    /// Returns the problems of the early assignments in the initialisers among `members`.
    func problems(in members: [MemberBlockItemSyntax]) -> [Diagnostic] {
        guard !begun.isEmpty, !required.isEmpty else { return [] }
        return members.flatMap { member -> [Diagnostic] in
            guard let initialiser = member.decl.as(InitializerDeclSyntax.self), let body = initialiser.body,
                !initialiser.modifiers.contains(where: { $0.name.tokenKind == .keyword(.convenience) })
            else { return [] }
            let parameters = initialiser.signature.parameterClause.parameters.map {
                ($0.secondName ?? $0.firstName).text
            }
            let visitor = Visitor(begun, required, hidden: Set(parameters))
            visitor.walk(body)
            return visitor.problems
        }
    }
}

extension EarlySettings {
    /// Visits the body of an initialiser in the order of the text.
    private final class Visitor: SyntaxVisitor {
        private let begun: Set<String>
        private var missing: [String]
        /// The names that do not mean a member of the class here: those of parameters and of local
        /// variables.
        private var hidden: Set<String>
        private(set) var problems: [Diagnostic] = []

        init(_ begun: Set<String>, _ required: [String], hidden: Set<String>) {
            (self.begun, missing, self.hidden) = (begun, required, hidden)
            super.init(viewMode: .sourceAccurate)
        }

        // The code in these runs later, or in another place.
        override func visit(_ node: ClosureExprSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
        override func visit(_ node: FunctionDeclSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
        override func visit(_ node: ClassDeclSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
        override func visit(_ node: StructDeclSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
        // The compiler may skip this code. It counts as if it assigned every variable.
        override func visit(_ node: IfConfigDeclSyntax) -> SyntaxVisitorContinueKind {
            missing = []
            return .skipChildren
        }

        override func visitPost(_ node: IdentifierPatternSyntax) { hidden.insert(node.identifier.text) }

        override func visit(_ node: SequenceExprSyntax) -> SyntaxVisitorContinueKind {
            let elements = Array(node.elements)
            guard elements.count > 2, elements[1].is(AssignmentExprSyntax.self) else { return .visitChildren }
            for target in targets(of: elements[0]) { set(target) }
            return .visitChildren
        }

        private func set(_ target: (name: String, expression: ExprSyntax)) {
            missing.removeAll { $0 == target.name }
            guard begun.contains(target.name), let first = missing.first else { return }
            problems.append(
                Diagnostic(
                    at: target.expression,
                    "early",
                    "'\(target.name)' has an initial value, so that setting it is a change, which can be made when '\(first)' has its value, too; set it below that, or leave out the initial value"
                )
            )
        }

        /// Returns the members of the object that the left side of an assignment names.
        private func targets(of expression: ExprSyntax) -> [(name: String, expression: ExprSyntax)] {
            switch expression.as(ExprSyntaxEnum.self) {
            case .declReferenceExpr(let reference):
                hidden.contains(reference.baseName.text) ? [] : [(reference.baseName.text, expression)]
            case .memberAccessExpr(let member) where member.base?.trimmedDescription == "self":
                [(member.declName.baseName.text, expression)]
            case .tupleExpr(let tuple): tuple.elements.flatMap { targets(of: $0.expression) }
            default: []
            }
        }
    }
}
#endif
