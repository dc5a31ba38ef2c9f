// SPDX-License-Identifier: Apache-2.0

#if Macros
import SwiftSyntax

/// The type of a value, if the source text of the value shows it.
enum TypeOfText {
    /// The text shows this type.
    case known(TypeSyntax)
    /// The compiler infers the type from the same text.
    case inferred
    /// The text does not show the type. Either the compiler cannot infer it, or it infers one that
    /// is not Sendable.
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
        // A closure can only be Sendable if its type is written.
        case .nilLiteralExpr, .closureExpr: self = .unknown
        default: self = .inferred
        }
    }

    /// Returns the type of `[Int]()` or `[String: Int]()`: the call names a type, and its
    /// initialiser does not fail.
    private static func emptyCollection(_ call: FunctionCallExprSyntax) -> Self? {
        guard call.arguments.isEmpty, call.trailingClosure == nil else { return nil }
        let type = call.calledExpression
        let isType = type.as(ArrayExprSyntax.self).map { $0.elements.count == 1 } ?? type.is(DictionaryExprSyntax.self)
        return isType ? .known("\(type.trimmed)") : nil
    }
}

extension FunctionCallExprSyntax {
    /// Whether it is a call like `.some(1)`: it calls a member of a type that the text does not
    /// name.
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
