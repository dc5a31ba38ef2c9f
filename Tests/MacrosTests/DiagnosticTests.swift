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
            "public class Car {\n    var a = 1\n}",
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
            "open class Car {\n}",
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
            "@MainActor\nfinal class Car {\n}",
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

    @Test("A static variable")
    func statics() {
        expectRefusal(
            of: "static var a = 1",
            "a static variable cannot be observed: it belongs to no object",
            remedy: "leave it out",
            fixed: "@ConcurrentObservationIgnored static var a = 1"
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
        for value in ["make()", "[1]", "a.b", "Engine.shared", "nil"] {
            expectRefusal(
                of: "var a = \(value)",
                "'a' needs its type written: a macro sees the text of its value alone",
                column: 9,
                remedy: "write the type",
                fixed: "var a: <#Type#> = \(value)"
            )
        }
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
                lazy static var a = 1
                var b: Any
            }
            """,
            """
            final class Car {
                lazy static var a = 1
                var b: Any

                /// The observed properties, as key paths find them.
                struct Properties: Sendable {
                    fileprivate let _object: Car
                }

                /// The observed properties: to observe, modify, bind.
                var observedProperties: Properties {
                    Properties(_object: self)
                }
            }

            extension Car: ConcurrentObserve.ConcurrentObservable {
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
                    message: "a static variable cannot be observed: it belongs to no object",
                    line: 3,
                    column: 10,
                    fixIts: [FixItSpec(message: "leave it out")]
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
}
#endif
