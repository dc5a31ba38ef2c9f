// SPDX-License-Identifier: Apache-2.0

#if Macros
import SwiftDiagnostics
import SwiftSyntax

/// A stored variable that becomes an observed property, as far as its text tells.
struct ObservedVariable {
    /// The name as written, backticks included.
    let name: String
    let storageName: String
    /// The type of the storage: `Observed<…>`, or `WeakObserved<…>` for a weak variable.
    let storageType: String
    let initialValue: ExprSyntax?
    /// Who may have the property itself, and with it change the value; with a space behind, or empty for the class's own.
    let access: String

    enum Reading {
        case observed(ObservedVariable)
        /// A constant, a computed variable, or one that is left out.
        case plain
        case refused([Diagnostic])
    }

    /// Reads one declaration of a member.
    static func read(_ declaration: VariableDeclSyntax) -> Reading {
        guard declaration.bindingSpecifier.tokenKind == .keyword(.var),
            !declaration.attributes.has("ConcurrentObservationIgnored"),
            !declaration.isComputed
        else { return .plain }
        let problems = declaration.problems
        guard problems.isEmpty else { return .refused(problems) }
        let binding = declaration.bindings.first!
        let name = binding.pattern.cast(IdentifierPatternSyntax.self).identifier
        guard let type = binding.valueType else {
            return .refused([
                Diagnostic(
                    at: binding.pattern,
                    "no-type",
                    "'\(name.text)' needs its type written: a macro sees the text of its value alone",
                    remedy: "write the type",
                    changes: [
                        .replace(
                            oldNode: Syntax(name),
                            newNode: Syntax(
                                TokenSyntax.identifier(name.text + ": <#Type#>", trailingTrivia: name.trailingTrivia)
                            )
                        )
                    ]
                )
            ])
        }
        if let written = binding.typeAnnotation?.type, let problem = SendableText.problem(in: written, of: name.text) {
            return .refused([problem])
        }
        let (wrapped, isOptional) = type.unwrappedOptional
        let isWeak = declaration.modifiers.contains { $0.name.tokenKind == .keyword(.weak) }
        let value = isWeak ? wrapped.trimmedDescription : isOptional ? "\(type.wrappedText)?" : type.trimmedDescription
        return .observed(
            ObservedVariable(
                name: name.text,
                storageName: "_" + (name.identifier?.name ?? name.text),
                storageType: "ConcurrentObserve.\(isWeak ? "WeakObserved" : "Observed")<\(value)>",
                initialValue: binding.initializer?.value.trimmed ?? (isOptional ? "nil" : nil),
                access: declaration.modifiers.accessToChange
            )
        )
    }
}

extension VariableDeclSyntax {
    /// Whether no storage belongs to the variable.
    fileprivate var isComputed: Bool {
        bindings.contains { binding in
            switch binding.accessorBlock?.accessors {
            case nil: false
            case .getter: true
            case .accessors(let accessors):
                !accessors.contains {
                    [.keyword(.willSet), .keyword(.didSet)].contains($0.accessorSpecifier.tokenKind)
                }
            }
        }
    }

    /// Why it cannot be observed, apart from its type.
    fileprivate var problems: [Diagnostic] {
        modifierProblems + wrapperProblems + bindingProblems
    }

    private var modifierProblems: [Diagnostic] {
        modifiers.compactMap { modifier in
            switch modifier.name.tokenKind {
            case .keyword(.lazy):
                Diagnostic(
                    at: modifier,
                    "lazy",
                    "a lazy variable cannot be observed: two threads could make its first value",
                    remedy: "remove 'lazy'",
                    changes: [removing(modifier)]
                )
            case .keyword(.static), .keyword(.class):
                Diagnostic(
                    at: modifier,
                    "static",
                    "a static variable cannot be observed: it belongs to no object",
                    remedy: "leave it out",
                    changes: [leavingOut]
                )
            case .keyword(.unowned):
                Diagnostic(
                    at: modifier,
                    "unowned",
                    "an unowned variable cannot be observed: its referent may die while another thread reads it; a weak one can"
                )
            case .keyword(.nonisolated) where modifier.detail != nil:
                Diagnostic(
                    at: modifier,
                    "nonisolated-unsafe",
                    "'\(modifier.trimmedDescription)' is for plain storage, which observed variables do without",
                    remedy: "remove '\(modifier.trimmedDescription)'",
                    changes: [removing(modifier)]
                )
            default: nil
            }
        }
    }

    /// Attributes that change what storage is: property wrappers, macros, and global actors look alike.
    private var wrapperProblems: [Diagnostic] {
        attributes.compactMap { $0.as(AttributeSyntax.self) }
            .filter { $0.simpleName.first!.isUppercase && $0.simpleName != "ConcurrentObserved" }
            .map { attribute in
                Diagnostic(
                    at: attribute,
                    "wrapper",
                    "'@\(attribute.simpleName)' cannot be combined with an observed variable",
                    remedy: "leave it out",
                    changes: [leavingOut]
                )
            }
    }

    private var bindingProblems: [Diagnostic] {
        guard bindings.count == 1 else {
            return [Diagnostic(at: self, "several", "observed variables are declared one by one")]
        }
        let binding = bindings.first!
        guard binding.pattern.is(IdentifierPatternSyntax.self) else {
            return [Diagnostic(at: binding.pattern, "pattern", "observed variables are declared one by one")]
        }
        guard case .accessors(let accessors) = binding.accessorBlock?.accessors else { return [] }
        return accessors.map { accessor in
            Diagnostic(
                at: accessor.accessorSpecifier,
                "observer",
                "an observed variable has no '\(accessor.accessorSpecifier.text)': several threads may change it at once; observe it instead"
            )
        }
    }

    private func removing(_ modifier: DeclModifierSyntax) -> FixIt.Change {
        replaced(by: with(\.modifiers, modifiers.filter { $0.id != modifier.id }))
    }

    private var leavingOut: FixIt.Change {
        let mark = AttributeSyntax("@ConcurrentObservationIgnored").with(\.trailingTrivia, .space)
        var marked = with(\.leadingTrivia, [])
        marked.attributes.insert(.attribute(mark), at: marked.attributes.startIndex)
        return replaced(by: marked)
    }

    /// The change to another declaration in the same place.
    private func replaced(by other: VariableDeclSyntax) -> FixIt.Change {
        .replace(oldNode: Syntax(self), newNode: Syntax(other.with(\.leadingTrivia, leadingTrivia)))
    }
}

extension PatternBindingSyntax {
    /// The type as it is written, or as it can be told from the text of the value.
    fileprivate var valueType: TypeSyntax? {
        typeAnnotation?.type.trimmed ?? initializer.flatMap { TypeOfText.type(of: $0.value) }
    }
}

extension TypeSyntax {
    /// What an optional is one of, and whether the type is an optional.
    fileprivate var unwrappedOptional: (wrapped: TypeSyntax, isOptional: Bool) {
        if let optional = self.as(OptionalTypeSyntax.self) { return (optional.wrappedType.trimmed, true) }
        if let optional = self.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) {
            return (optional.wrappedType.trimmed, true)
        }
        return (self, false)
    }

    /// The text of what an optional is one of.
    fileprivate var wrappedText: String { unwrappedOptional.wrapped.trimmedDescription }
}

extension DeclModifierListSyntax {
    /// The access of whoever may change the variable: the narrower one of its two.
    fileprivate var accessToChange: String {
        let setter = first { $0.detail?.detail.text == "set" }
        let whole = first { $0.detail == nil && Self.levels[$0.name.text] != nil }
        switch (setter ?? whole)?.name.text {
        // Seen by the class, in which the property is nested.
        case "private": return "fileprivate "
        case "open": return "public "
        case let level?: return level + " "
        case nil: return ""
        }
    }

    private static var levels: [String: Void] {
        ["private": (), "fileprivate": (), "internal": (), "package": (), "public": (), "open": ()]
    }
}
#endif
