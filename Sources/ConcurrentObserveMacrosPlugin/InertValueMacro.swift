// SPDX-License-Identifier: Apache-2.0

#if Macros
import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `@InertValue`: the conformance, and a function in which the compiler checks what the type
/// stores.
struct InertValueMacro {}

extension InertValueMacro: ExtensionMacro {
    static func expansion(
        of node: AttributeSyntax,
        attachedTo declaration: some DeclGroupSyntax,
        providingExtensionsOf type: some TypeSyntaxProtocol,
        conformingTo protocols: [TypeSyntax],
        in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
        guard declaration.is(StructDeclSyntax.self) || declaration.is(EnumDeclSyntax.self) else {
            context.diagnose(
                Diagnostic(
                    at: node,
                    "inert-class",
                    "'@InertValue' is for structs and enumerations: the destruction of other types may run code of yours"
                )
            )
            return []
        }
        if let modifier = inaccessible(declaration, context) {
            context.diagnose(
                Diagnostic(
                    at: modifier,
                    "inert-private",
                    "'@InertValue' extends the type beside the type that it stands in, where 'private' hides it: make it 'fileprivate'"
                )
            )
            return []
        }
        let members = declaration.memberBlock.members
        let problems = StoredPart.wrappers(in: members) + StoredPart.all(in: members).compactMap(\.problem)
        problems.forEach(context.diagnose)
        guard problems.isEmpty else { return [] }
        let checks = lines(of: members) { part in
            let check = "ConcurrentObserve.InertStorage.check(\(part.type(in: type.trimmedDescription)))"
            guard let place = context.location(of: part.node, at: .afterLeadingTrivia, filePathMode: .filePath) else {
                return check
            }
            return "#sourceLocation(file: \(place.file), line: \(place.line))\n\(check)\n#sourceLocation()"
        }
        // Nothing is left to conform to if the type states the conformance itself: it is checked
        // nonetheless.
        let conformance = protocols.isEmpty ? "" : ": ConcurrentObserve.InertValue"
        return [
            try ExtensionDeclSyntax(
                """
                nonisolated extension \(type.trimmed)\(raw: conformance) {
                    private static func _storesInertValues() {
                        \(raw: checks.joined(separator: "\n        "))
                    }
                }
                """
            )
        ]
    }

    /// The lines that `line` makes of the stored parts, inside the same `#if` conditions.
    private static func lines(
        of members: MemberBlockItemListSyntax,
        _ line: (StoredPart) -> String
    ) -> [String] {
        members.flatMap { member -> [String] in
            guard let conditional = member.decl.as(IfConfigDeclSyntax.self) else {
                return StoredPart.parts(of: member).map(line)
            }
            let clauses = conditional.clauses.flatMap { clause -> [String] in
                guard case .decls(let members) = clause.elements else { return [] }
                let condition = clause.condition.map { " \($0.trimmedDescription)" } ?? ""
                return ["\(clause.poundKeyword.text)\(condition)"] + lines(of: members, line)
            }
            return clauses + ["#endif"]
        }
    }

    /// The modifier that hides the type, or a type around it, from an extension: `private` in
    /// another type.
    private static func inaccessible(
        _ declaration: some DeclGroupSyntax,
        _ context: some MacroExpansionContext
    ) -> DeclModifierSyntax? {
        let enclosing = context.lexicalContext.compactMap { $0.asProtocol((any DeclGroupSyntax).self) }
        // The outermost is private in the file.
        return ([declaration] + enclosing).prefix(enclosing.count).lazy
            .compactMap { $0.modifiers.first { $0.name.tokenKind == .keyword(.private) } }.first
    }
}

/// One stored property, or one associated value.
private struct StoredPart {
    /// Where it is declared.
    let node: Syntax
    /// The name of the property, whose type the compiler infers; nil if the type is written.
    let name: String?
    let written: TypeSyntax?

    /// The parts outside every `#if`. The compiler reports what is wrong with the others, if they
    /// are compiled.
    static func all(in members: MemberBlockItemListSyntax) -> [StoredPart] { members.flatMap(parts) }

    static func parts(of member: MemberBlockItemSyntax) -> [StoredPart] {
        switch member.decl.as(DeclSyntaxEnum.self) {
        case .variableDecl(let variable):
            variable.isStatic ? [] : variable.bindings.flatMap { $0.isComputed ? [] : parts(of: $0, in: variable) }
        case .enumCaseDecl(let cases):
            cases.elements.flatMap { element in
                (element.parameterClause?.parameters ?? []).map {
                    StoredPart(node: Syntax(element), name: nil, written: $0.type)
                }
            }
        default: []
        }
    }

    /// Reports variables that may store more than their types say, in every `#if` branch.
    static func wrappers(in members: MemberBlockItemListSyntax) -> [Diagnostic] {
        members.flatMap { member -> [Diagnostic] in
            switch member.decl.as(DeclSyntaxEnum.self) {
            case .ifConfigDecl(let conditional):
                return conditional.clauses.flatMap { clause -> [Diagnostic] in
                    guard case .decls(let members) = clause.elements else { return [] }
                    return wrappers(in: members)
                }
            case .variableDecl(let variable) where !variable.isStatic && !variable.bindings.allSatisfy(\.isComputed):
                return variable.attributes.unknown().map { attribute in
                    Diagnostic(
                        at: attribute,
                        "inert-wrapper",
                        "what '@\(attribute.simpleName)' stores for the variable is not checked: leave it out, or '@InertValue'"
                    )
                }
            case .macroExpansionDecl(let expansion):
                return [
                    Diagnostic(
                        at: expansion,
                        "inert-macro",
                        "what '#\(expansion.macroName.text)' stores is not checked: leave it out, or '@InertValue'"
                    )
                ]
            default: return []
            }
        }
    }

    private static func parts(of binding: PatternBindingSyntax, in variable: VariableDeclSyntax) -> [StoredPart] {
        // `var a, b: Int`: the type stands at the last.
        let type = variable.bindings[variable.bindings.index(of: binding)!...].lazy.compactMap(\.typeAnnotation).first
        return binding.pattern.names.map { name in
            let isAlone = binding.pattern.is(IdentifierPatternSyntax.self)
            return StoredPart(
                node: Syntax(binding),
                name: name,
                written: isAlone && binding.initializer == nil || binding.typeAnnotation != nil && isAlone
                    ? type?.type : nil
            )
        }
    }

    /// An expression with the part's type as its value, for the extension of `owner`.
    func type(in owner: String) -> String {
        guard let written else { return "ConcurrentObserve.InertStorage.type(of: \\\(owner).\(name!))" }
        return "(\(written.trimmedDescription)).self"
    }

    /// The problem that the part's text shows; nil if it shows none.
    var problem: Diagnostic? {
        guard let written, let part = Self.offence(in: written) else { return nil }
        return Diagnostic(
            at: part,
            "not-inert",
            "'\(part.trimmedDescription)' is not inert: its destruction may run code of yours; leave out '@InertValue'"
        )
    }

    private static func offence(in type: TypeSyntax) -> TypeSyntax? {
        switch type.as(TypeSyntaxEnum.self) {
        case .functionType, .someOrAnyType: type
        case .attributedType(let attributed): offence(in: attributed.baseType)
        case .optionalType(let optional): offence(in: optional.wrappedType)
        case .arrayType(let array): offence(in: array.element)
        case .dictionaryType(let dictionary): offence(in: dictionary.key) ?? offence(in: dictionary.value)
        case .tupleType(let tuple): tuple.elements.lazy.compactMap { offence(in: $0.type) }.first
        case .identifierType(let named) where ["Any", "AnyObject"].contains(named.name.text): type
        default: nil
        }
    }
}

extension PatternSyntax {
    /// The names that the pattern declares.
    fileprivate var names: [String] {
        if let name = self.as(IdentifierPatternSyntax.self) { return [name.identifier.text] }
        return self.as(TuplePatternSyntax.self)?.elements.flatMap { $0.pattern.names } ?? []
    }
}
#endif
