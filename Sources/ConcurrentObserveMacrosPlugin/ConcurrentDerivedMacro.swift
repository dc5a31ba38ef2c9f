// SPDX-License-Identifier: Apache-2.0

#if Macros
import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// `@ConcurrentDerived`: a mark that `@ConcurrentObservable` looks for. It adds nothing, and
/// reports an error in a class without that macro.
struct ConcurrentDerivedMacro: PeerMacro {
    static func expansion(
        of node: AttributeSyntax,
        providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        let isInModel =
            context.lexicalContext.first?.asProtocol((any DeclGroupSyntax).self)?
            .attributes.has("ConcurrentObservable") ?? false
        if !isInModel || !declaration.is(VariableDeclSyntax.self) {
            context.diagnose(
                Diagnostic(
                    at: node,
                    "derived-elsewhere",
                    "'@ConcurrentDerived' marks a computed variable in the body of a class that is '@ConcurrentObservable'"
                )
            )
        }
        return []
    }
}
#endif
