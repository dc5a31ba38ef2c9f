// SPDX-License-Identifier: Apache-2.0

#if Macros
import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `@ConcurrentObservable`: marks the variables of a class as observed, collects them where key paths look, and conforms the class.
///
/// Every complaint is made by the member role, once; the other roles leave out what it has complained of.
struct ConcurrentObservableMacro {}

// MARK: - The observed properties, for key paths

extension ConcurrentObservableMacro: MemberMacro {
    static func expansion(
        of node: AttributeSyntax,
        providingMembersOf declaration: some DeclGroupSyntax,
        conformingTo protocols: [TypeSyntax],
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        let model: ModelClass
        switch ModelClass.read(declaration, attribute: node) {
        case .refused(let diagnostic):
            context.diagnose(diagnostic)
            return []
        case .read(let read): model = read
        }
        let access = model.access
        let properties =
            ["fileprivate let _object: \(model.name)"]
            + properties(of: declaration.memberBlock.members, diagnose: context.diagnose)
        return [
            """
            /// The observed properties, as key paths find them.
            \(raw: access)struct Properties: Sendable {
                \(raw: properties.joined(separator: "\n    "))
            }
            """,
            """
            /// The observed properties: to observe, modify, bind.
            \(raw: access)var observedProperties: Properties {
                Properties(_object: self)
            }
            """,
        ]
    }
}

extension ConcurrentObservableMacro {
    /// The lines that declare the properties of `members`, under the conditions that these are under.
    private static func properties(
        of members: MemberBlockItemListSyntax,
        diagnose: (Diagnostic) -> Void
    ) -> [String] {
        members.flatMap { member -> [String] in
            if let conditional = member.decl.as(IfConfigDeclSyntax.self) {
                let clauses = conditional.clauses.flatMap { clause -> [String] in
                    guard case .decls(let members) = clause.elements else { return [] }
                    let condition = clause.condition.map { " \($0.trimmedDescription)" } ?? ""
                    return ["\(clause.poundKeyword.text)\(condition)"] + properties(of: members, diagnose: diagnose)
                }
                return clauses + ["#endif"]
            }
            guard let declaration = member.decl.as(VariableDeclSyntax.self) else { return [] }
            switch ObservedVariable.read(declaration) {
            case .plain: return []
            case .refused(let diagnostics):
                diagnostics.forEach(diagnose)
                return []
            case .observed(let variable):
                return [
                    "\(variable.access)var \(variable.name): \(variable.storageType) { _object.\(variable.storageName) }"
                ]
            }
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
        guard case .read = ModelClass.read(declaration, attribute: node),
            let variable = member.as(VariableDeclSyntax.self),
            case .observed = ObservedVariable.read(variable),
            !variable.attributes.has("ConcurrentObserved")
        else { return [] }
        return ["@ConcurrentObserved"]
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
        // No protocol: the class states its conformance itself.
        guard !protocols.isEmpty, case .read = ModelClass.read(declaration, attribute: node) else { return [] }
        return [try ExtensionDeclSyntax("extension \(type.trimmed): ConcurrentObserve.ConcurrentObservable {}")]
    }
}
#endif
