// SPDX-License-Identifier: Apache-2.0

#if Macros
import SwiftDiagnostics
import SwiftSyntax

/// A computed variable with the mark `@ConcurrentDerived`, as its source text describes it.
struct DerivedVariable {
    static let mark = "ConcurrentDerived"

    /// The name as it is written, including backticks.
    let name: String
    let type: TypeSyntax
    /// The modifier for the variable's member of `Properties`, followed by a space. It decides
    /// which code may observe the variable. Empty for the default level.
    let access: String
    /// Whether only the class can name the variable's type. Then no key path can lead to the
    /// variable.
    let isHidden: Bool
    let body: CodeBlockItemListSyntax

    enum Reading {
        case derived(DerivedVariable)
        /// The variable does not have the mark.
        case unmarked
        case refused(Diagnostic)
    }

    static func read(_ declaration: VariableDeclSyntax, privateTypes: Set<String> = []) -> Reading {
        guard declaration.attributes.has(mark) else { return .unmarked }
        guard !declaration.isStatic, let binding = declaration.bindings.first, declaration.bindings.count == 1,
            let pattern = binding.pattern.as(IdentifierPatternSyntax.self),
            let type = binding.typeAnnotation?.type,
            let body = binding.accessorBlock?.derivableBody
        else {
            return .refused(
                Diagnostic(
                    at: declaration.bindings,
                    "derived-form",
                    "'@\(mark)' marks a computed variable of the object that has nothing but a getter, which neither throws nor waits: 'var isHealthy: Bool { … }'"
                )
            )
        }
        if let attribute = declaration.attributes.unknown(but: mark).first {
            return .refused(
                Diagnostic(
                    at: attribute,
                    "derived-attribute",
                    "'@\(attribute.simpleName)' cannot be combined with '@\(mark)': the derived value is made of the body alone, which it may change"
                )
            )
        }
        if type.is(ImplicitlyUnwrappedOptionalTypeSyntax.self) || type.as(SomeOrAnyTypeSyntax.self)?.isOpaque == true {
            return .refused(
                Diagnostic(
                    at: type,
                    "derived-type",
                    "a derived value needs the type of its results: '\(type.trimmed)' names none"
                )
            )
        }
        if let problem = SendableText.problem(in: type, of: pattern.identifier.text) { return .refused(problem) }
        let isHidden = declaration.isPrivate && binding.mentions(oneOf: privateTypes)
        return .derived(
            DerivedVariable(
                name: pattern.identifier.text,
                type: type.trimmed,
                access: declaration.modifiers.getterAccess.asMember,
                isHidden: isHidden,
                body: body
            )
        )
    }
}

extension SomeOrAnyTypeSyntax {
    fileprivate var isOpaque: Bool { someOrAnySpecifier.tokenKind == .keyword(.some) }
}

extension AccessorBlockSyntax {
    /// The body of the getter. Nil if there is other code than a getter, or if the getter is async
    /// or throws.
    fileprivate var derivableBody: CodeBlockItemListSyntax? {
        switch accessors {
        case .getter(let body): return body
        case .accessors(let accessors):
            guard accessors.count == 1, let getter = accessors.first, getter.effectSpecifiers == nil,
                getter.accessorSpecifier.tokenKind == .keyword(.get)
            else { return nil }
            return getter.body?.statements
        }
    }
}
#endif
