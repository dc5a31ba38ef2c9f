// SPDX-License-Identifier: Apache-2.0

#if Macros
import SwiftDiagnostics
import SwiftSyntax

/// Finds types whose source text shows that a weak property cannot refer to them.
enum WeakText {
    /// Returns the problem with the type of a weak variable; nil if the text shows no problem.
    static func problem(in type: TypeSyntax, of variable: String) -> Diagnostic? {
        guard isExistential(type) else { return nil }
        return Diagnostic(
            at: type,
            "weak-existential",
            "'\(variable)' cannot be observed: a weak property refers to one class, which adopts 'WeaklyObservable', and not to '\(type.trimmedDescription)'; name the class, or keep a final class in an observed variable that has the weak reference in a 'let'"
        )
    }

    /// Whether the type is a protocol type: it has `any` or `some`, is a composition, or is
    /// `AnyObject`. Looks into parentheses and optionals.
    private static func isExistential(_ type: TypeSyntax) -> Bool {
        switch type.as(TypeSyntaxEnum.self) {
        case .optionalType(let optional): isExistential(optional.wrappedType)
        case .implicitlyUnwrappedOptionalType(let optional): isExistential(optional.wrappedType)
        case .tupleType(let tuple): tuple.elements.count == 1 && isExistential(tuple.elements.first!.type)
        case .someOrAnyType, .compositionType: true
        case .identifierType(let named): named.name.text == "AnyObject"
        default: false
        }
    }
}
#endif
