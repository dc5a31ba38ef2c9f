// SPDX-License-Identifier: Apache-2.0

#if Macros
import SwiftDiagnostics
import SwiftIfConfig
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `@ConcurrentObservable`: marks the variables of a class as observed, adds a type in which key
/// paths find them, and adds the conformances.
///
/// The member role reports each error once. The other roles ignore members with errors.
struct ConcurrentObservableMacro {}

// MARK: - The observed properties, for key paths and for removal

extension ConcurrentObservableMacro: MemberMacro {
    static func expansion(
        of node: AttributeSyntax,
        providingMembersOf declaration: some DeclGroupSyntax,
        conformingTo protocols: [TypeSyntax],
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        switch ModelClass.read(declaration, attribute: node) {
        case .refused(let diagnostic):
            context.diagnose(diagnostic)
            return []
        case .read(let model):
            model.problems(in: context).forEach(context.diagnose)
            return dynamic(model, context) + constants(model) + derived(model, context) + properties(model)
                + removal(model)
        }
    }

    private static func properties(_ model: ModelClass) -> [DeclSyntax] {
        var lines =
            ["fileprivate let _object: \(model.name)"]
            + model.lines { variable in
                guard let type = variable.shownType, !variable.isHidden, !variable.isDynamic else { return nil }
                let property = "_object.\(variable.storage)\(variable.isReadOnly ? ".readOnly" : "")"
                return "\(variable.access)var \(variable.name): \(type) { \(property) }"
            }
        lines += model.derivedLines { variable in
            guard !variable.isHidden else { return nil }
            return
                "\(variable.access)var \(variable.name): \(DerivedVariable.derived)<\(variable.type)> { \(model.derivedOf(variable)) }"
        }
        for kind in DynamicKind.allCases where model.has(where: kind.includes) {
            lines += kind.subscript(access: model.access)
        }
        if model.hasConstants { lines += constantsSubscript(access: model.access) }
        return [
            """
            /// The observed properties, as key paths find them.
            \(raw: model.hasDynamic || model.hasConstants ? "@dynamicMemberLookup\n" : "")\(raw: model.access)nonisolated struct Properties: Sendable {
                \(raw: lines.joined(separator: "\n    "))
            }
            """,
            """
            /// The observed properties: to observe, modify, bind.
            \(raw: model.access)var observedProperties: Properties {
                Properties(_object: self)
            }
            """,
        ]
    }

    /// Returns the method that ends all observations; nothing if the class has its own method.
    private static func removal(_ model: ModelClass) -> [DeclSyntax] {
        guard !model.cancelsObservations else { return [] }
        let lines =
            model.lines { variable in "\(variable.storage).cancelAllObservations()" }
            + model.derivedLines { "\(DerivedVariable.storage)._\($0.name.bare).cancelAllObservations()" }
        return [
            """
            /// Ends every observation of this object, as if each was cancelled.
            \(raw: model.access)func cancelAllObservations() {
                \(raw: lines.joined(separator: "\n    "))
            }
            """
        ]
    }
}

extension ModelClass {
    /// Whether one of the observed properties is found as a dynamic member.
    var hasDynamic: Bool { has { $0.isDynamic } }

    /// Whether `isSuch` returns true for one of the observed variables, also inside `#if`.
    func has(where isSuch: (ObservedVariable) -> Bool) -> Bool {
        lines { isSuch($0) ? "" : nil }.contains("")
    }

    /// Returns the lines that `line` makes from the observed variables, inside the same `#if`
    /// conditions.
    func lines(_ line: (ObservedVariable) -> String?) -> [String] { lines(of: members, line) }

    private func lines(
        of members: MemberBlockItemListSyntax,
        _ line: (ObservedVariable) -> String?
    ) -> [String] {
        declarationLines(of: members) { declaration in
            guard case .observed(let variable) = ObservedVariable.read(declaration, privateTypes: privateTypes)
            else { return nil }
            return line(variable)
        }
    }

    /// Returns the lines that `line` makes from the declarations of variables, inside the same
    /// `#if` conditions.
    func declarationLines(
        of members: MemberBlockItemListSyntax,
        _ line: (VariableDeclSyntax) -> String?
    ) -> [String] {
        members.flatMap { member -> [String] in
            if let conditional = member.decl.as(IfConfigDeclSyntax.self) {
                let clauses = conditional.clauses.flatMap { clause -> [String] in
                    guard case .decls(let members) = clause.elements else { return [] }
                    let condition = clause.condition.map { " \($0.trimmedDescription)" } ?? ""
                    return ["\(clause.poundKeyword.text)\(condition)"] + declarationLines(of: members, line)
                }
                return clauses + ["#endif"]
            }
            return member.decl.as(VariableDeclSyntax.self).flatMap(line).map { [$0] } ?? []
        }
    }
}

// MARK: - The variables

extension ConcurrentObservableMacro: MemberAttributeMacro {
    static func expansion(
        of node: AttributeSyntax,
        attachedTo declaration: some DeclGroupSyntax,
        providingAttributesFor member: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [AttributeSyntax] {
        guard case .read(let model) = ModelClass.read(declaration, attribute: node),
            let declaration = member.as(VariableDeclSyntax.self),
            case .observed(let variable) = ObservedVariable.read(declaration, privateTypes: model.privateTypes),
            !declaration.attributes.has("ConcurrentObserved")
        else { return [] }
        return variable.isHidden
            ? ["@ConcurrentObserved(\(raw: ConcurrentObservedMacro.hidden))"] : ["@ConcurrentObserved"]
    }
}

// MARK: - The conformance

extension ConcurrentObservableMacro: ExtensionMacro {
    static func expansion(
        of node: AttributeSyntax,
        attachedTo declaration: some DeclGroupSyntax,
        providingExtensionsOf type: some TypeSyntaxProtocol,
        conformingTo protocols: [TypeSyntax],
        in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
        // `protocols` contains only conformances that the class does not declare itself.
        guard !protocols.isEmpty, let model = declaration.as(ClassDeclSyntax.self) else { return [] }
        func list(isChecked: Bool) -> String {
            protocols.map { type -> String in
                let name = type.trimmedDescription.split(separator: ".").last!
                return name == "Sendable" ? (isChecked ? "" : "@unchecked ") + "Sendable" : "ConcurrentObserve.\(name)"
            }
            .joined(separator: ", ")
        }
        switch ModelClass.read(declaration, attribute: node) {
        case .read(let model):
            // Only the macro's own error is reported. With a checked conformance, the compiler
            // would also report the variable, because it stays as it was written.
            let isChecked = model.problems(in: context).isEmpty
            return [
                try ExtensionDeclSyntax("nonisolated extension \(type.trimmed): \(raw: list(isChecked: isChecked)) {}")
            ]
        case .refused:
            return [try unusable(model, type.trimmedDescription, list(isChecked: false))]
        }
    }

    /// Returns the conformance of a class that has an error. It is never used, because the program
    /// does not compile.
    ///
    /// Without it, the compiler (Swift 6.3.1) crashes at a subclass: it looks for the conformance
    /// that the macro declares to add.
    private static func unusable(
        _ model: ClassDeclSyntax,
        _ type: String,
        _ conformances: String
    ) throws -> ExtensionDeclSyntax {
        let access = ModelClass.access(of: model.modifiers)
        let properties = ModelClass.nestedProperties(of: model) == nil ? "Never" : "Properties"
        return try ExtensionDeclSyntax(
            """
            nonisolated extension \(raw: type): \(raw: conformances) {
                \(raw: access)var observedProperties: \(raw: properties) {
                    fatalError()
                }
                \(raw: access)func cancelAllObservations() {
                }
            }
            """
        )
    }
}

extension ModelClass {
    /// Returns the problems of the members that are compiled.
    ///
    /// If the compiler does not report which members it compiles, the macro does not check members
    /// inside `#if`.
    fileprivate func problems(in context: some MacroExpansionContext) -> [Diagnostic] {
        let compiled = members.compiled(for: context.buildConfiguration)
        return compiled.flatMap { member -> [Diagnostic] in
            guard let variable = member.decl.as(VariableDeclSyntax.self) else { return [] }
            if case .refused(let problems) = ObservedVariable.read(variable) { return problems }
            return derivedProblems(of: variable)
        } + EarlySettings(compiled).problems(in: compiled)
    }
}

extension MemberBlockItemListSyntax {
    /// Returns the members, including those in the clauses of `#if` that are compiled.
    fileprivate func compiled(for configuration: (any BuildConfiguration)?) -> [MemberBlockItemSyntax] {
        flatMap { member -> [MemberBlockItemSyntax] in
            guard let conditional = member.decl.as(IfConfigDeclSyntax.self) else { return [member] }
            guard let configuration,
                case .decls(let members) = conditional.activeClause(in: configuration).clause?.elements
            else { return [] }
            return members.compiled(for: configuration)
        }
    }
}
#endif
