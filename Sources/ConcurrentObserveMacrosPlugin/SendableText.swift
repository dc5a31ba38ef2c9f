// SPDX-License-Identifier: Apache-2.0

#if Macros
import SwiftDiagnostics
import SwiftSyntax

/// Finds types whose source text shows that they are not Sendable. The compiler reports any others
/// where the storage is declared.
enum SendableText {
    /// Returns the problem with a variable's type; nil if the text shows no problem.
    static func problem(in type: TypeSyntax, of variable: String) -> Diagnostic? {
        guard let (part, remedy) = firstOffence(in: type) else { return nil }
        return Diagnostic(
            at: part,
            "not-sendable",
            "'\(variable)' cannot be observed: '\(part.trimmedDescription)' is not Sendable",
            remedy: remedy.map { "write '\($0)'" },
            changes: remedy.map { remedy in
                let spelled = TypeSyntax("\(raw: remedy)")
                    .with(\.leadingTrivia, part.leadingTrivia).with(\.trailingTrivia, part.trailingTrivia)
                return [.replace(oldNode: Syntax(part), newNode: Syntax(spelled))]
            } ?? []
        )
    }

    /// Finds the first part of a type that is not Sendable, and returns it with the text that
    /// should replace it. Returns nil if there is no such part.
    ///
    /// It looks into optionals, collections and tuples, which are Sendable if their parts are. It
    /// does not look into other generic types, because their arguments do not show whether they are
    /// Sendable.
    private static func firstOffence(in type: TypeSyntax) -> (part: TypeSyntax, remedy: String?)? {
        switch type.as(TypeSyntaxEnum.self) {
        case .functionType: (type, "@Sendable \(type.trimmedDescription)")
        case .optionalType(let optional): firstOffence(in: optional.wrappedType)
        case .implicitlyUnwrappedOptionalType(let optional): firstOffence(in: optional.wrappedType)
        case .arrayType(let array): firstOffence(in: array.element)
        case .dictionaryType(let dictionary): firstOffence(in: dictionary.key) ?? firstOffence(in: dictionary.value)
        case .tupleType(let tuple): tuple.elements.lazy.compactMap { firstOffence(in: $0.type) }.first
        case .someOrAnyType(let box) where box.constraint.trimmedDescription == "AnyObject":
            (type, "any AnyObject & Sendable")
        case .identifierType(let named): firstOffence(in: named)
        default: nil
        }
    }

    private static func firstOffence(in named: IdentifierTypeSyntax) -> (part: TypeSyntax, remedy: String?)? {
        let name = named.name.text
        switch name {
        case "Any": return (TypeSyntax(named), existential("any Sendable", at: named))
        case "AnyObject": return (TypeSyntax(named), existential("any AnyObject & Sendable", at: named))
        case "Array", "Dictionary", "Optional", "Set":
            let arguments = named.genericArgumentClause?.arguments.lazy.compactMap { $0.argument.as(TypeSyntax.self) }
            return arguments?.compactMap(firstOffence).first
        default:
            guard name.hasPrefix("Unsafe"), name.hasSuffix("Pointer") else { return nil }
            return (TypeSyntax(named), nil)
        }
    }

    /// Returns the text of an existential type in the place of `type`. In an optional, the text
    /// needs parentheses.
    private static func existential(_ text: String, at type: IdentifierTypeSyntax) -> String {
        let isOptional = type.parent.map { parent in
            parent.is(OptionalTypeSyntax.self) || parent.is(ImplicitlyUnwrappedOptionalTypeSyntax.self)
        }
        return isOptional == true ? "(\(text))" : text
    }
}
#endif
