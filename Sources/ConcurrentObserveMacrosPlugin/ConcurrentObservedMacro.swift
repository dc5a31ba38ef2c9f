// SPDX-License-Identifier: Apache-2.0

#if Macros
import SwiftSyntax
import SwiftSyntaxMacros

/// `@ConcurrentObserved`: makes the storage and the accessors of one variable.
/// `@ConcurrentObservable` attaches this macro.
struct ConcurrentObservedMacro {
    /// The argument for a variable whose type only the class can name.
    static let hidden = "isHidden: true"
}

extension ConcurrentObservedMacro: PeerMacro {
    static func expansion(
        of node: AttributeSyntax,
        providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        // Dynamic members have their storage in a separate type.
        guard let variable = variable(declaration, node), !variable.isDynamic else { return [] }
        if variable.initialValue != nil {
            return ["\(raw: variable.storageAccess)let \(raw: variable.storage) = \(raw: variable.construction)"]
        }
        return ["\(raw: variable.storageAccess)let \(raw: variable.storage): \(raw: variable.storageType!)"]
    }
}

extension ConcurrentObservedMacro: AccessorMacro {
    static func expansion(
        of node: AttributeSyntax,
        providingAccessorsOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [AccessorDeclSyntax] {
        guard let variable = variable(declaration, node) else { return [] }
        let storage = variable.storage
        // A variable without an initial value gets its value in the initialisers of the class.
        let initialiser: [AccessorDeclSyntax] =
            variable.initialValue != nil
            ? []
            : [
                """
                @storageRestrictions(initializes: \(raw: storage))
                init(initialValue) {
                    \(raw: storage) = \(raw: variable.storageType!)(initialValue)
                }
                """
            ]
        return initialiser + [
            """
            get {
                \(raw: storage).value
            }
            """,
            """
            set {
                \(raw: storage).value = newValue
            }
            """,
        ]
    }
}

extension ConcurrentObservedMacro {
    /// Returns the variable if it can be observed. If it cannot, `@ConcurrentObservable` reports
    /// the error.
    private static func variable(
        _ declaration: some DeclSyntaxProtocol,
        _ attribute: AttributeSyntax
    ) -> ObservedVariable? {
        let isHidden = attribute.arguments?.trimmedDescription == hidden
        guard let declaration = declaration.as(VariableDeclSyntax.self),
            case .observed(let variable) = ObservedVariable.read(declaration, isHidden: isHidden)
        else { return nil }
        return variable
    }
}
#endif
