// SPDX-License-Identifier: Apache-2.0

#if Macros
import SwiftCompilerPlugin
import SwiftSyntaxMacros

/// The program that the compiler starts to expand the macros of `ConcurrentObserveMacros`.
@main
struct Plugin: CompilerPlugin {
    let providingMacros: [any Macro.Type] = [
        ConcurrentObservableMacro.self,
        ConcurrentObservedMacro.self,
        ConcurrentDerivedMacro.self,
        ConcurrentObservationIgnoredMacro.self,
    ]
}
#else
/// An empty program, because the trait `Macros` is off. A macro target is an executable, which
/// needs an entry point.
@main
struct Plugin {
    static func main() {}
}
#endif
