// SPDX-License-Identifier: Apache-2.0

#if Macros
import SwiftSyntax
import SwiftSyntaxMacros

/// `@ConcurrentObserved`: the storage and the accessors of one variable. `@ConcurrentObservable` attaches it.
struct ConcurrentObservedMacro {}

extension ConcurrentObservedMacro: PeerMacro {
    static func expansion(
        of node: AttributeSyntax,
        providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        guard let variable = variable(declaration) else { return [] }
        if let value = variable.initialValue {
            return ["private let \(raw: variable.storageName) = \(raw: variable.storageType)(\(value))"]
        }
        return ["private let \(raw: variable.storageName): \(raw: variable.storageType)"]
    }
}

extension ConcurrentObservedMacro: AccessorMacro {
    static func expansion(
        of node: AttributeSyntax,
        providingAccessorsOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [AccessorDeclSyntax] {
        guard let variable = variable(declaration) else { return [] }
        let storage = variable.storageName
        // What has no initial value gets it in the initialisers of the class.
        let initialiser: [AccessorDeclSyntax] =
            variable.initialValue != nil
            ? []
            : [
                """
                @storageRestrictions(initializes: \(raw: storage))
                init(initialValue) {
                    \(raw: storage) = \(raw: variable.storageType)(initialValue)
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
    /// The variable, if it is one that can be observed: what cannot is the class's macro's to complain of.
    private static func variable(_ declaration: some DeclSyntaxProtocol) -> ObservedVariable? {
        guard let declaration = declaration.as(VariableDeclSyntax.self),
            case .observed(let variable) = ObservedVariable.read(declaration)
        else { return nil }
        return variable
    }
}
#endif
