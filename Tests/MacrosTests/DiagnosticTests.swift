// SPDX-License-Identifier: Apache-2.0

#if Macros
import SwiftSyntaxMacrosGenericTestSupport
import Testing

@Suite("@ConcurrentObservable says what it cannot do")
struct DiagnosticTests {
    // MARK: The type

    @Test("A class that is not final")
    func notFinal() {
        expectExpansion(
            "@ConcurrentObservable\npublic class Car {\n    var a = 1\n}",
            "public class Car {\n    var a = 1\n}\n\nnonisolated extension Car: ConcurrentObserve.ConcurrentObservable, ConcurrentObserve.ObservationSource, @unchecked Sendable {\n    public var observedProperties: Never {\n        fatalError()\n    }\n    public func cancelAllObservations() {\n    }\n}",
            diagnostics: [
                DiagnosticSpec(
                    message:
                        "'@ConcurrentObservable' needs a final class: a subclass could add what is not Sendable",
                    line: 2,
                    column: 8,
                    fixIts: [FixItSpec(message: "add 'final'")]
                )
            ],
            fixed: "@ConcurrentObservable\npublic final class Car {\n    var a = 1\n}"
        )
    }

    @Test("An open class")
    func open() {
        expectExpansion(
            "@ConcurrentObservable\nopen class Car {\n}",
            "open class Car {\n}\n\nnonisolated extension Car: ConcurrentObserve.ConcurrentObservable, ConcurrentObserve.ObservationSource, @unchecked Sendable {\n    public var observedProperties: Never {\n        fatalError()\n    }\n    public func cancelAllObservations() {\n    }\n}",
            diagnostics: [
                DiagnosticSpec(
                    message:
                        "'@ConcurrentObservable' needs a final class: a subclass could add what is not Sendable",
                    line: 2,
                    column: 6,
                    fixIts: [FixItSpec(message: "add 'final'")]
                )
            ],
            fixed: "@ConcurrentObservable\npublic final class Car {\n}"
        )
    }

    @Test("A struct")
    func structure() {
        expectExpansion(
            "@ConcurrentObservable\nstruct Car {\n    var a = 1\n}",
            "struct Car {\n    var a = 1\n}",
            diagnostics: [
                DiagnosticSpec(
                    message: "'@ConcurrentObservable' needs a final class: observers belong to an object",
                    line: 1,
                    column: 1,
                    fixIts: [FixItSpec(message: "make 'Car' a final class")]
                )
            ],
            fixed: "@ConcurrentObservable\nfinal class Car {\n    var a = 1\n}"
        )
    }

    @Test(
        "An actor, an enum",
        arguments: [
            (
                "actor",
                "'@ConcurrentObservable' needs a final class: observers belong to an object; an actor guards its state itself"
            ),
            ("enum", "'@ConcurrentObservable' needs a final class: observers belong to an object"),
        ]
    )
    func others(_ keyword: String, _ message: String) {
        expectExpansion(
            "@ConcurrentObservable\n\(keyword) Car {\n}",
            "\(keyword) Car {\n}",
            diagnostics: [DiagnosticSpec(message: message, line: 1, column: 1)]
        )
    }

    @Test("A class of the main actor")
    func isolated() {
        expectExpansion(
            "@ConcurrentObservable @MainActor\nfinal class Car {\n}",
            "@MainActor\nfinal class Car {\n}\n\nnonisolated extension Car: ConcurrentObserve.ConcurrentObservable, ConcurrentObserve.ObservationSource, @unchecked Sendable {\n    var observedProperties: Never {\n        fatalError()\n    }\n    func cancelAllObservations() {\n    }\n}",
            diagnostics: [
                DiagnosticSpec(
                    message: "'@ConcurrentObservable' makes a model for every thread, which no actor isolates",
                    line: 1,
                    column: 23,
                    fixIts: [FixItSpec(message: "remove '@MainActor'")]
                )
            ],
            fixed: "@ConcurrentObservable \nfinal class Car {\n}"
        )
    }

    // MARK: Members

    @Test("A lazy variable")
    func lazy() {
        expectRefusal(
            of: "lazy var a = 1",
            "a lazy variable cannot be observed: two threads could make its first value",
            remedy: "remove 'lazy'",
            fixed: "var a = 1"
        )
    }

    @Test("An unowned variable")
    func unowned() {
        expectRefusal(
            of: "unowned var a: Engine",
            "an unowned variable cannot be observed: its referent may die while another thread reads it; a weak one can"
        )
    }

    @Test("nonisolated(unsafe)")
    func nonisolatedUnsafe() {
        expectRefusal(
            of: "nonisolated(unsafe) var a = 1",
            "'nonisolated(unsafe)' is for plain storage, which observed variables do without",
            remedy: "remove 'nonisolated(unsafe)'",
            fixed: "var a = 1"
        )
    }

    @Test("A property wrapper")
    func wrapper() {
        expectRefusal(
            of: "@Published var a = 1",
            "'@Published' cannot be combined with an observed variable",
            remedy: "leave it out",
            fixed: "@ConcurrentObservationIgnored @Published var a = 1"
        )
    }

    @Test("willSet, didSet")
    func observers() {
        for specifier in ["willSet", "didSet"] {
            expectRefusal(
                of: "var a = 1 { \(specifier) {} }",
                "an observed variable has no '\(specifier)': several threads may change it at once; observe it instead",
                column: 17
            )
        }
    }

    @Test("A type that is not written")
    func noType() {
        for value in ["nil", "[]", "[:]", ".idle", ".some(1)", "{ 1 }"] {
            expectRefusal(
                of: "var a = \(value)",
                "'a' needs its type written: its value does not show it",
                column: 9,
                remedy: "write the type",
                fixed: "var a: <#Type#> = \(value)"
            )
        }
        expectRefusal(
            of: "weak var a = find()",
            "'a' needs its type written: its value does not show it",
            column: 14,
            remedy: "write the type",
            fixed: "weak var a: <#Type#> = find()"
        )
    }

    @Test(
        "A weak variable of what is not one class",
        arguments: ["(any Delegate)?", "AnyObject?", "(Engine & Delegate)?"]
    )
    func weakExistential(_ type: String) {
        expectRefusal(
            of: "weak var a: \(type)",
            "'a' cannot be observed: a weak property refers to one class, which adopts 'WeaklyObservable', and not to '\(type)'; name the class, or keep a final class in an observed variable that has the weak reference in a 'let'",
            column: 17
        )
    }

    @Test("Several variables in one declaration")
    func several() {
        expectRefusal(of: "var a = 1, b = 2", "observed variables are declared one by one")
        expectRefusal(of: "var (a, b) = (1, 2)", "observed variables are declared one by one", column: 9)
    }

    @Test(
        "Types that are not Sendable by their spelling",
        arguments: [
            ("", "() -> Void", "", "@Sendable () -> Void"),
            ("(", "() -> Void", ")?", "@Sendable () -> Void"),
            ("[", "Any", "]", "any Sendable"),
            ("", "Any", "?", "(any Sendable)"),
            ("Optional<", "Any", ">", "any Sendable"),
            ("", "any AnyObject", "", "any AnyObject & Sendable"),
            ("", "AnyObject", "", "any AnyObject & Sendable"),
            ("[String: ", "() -> Int", "]", "@Sendable () -> Int"),
        ]
    )
    func notSendable(_ before: String, _ part: String, _ behind: String, _ remedy: String) {
        expectRefusal(
            of: "var a: \(before)\(part)\(behind)",
            "'a' cannot be observed: '\(part)' is not Sendable",
            column: 12 + before.count,
            remedy: "write '\(remedy)'",
            fixed: "var a: \(before)\(remedy)\(behind)"
        )
    }

    @Test("A pointer, for which there is no other spelling")
    func pointer() {
        expectRefusal(
            of: "var a: UnsafeMutablePointer<Int>",
            "'a' cannot be observed: 'UnsafeMutablePointer<Int>' is not Sendable",
            column: 12
        )
    }

    @Test("Every member is complained of, once")
    func all() {
        expectExpansion(
            """
            @ConcurrentObservable
            final class Car {
                lazy var a = 1
                var b: Any
            }
            """,
            """
            final class Car {
                lazy var a = 1
                var b: Any

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
            """,
            diagnostics: [
                DiagnosticSpec(
                    message: "a lazy variable cannot be observed: two threads could make its first value",
                    line: 3,
                    column: 5,
                    fixIts: [FixItSpec(message: "remove 'lazy'")]
                ),
                DiagnosticSpec(
                    message: "'b' cannot be observed: 'Any' is not Sendable",
                    line: 4,
                    column: 12,
                    fixIts: [FixItSpec(message: "write 'any Sendable'")]
                ),
            ]
        )
    }

    // MARK: The class's members together

    @Test("A nested type that takes the name of the macro's")
    func nestedProperties() {
        for declaration in ["struct Properties {}", "typealias Properties = Int"] {
            let source = "@ConcurrentObservable\nfinal class Car {\n    \(declaration)\n}"
            expectExpansion(
                source,
                """
                final class Car {
                    \(declaration)
                }

                \(unusable("Properties"))
                """,
                diagnostics: [
                    DiagnosticSpec(
                        message:
                            "'@ConcurrentObservable' calls the type of the observed properties 'Properties'; give this type another name",
                        line: 3,
                        column: declaration.hasPrefix("struct") ? 12 : 15
                    )
                ]
            )
        }
    }

    @Test(
        "Conformances that the compiler would write from what is stored",
        arguments: [
            ("Codable", "'init(from: any Decoder)' and 'encode(to: any Encoder)'"),
            ("Swift.Encodable", "'encode(to: any Encoder)'"),
            ("Decodable", "'init(from: any Decoder)'"),
        ]
    )
    func codable(_ conformance: String, _ missing: String) {
        expectExpansion(
            "@ConcurrentObservable\nfinal class Car: \(conformance) {\n    var a = 1\n}",
            """
            final class Car: \(conformance) {
                var a = 1
            }

            \(unusable("Never"))
            """,
            diagnostics: [
                DiagnosticSpec(
                    message:
                        "'\(conformance)' cannot be written by the compiler for observed variables; write \(missing) in the class, or state '\(conformance)' at the extension that has them",
                    line: 2,
                    column: 18
                )
            ]
        )
    }

    /// Returns the conformance of a class that has an error.
    private func unusable(_ properties: String) -> String {
        """
        nonisolated extension Car: ConcurrentObserve.ConcurrentObservable, ConcurrentObserve.ObservationSource, @unchecked Sendable {
            var observedProperties: \(properties) {
                fatalError()
            }
            func cancelAllObservations() {
            }
        }
        """
    }
}
#endif
