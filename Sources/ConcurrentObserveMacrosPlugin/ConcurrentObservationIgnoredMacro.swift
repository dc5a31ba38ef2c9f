// SPDX-License-Identifier: Apache-2.0

#if Macros
import SwiftSyntax
import SwiftSyntaxMacros

/// `@ConcurrentObservationIgnored`: a mark that `@ConcurrentObservable` looks for. It adds nothing.
struct ConcurrentObservationIgnoredMacro: PeerMacro {
    static func expansion(
        of node: AttributeSyntax,
        providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] { [] }
}
#endif
