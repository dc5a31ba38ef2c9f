// SPDX-License-Identifier: Apache-2.0

#if Macros
import SwiftDiagnostics
import SwiftSyntax

/// A stored variable that becomes an observed property, as its source text describes it.
struct ObservedVariable {
    /// The name as it is written, including backticks.
    let name: String
    /// The name of the class's member that contains the property.
    let storage: String
    /// The type of the storage: `Observed<…>`, or `WeakObserved<…>` for a weak variable. Nil if the
    /// compiler infers it.
    let storageType: String?
    /// The initial value of the property, as an argument in a call.
    let initialValue: String?
    /// The modifier for the variable's member of `Properties`, followed by a space. It decides
    /// which code may observe the property. Empty for the default level.
    let access: String
    /// The modifier for the storage, followed by a space. It decides which code gets the property
    /// itself, with which the value can be changed. Empty for the default level.
    let storageAccess: String
    /// Whether more code may observe the variable than may set it. The other code gets a
    /// `ReadOnly`.
    let isReadOnly: Bool
    /// Whether only the class can name the variable's type. Then no key path can lead to the
    /// variable.
    let isHidden: Bool

    let isWeak: Bool
    /// The part of the declaration that declares this variable: its name, type and initial value.
    let binding: PatternBindingSyntax

    /// Whether the property is in a separate type, and only that type names the property's type.
    /// This is true if the compiler infers the type. It is also true for a weak variable, because
    /// the compiler reports an unsuitable type in each place where it is written.
    var isDynamic: Bool { !isHidden && (storageType == nil || isWeak) }

    /// The type of the property for other code; nil if the compiler infers it.
    var shownType: String? {
        guard isReadOnly else { return storageType }
        return storageType.map { type in Self.readOnly + type.dropFirst(Self.observed.count) }
    }

    /// The expression that makes the property.
    var construction: String { "\(storageType ?? Self.observed)(\(initialValue!))" }

    enum Reading {
        case observed(ObservedVariable)
        /// The variable is constant, computed or static, or a mark says to leave it out.
        case plain
        case refused([Diagnostic])
    }

    /// Reads the declaration of a member.
    ///
    /// - Parameters:
    ///   - privateTypes: The names of the private types of the class.
    ///   - isHidden: Whether the variable's type is already known to be one of them.
    static func read(
        _ declaration: VariableDeclSyntax,
        privateTypes: Set<String> = [],
        isHidden: Bool = false
    ) -> Reading {
        guard declaration.bindingSpecifier.tokenKind == .keyword(.var),
            !declaration.attributes.has("ConcurrentObservationIgnored"),
            !declaration.attributes.has(DerivedVariable.mark),
            !declaration.isStatic, !declaration.isComputed
        else { return .plain }
        let problems = declaration.problems
        guard problems.isEmpty else { return .refused(problems) }
        let binding = declaration.bindings.first!
        let name = binding.pattern.cast(IdentifierPatternSyntax.self).identifier
        let isWeak = declaration.modifiers.contains { $0.name.tokenKind == .keyword(.weak) }
        let type: TypeSyntax?
        switch binding.valueType {
        case .known(let known): type = known
        case .inferred where !isWeak: type = nil
        default: return .refused([noType(name, binding)])
        }
        if let written = binding.typeAnnotation?.type,
            let problem = (isWeak ? WeakText.problem(in: written, of: name.text) : nil)
                ?? SendableText.problem(in: written, of: name.text)
        {
            return .refused([problem])
        }
        let storageName = "_" + (name.identifier?.name ?? name.text)
        let isHidden =
            isHidden || (declaration.isPrivate && binding.mentions(oneOf: privateTypes))
        let (getter, setter) = (declaration.modifiers.getterAccess, declaration.modifiers.setterAccess)
        // A weak property has no read-only view, so it has the access level of the setter.
        let isReadOnly = setter < getter && !isWeak
        let isDynamic = !isHidden && (type == nil || isWeak)
        let owner = isReadOnly ? readOnlyDynamicStorage : dynamicStorage
        return .observed(
            ObservedVariable(
                name: name.text,
                storage: isDynamic ? "\(owner).\(name.text)" : storageName,
                storageType: type?.observedType(isWeak: isWeak),
                initialValue: binding.initializer?.value.asArgument
                    ?? (type?.unwrappedOptional.isOptional == true ? "nil" : nil),
                access: (isReadOnly ? getter : min(getter, setter)).asMember,
                storageAccess: (isReadOnly ? setter : .private).asStorage,
                isReadOnly: isReadOnly,
                isHidden: isHidden,
                isWeak: isWeak,
                binding: binding
            )
        )
    }

    /// The name of the class's member that contains the dynamic members. `dynamicType` is the name
    /// of its type.
    static let dynamicStorage = "_dynamicProperties"
    static let dynamicType = "_DynamicProperties"

    /// The name of the class's member that contains the dynamic members with read-only views.
    /// `readOnlyDynamicType` is the name of its type.
    static let readOnlyDynamicStorage = "_readOnlyDynamicProperties"
    static let readOnlyDynamicType = "_ReadOnlyDynamicProperties"

    /// The types of properties, without the types of their values.
    static let observed = "ConcurrentObserve.Observed"
    static let weakObserved = "ConcurrentObserve.WeakObserved"
    static let readOnly = "ConcurrentObserve.ReadOnly"

    private static func noType(_ name: TokenSyntax, _ binding: PatternBindingSyntax) -> Diagnostic {
        Diagnostic(
            at: binding.pattern,
            "no-type",
            "'\(name.text)' needs its type written: its value does not show it",
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
    }
}

extension VariableDeclSyntax {
    /// Whether the variable is static.
    var isStatic: Bool {
        modifiers.contains { [.keyword(.static), .keyword(.class)].contains($0.name.tokenKind) }
    }

    /// Whether only the class can use the variable.
    var isPrivate: Bool {
        modifiers.contains { $0.name.tokenKind == .keyword(.private) && $0.detail == nil }
    }

    /// Whether the variable has no storage.
    var isComputed: Bool { bindings.contains(where: \.isComputed) }

    /// The reasons why the variable cannot be observed, except those that concern its type.
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

    /// The problems with attributes that change the storage. The text does not show whether an
    /// attribute is a property wrapper, a macro or a global actor. Therefore all of them are
    /// rejected.
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

    /// Returns the change that puts another declaration in the place of this one.
    private func replaced(by other: VariableDeclSyntax) -> FixIt.Change {
        .replace(oldNode: Syntax(self), newNode: Syntax(other.with(\.leadingTrivia, leadingTrivia)))
    }
}

extension PatternBindingSyntax {
    /// Whether the variable has no storage.
    var isComputed: Bool {
        switch accessorBlock?.accessors {
        case nil: false
        case .getter: true
        case .accessors(let accessors):
            !accessors.contains {
                [.keyword(.willSet), .keyword(.didSet)].contains($0.accessorSpecifier.tokenKind)
            }
        }
    }

    /// The type as it is written. If it is not written, the type that the text of the value shows.
    var valueType: TypeOfText {
        if let written = typeAnnotation?.type { return .known(written.trimmed) }
        return initializer.map { TypeOfText($0.value) } ?? .unknown
    }

    /// Whether the type or the value contains one of these names.
    func mentions(oneOf types: Set<String>) -> Bool {
        tokens(viewMode: .sourceAccurate).contains { $0.identifier.map { types.contains($0.name) } ?? false }
    }
}

extension ExprSyntax {
    /// The text of the expression as an argument of a call. `if` and `switch` cannot be arguments,
    /// so a closure is called there.
    fileprivate var asArgument: String {
        self.is(IfExprSyntax.self) || self.is(SwitchExprSyntax.self) ? "{ \(trimmed) }()" : trimmedDescription
    }
}

extension TypeSyntax {
    /// The type that an optional wraps, or the type itself; and whether the type is an optional.
    fileprivate var unwrappedOptional: (wrapped: TypeSyntax, isOptional: Bool) {
        if let optional = self.as(OptionalTypeSyntax.self) { return (optional.wrappedType.trimmed, true) }
        if let optional = self.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) {
            return (optional.wrappedType.trimmed, true)
        }
        return (self, false)
    }

    /// Returns the type of the storage for a variable of this type.
    fileprivate func observedType(isWeak: Bool) -> String {
        let (wrapped, isOptional) = unwrappedOptional
        if isWeak { return "\(ObservedVariable.weakObserved)<\(wrapped.trimmed)>" }
        return "\(ObservedVariable.observed)<\(isOptional ? "\(wrapped.trimmed)?" : trimmedDescription)>"
    }
}
#endif
