// SPDX-License-Identifier: Apache-2.0

#if Macros
import SwiftSyntax

/// The type of an expression as far as its text tells: of literals, and of calls of an initialiser.
enum TypeOfText {
    /// The type, or nil if the text does not tell.
    static func type(of expression: ExprSyntax) -> TypeSyntax? {
        switch expression.as(ExprSyntaxEnum.self) {
        case .stringLiteralExpr: "String"
        case .integerLiteralExpr: "Int"
        case .floatLiteralExpr: "Double"
        case .booleanLiteralExpr: "Bool"
        case .prefixOperatorExpr(let negated) where negated.operator.text == "-": type(of: negated.expression)
        case .functionCallExpr(let call): initialised(by: call.calledExpression)
        default: nil
        }
    }

    /// `Engine()`, `Set<String>()`, `[Int]()`, `Engine.Kind()`: what is called is a type, by its spelling.
    private static func initialised(by called: ExprSyntax) -> TypeSyntax? {
        switch called.as(ExprSyntaxEnum.self) {
        case .declReferenceExpr(let reference) where isTypeName(reference.baseName): "\(called.trimmed)"
        case .genericSpecializationExpr(let special) where initialised(by: special.expression) != nil:
            "\(called.trimmed)"
        case .arrayExpr(let array) where array.elements.count == 1: "\(called.trimmed)"
        case .dictionaryExpr: "\(called.trimmed)"
        case .memberAccessExpr(let member) where member.base.flatMap(initialised) != nil:
            isTypeName(member.declName.baseName)
                ? "\(called.trimmed)"
                : member.declName.baseName.tokenKind == .keyword(.`init`) ? "\(member.base!.trimmed)" : nil
        default: nil
        }
    }

    private static func isTypeName(_ token: TokenSyntax) -> Bool { token.text.first!.isUppercase }
}
#endif
