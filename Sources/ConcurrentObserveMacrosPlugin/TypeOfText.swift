// SPDX-License-Identifier: Apache-2.0

#if Macros
import SwiftSyntax

/// The type of a value, as far as its text shows it.
enum TypeOfText {
    /// This type, as it is written.
    case known(TypeSyntax)
    /// The compiler finds it out, from the very same text.
    case inferred
    /// Nothing, and the compiler finds out nothing either, or nothing that is Sendable.
    case unknown

    init(_ expression: ExprSyntax) {
        switch expression.as(ExprSyntaxEnum.self) {
        case .stringLiteralExpr: self = .known("String")
        case .integerLiteralExpr: self = .known("Int")
        case .floatLiteralExpr: self = .known("Double")
        case .booleanLiteralExpr: self = .known("Bool")
        case .prefixOperatorExpr(let negated) where negated.operator.text == "-": self = Self(negated.expression)
        case .functionCallExpr(let call):
            self = Self.emptyCollection(call) ?? (call.isImplicitMember ? .unknown : .inferred)
        case .arrayExpr(let array) where array.elements.isEmpty: self = .unknown
        case .dictionaryExpr(let dictionary) where dictionary.content.is(TokenSyntax.self): self = .unknown
        case .memberAccessExpr(let member) where member.base == nil: self = .unknown
        // A closure is Sendable where a type that is written says so.
        case .nilLiteralExpr, .closureExpr: self = .unknown
        default: self = .inferred
        }
    }

    /// `[Int]()`, `[String: Int]()`: what is called is a type, and the initialiser does not fail.
    private static func emptyCollection(_ call: FunctionCallExprSyntax) -> Self? {
        guard call.arguments.isEmpty, call.trailingClosure == nil else { return nil }
        let type = call.calledExpression
        let isType = type.as(ArrayExprSyntax.self).map { $0.elements.count == 1 } ?? type.is(DictionaryExprSyntax.self)
        return isType ? .known("\(type.trimmed)") : nil
    }
}

extension FunctionCallExprSyntax {
    /// `.some(1)`: a member of a type that nothing names.
    fileprivate var isImplicitMember: Bool {
        var called = calledExpression
        while true {
            if let call = called.as(FunctionCallExprSyntax.self) {
                called = call.calledExpression
            } else if let member = called.as(MemberAccessExprSyntax.self) {
                guard let base = member.base else { return true }
                called = base
            } else {
                return false
            }
        }
    }
}
#endif
