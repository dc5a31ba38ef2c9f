// SPDX-License-Identifier: Apache-2.0

#if Macros
@testable import ConcurrentObserveMacrosPlugin
import SwiftDiagnostics
import SwiftParser
import SwiftSyntax
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacrosGenericTestSupport
import Testing

/// The macros, as the compiler knows them.
private let macros: [String: MacroSpec] = [
    "ConcurrentObservable": MacroSpec(
        type: ConcurrentObservableMacro.self,
        conformances: ["ConcurrentObservable", "ObservationSource", "Sendable"]
    ),
    "ConcurrentObserved": MacroSpec(type: ConcurrentObservedMacro.self),
    "ConcurrentDerived": MacroSpec(type: ConcurrentDerivedMacro.self),
    "ConcurrentObservationIgnored": MacroSpec(type: ConcurrentObservationIgnoredMacro.self),
]

/// Expects the errors that the macros report for `source`, whatever code they make from it.
func expectProblems(
    _ source: String,
    _ problems: [String],
    location: Testing.SourceLocation = #_sourceLocation
) {
    let file = Parser.parse(source: source)
    let context = BasicMacroExpansionContext(
        sourceFiles: [file: .init(moduleName: "Test", fullFilePath: "test.swift")]
    )
    _ = file.expand(
        macroSpecs: macros,
        contextGenerator: {
            BasicMacroExpansionContext(sharingWith: context, lexicalContext: $0.allMacroLexicalContexts())
        }
    )
    #expect(context.diagnostics.map(\.message) == problems, sourceLocation: location)
}

/// Expects the code that the macros make from `source`, and the errors that they report.
func expectExpansion(
    _ source: String,
    _ expanded: String,
    diagnostics: [DiagnosticSpec] = [],
    fixed: String? = nil,
    location: Testing.SourceLocation = #_sourceLocation
) {
    assertMacroExpansion(
        source,
        expandedSource: expanded,
        diagnostics: diagnostics,
        macroSpecs: macros,
        fixedSource: fixed,
        failureHandler: { failure in Issue.record("\(failure.message)", sourceLocation: location) }
    )
}

/// Expects one error about the declaration of one member, and that the member is left as it is.
func expectRefusal(
    of member: String,
    _ message: String,
    column: Int = 5,
    remedy: String? = nil,
    fixed: String? = nil,
    location: Testing.SourceLocation = #_sourceLocation
) {
    let source = "@ConcurrentObservable\nfinal class Car {\n    MEMBER\n}"
    expectExpansion(
        source.replacing("MEMBER", with: member),
        """
        final class Car {
            MEMBER

            /// The observed properties, as key paths find them.
            nonisolated struct Properties: Sendable {
                fileprivate let _object: Car
            }

            /// The observed properties: to observe, modify, bind.
            var observedProperties: Properties {
                Properties(_object: self)
            }

            /// Ends every observation of this object, as if each was cancelled.
            func cancelAllObservations() {

            }
        }

        nonisolated extension Car: ConcurrentObserve.ConcurrentObservable, ConcurrentObserve.ObservationSource, @unchecked Sendable {
        }
        """.replacing("MEMBER", with: member),
        diagnostics: [
            DiagnosticSpec(
                message: message,
                line: 3,
                column: column,
                fixIts: remedy.map { [FixItSpec(message: $0)] } ?? []
            )
        ],
        fixed: fixed.map { source.replacing("MEMBER", with: $0) },
        location: location
    )
}
#endif
