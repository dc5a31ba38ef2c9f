// SPDX-License-Identifier: Apache-2.0

#if Macros
@testable import ConcurrentObserveMacrosPlugin
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacrosGenericTestSupport
import Testing

/// Expects what the macros make of `source`, and what they say about it.
func expectExpansion(
    _ source: String,
    _ expanded: String,
    diagnostics: [DiagnosticSpec] = [],
    fixed: String? = nil,
    location: SourceLocation = #_sourceLocation
) {
    assertMacroExpansion(
        source,
        expandedSource: expanded,
        diagnostics: diagnostics,
        macroSpecs: [
            "ConcurrentObservable": MacroSpec(
                type: ConcurrentObservableMacro.self,
                conformances: ["ConcurrentObservable", "ObservationSource", "Sendable"]
            ),
            "ConcurrentObserved": MacroSpec(type: ConcurrentObservedMacro.self),
            "ConcurrentObservationIgnored": MacroSpec(type: ConcurrentObservationIgnoredMacro.self),
        ],
        fixedSource: fixed,
        failureHandler: { failure in Issue.record("\(failure.message)", sourceLocation: location) }
    )
}

/// Expects one complaint about the declaration of one member, and that the member is left as it is.
func expectRefusal(
    of member: String,
    _ message: String,
    column: Int = 5,
    remedy: String? = nil,
    fixed: String? = nil,
    location: SourceLocation = #_sourceLocation
) {
    let source = "@ConcurrentObservable\nfinal class Car {\n    MEMBER\n}"
    expectExpansion(
        source.replacing("MEMBER", with: member),
        """
        final class Car {
            MEMBER

            /// The observed properties, as key paths find them.
            struct Properties: Sendable {
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

        extension Car: ConcurrentObserve.ConcurrentObservable, ConcurrentObserve.ObservationSource, @unchecked Sendable {
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
